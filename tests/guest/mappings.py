# SPDX-License-Identifier: GPL-2.0
"""How a process sees the parts of a device that it maps."""

import contextlib
import errno
import re

import memory
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


def registers_are_not_mapped(test):
    """Doorbells in the registers' BAR: among the registers, and beside them on their page, they are refused, each for its
    own reason; on the next page they are mapped."""
    with uverbs.Context(test.function.uverbs()) as context:
        before = test.device.objects()
        for offset, reason in ((0x10, "where its registers are"), (0xFFC, "pages of 4 KiB are too large")):
            test.device.fault("create_cq", "answer", fields={"db_offset": offset})
            assert error_of(lambda: context.create_cq(64)) == errno.EIO, f"doorbell at {offset:#x}"
            assert len(test.log.matching(reason)) == 1, f"doorbell at {offset:#x}: {test.log.read()}"
            assert test.device.objects() == before, "the queue is still there"
        cq = context.create_cq(64)
        cq.map()
        cq.destroy()


class Mapped(memory.Memory):
    """A mapping of an object, with the address at which a process has it."""

    def __init__(self, context, key, length, prot=memory.READ | memory.WRITE):
        super().__init__(length, flags=memory.SHARED, prot=prot, fd=context.fd, offset=key)


def own_queues_can_be_registered_and_device_pages_cannot(test):
    """Memory of a queue is memory like any other: it can be registered, and stays while it is. Pages of the
    device are none, and the memory of a completion queue is not for writing."""
    end = Endpoint(test.function)
    answer = end.qp.answer
    receives = Mapped(end.context, answer.rq_mmap_key, answer.rq_mmap_size)
    completions = Mapped(end.context, end.cq.answer.q_mmap_key, end.cq.answer.q_mmap_size, memory.READ)
    registered, sent = test.device.seen("reg_mr"), memory.pinned()
    refused = [(Mapped(end.context, key, memory.PAGE), uverbs.LOCAL_WRITE) for key in
               (answer.llq_desc_mmap_key, answer.sq_db_mmap_key, answer.rq_db_mmap_key)]
    for region, access in [*refused, (completions, uverbs.LOCAL_WRITE)]:
        assert error_of(lambda: end.pd.reg_mr(region, access)) == errno.EFAULT
    assert (test.device.seen("reg_mr"), memory.pinned()) == (registered, sent), "sent, or still pinned"
    regions = [end.pd.reg_mr(receives), end.pd.reg_mr(completions, access=0)]
    for region in regions:
        end.receive()
        end.qp.send_queue.send(end.handle(end), end.qp.number, [(region.start, 16, region.lkey)])
        assert [entry.status for entry in end.wait(2)] == ["ok", "ok"]
    text = receives[0:64]
    assert any(text), "no receive was posted"
    end.qp.destroy()
    for region in (receives, completions, *(region for region, _ in refused)):
        region.close()
    # The first one's memory is held by the region alone now, and by nobody else.
    end.qp = end.pd.create_qp(end.cq)
    end.qp.map()
    end.qp.to_rts()
    end.receive()
    end.qp.send_queue.send(end.handle(end), end.qp.number, [(regions[0].start, 64, regions[0].lkey)])
    assert [entry.status for entry in end.wait(2)] == ["ok", "ok"]
    assert end.get(64) == text, "somebody else has the memory of the queue"
    for region in regions:
        region.dereg()
    end.close()


def within(start, stop, bar):
    first, last, _flags = bar
    return first and first <= start and stop - 1 <= last


def memtypes():
    """(start, end, kind) of each range of which the kernel knows how it is mapped."""
    with open(MEMTYPES, encoding="ascii") as table:
        found = re.findall(r"\[mem 0x([0-9a-f]+)-0x([0-9a-f]+)\] (\S+)", table.read())
    return [(int(start, 16), int(stop, 16), kind) for start, stop, kind in found]
