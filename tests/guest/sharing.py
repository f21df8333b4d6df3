# SPDX-License-Identifier: GPL-2.0
"""Memory that a device and a process share: what the device does not reach, and what stands between."""

import contextlib
import errno
import fcntl
import os

import ioctl
import memory
import uverbs
from endpoint import ALL_ACCESS, Endpoint
from memory import PAGE
from module import tool
from regions import seal, udmabuf
from traffic import filled
from uapi import error_of

LIMIT = 1 << 32  # of a device with 32 bits of address
CHUNK = 16 << 20


def queues_are_within_reach(test):
    """A device of 32 bits on a machine with more: its queues are below 4 GiB, and what is there can be registered."""
    data = filled(4096)
    with memory_within_reach() as buffer, contextlib.closing(Endpoint(test.function, buffer=buffer)) as end:
        known = {what: address for what, _, address in test.device.reach()}
        assert {"cq", "qp", "mr"} <= known.keys(), known
        assert max(known.values()) < LIMIT, f"the device does not reach {known}"
        end.put(data)
        end.receive(1)
        end.send(end, length=len(data))
        assert [entry.status for entry in end.wait(2)] == ["ok", "ok"]
        assert end.get(len(data), slot=1) == data, "other bytes"


def regions_beyond_reach_are_refused(test):
    """Memory above 4 GiB is refused with a line that says why, as the process's own and as a dma-buf."""
    with memory_beyond_reach() as (region, buffer):
        both_refused(test, region, buffer, "32 bits")


def bounce_buffers_are_named(test):
    """A machine that copies through bounce buffers: queues and regions are refused, and the log says that these are why."""
    region, (backing, buffer) = memory.Memory(PAGE), dmabuf(PAGE)
    region.write(0, b"\x01")
    both_refused(test, region, buffer, "bounce buffers")
    sent, errors = test.device.seen("create_cq"), test.function.counter("create_cq_err")
    before = len(test.log.matching("bounce buffers"))
    with uverbs.Context(test.function.uverbs()) as context:
        error = error_of(lambda: context.create_cq(64))
    assert error == errno.EOPNOTSUPP, f"a CQ: errno {error}"
    lines = test.log.matching("bounce buffers")[before:]
    assert len(lines) == 1 and "create_cq" in lines[0], lines
    assert test.device.seen("create_cq") == sent, "a command was sent"
    assert test.function.counter("create_cq_err") == errors + 1
    os.close(buffer)
    os.close(backing)


def exporter_that_revokes_is_named(test):
    """A dma-buf for importers that can be revoked: refused when it is attached, or pinned; the log says what is wanted."""
    tool("insmod", "/mnt/exporter.ko")
    with open("/dev/exporter", "rb") as exporter:
        revocable, never_pinned = (fcntl.ioctl(exporter, request) for request in (0, 1))
    registered = {
        "one that may be revoked": lambda pd: register(pd, revocable),
        "one that is not pinned": lambda pd: register(pd, never_pinned),
    }
    refused(test, registered, "revocation")
    os.close(revocable)
    os.close(never_pinned)
    tool("rmmod", "exporter")


def register(pd, buffer):
    return ioctl.register_dmabuf(pd, buffer, 0, PAGE, 0, ALL_ACCESS)


def both_refused(test, region, buffer, why):
    """The process's own memory is refused, and a dma-buf."""
    refused(test, {"memory": lambda pd: pd.reg_mr(region), "a dma-buf": lambda pd: register(pd, buffer)}, why)


def refused(test, registered, why):
    """Registering each of these fails, with a line that says `why`; nothing is sent, nothing stays pinned."""
    sent, errors = test.device.seen("reg_mr"), test.function.counter("reg_mr_err")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for number, (what, call) in enumerate(registered.items()):
            error = error_of(lambda: call(pd))
            assert error == errno.EOPNOTSUPP, f"{what}: errno {error}"
            lines = test.log.matching(why)
            assert len(lines) == number + 1 and "reg_mr" in lines[number], f"{what}: {lines}"
        pd.dealloc()
    assert memory.pinned() == 0
    assert test.device.seen("reg_mr") == sent, "a command was sent"
    assert test.function.counter("reg_mr_err") == errors + len(registered)


@contextlib.contextmanager
def memory_within_reach():
    """Memory for an endpoint below 4 GiB, where the kernel goes last."""
    held = []
    while not held or max(held[-1].all_physical()) >= LIMIT:
        held.append(touched(CHUNK))
    yield held[-1]
    for region in held:
        region.close()


@contextlib.contextmanager
def memory_beyond_reach():
    """Memory above 4 GiB, where the kernel goes first: the process's own, and a dma-buf."""
    region = touched(PAGE)
    backing, buffer = dmabuf(PAGE)
    shared = memory.Memory(PAGE, flags=memory.SHARED, fd=backing)
    shared.write(0, b"\x01")
    low = [hex(place) for place in (region.physical(), shared.physical()) if place < LIMIT]
    assert not low, f"the kernel gave memory below 4 GiB: {low}"
    yield region, buffer
    shared.close()
    os.close(buffer)
    os.close(backing)


def touched(length):
    region = memory.Memory(length)
    region.write(0, b"\x01" * length)
    return region


def dmabuf(length):
    """A file, and a dma-buf of its memory."""
    backing = os.memfd_create("backing", os.MFD_ALLOW_SEALING)
    os.ftruncate(backing, length)
    seal(backing)
    return backing, udmabuf(backing, length)
