# SPDX-License-Identifier: GPL-2.0
"""How a process sees the parts of a device that it maps."""

import contextlib
import errno
import re

import uverbs
from endpoint import Endpoint
from uapi import error_of

MEMTYPES = "/sys/kernel/debug/x86/pat_memtype_list"


def llq_is_write_combining(test):
    """A send queue's memory is mapped write combining, doorbells are uncached, and nothing else of the device is."""
    device = test.function.path
    with open(f"{device}/resource", encoding="ascii") as table:
        bars = [tuple(int(word, 16) for word in line.split()) for line in table][:6]
    before = memtypes()
    end = Endpoint(test.function)
    new = [entry for entry in memtypes() if entry not in before]
    end.close()
    llq = [kind for start, stop, kind in new if within(start, stop, bars[2])]
    others = [kind for start, stop, kind in new if any(within(start, stop, bar) for bar in bars[:2] + bars[3:])]
    assert llq == ["write-combining"], f"mappings of the LLQ BAR: {llq}, of all: {new}"
    assert others and set(others) == {"uncached-minus"}, f"mappings of other BARs: {others}"
    assert memtypes() == before, "a mapping is left"


def interrupt_table_is_not_mapped(test):
    """Where doorbells of the device are on pages with its interrupt table or pending bits, they are refused."""
    errors = []
    with contextlib.ExitStack() as contexts:
        for _ in range(5):
            # Each has the next page of doorbells; the table is on the third, pending bits are on the fourth.
            context = contexts.enter_context(uverbs.Context(test.function.uverbs()))
            errors.append(error_of(lambda: context.create_cq(64).destroy()))
    assert errors == [0, 0, errno.EIO, errno.EIO, 0], errors
    assert not any(kept for kind, kept in test.device.objects().items() if kind != "eq"), test.device.objects()


def within(start, stop, bar):
    first, last, _flags = bar
    return first and first <= start and stop - 1 <= last


def memtypes():
    """(start, end, kind) of each range of which the kernel knows how it is mapped."""
    with open(MEMTYPES, encoding="ascii") as table:
        found = re.findall(r"\[mem 0x([0-9a-f]+)-0x([0-9a-f]+)\] (\S+)", table.read())
    return [(int(start, 16), int(stop, 16), kind) for start, stop, kind in found]
