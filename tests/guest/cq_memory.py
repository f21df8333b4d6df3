# SPDX-License-Identifier: GPL-2.0
"""The memory of completion queues: whose it is, who may map it, and how long it stays."""

import ctypes
import errno
import mmap
import os
import struct

import ioctl
import memory
import queues
import uverbs
from uapi import error_of

# Attributes of the method that creates a CQ.
BUFFER_VA, BUFFER_LENGTH, BUFFER = 8, 9, 12
DEPTH = 64


def create(context, more):
    """Creates a CQ in memory that the attributes `more` name."""
    core = {"cqe": DEPTH}
    driver = {"cq_entry_size": 16, "num_sub_cqs": context.limits.sub_cqs_per_cq}
    return ioctl.CREATE_CQ.send(context.fd, core, driver, more=more)


def as_buffer(region):
    return [(BUFFER, ioctl.buffer(region.address, region.length))]


def as_address(region):
    return [(BUFFER_VA, struct.pack("<Q", region.address)), (BUFFER_LENGTH, struct.pack("<Q", region.length))]


def memory_of_user_space_is_used(test):
    """A CQ in memory that the process brings: pinned while it lives, used by the device, without keys."""
    with uverbs.Context(test.function.uverbs()) as context:
        region = memory.Memory(memory.PAGE)
        region.write(0, bytes(1))
        for attributes in (as_buffer(region), as_address(region)):
            before = memory.pinned()
            core, answer = create(context, attributes)
            assert core.cqe == DEPTH, f"{core.cqe} entries"
            keys = (answer.comp_mask, answer.q_mmap_key, answer.q_mmap_size, answer.db_mmap_key)
            assert keys == (0, 0, 0, 0), f"keys for memory that the process has: {keys}"
            assert memory.pinned() == before + memory.PAGE, "the memory is not pinned"
            assert test.device.live("cq"), "there is no CQ on the device"
            uverbs.requests.DESTROY_CQ.send(context.fd, {"handle": core.handle})
            assert memory.pinned() == before, "the memory stays pinned"


def unfit_memory_of_user_space_is_refused(test):
    """Memory in pieces, too little, read-only or twice is refused: nothing is sent, nothing stays pinned."""
    with uverbs.Context(test.function.uverbs()) as context:
        whole, small = memory.Memory(memory.PAGE), memory.Memory(512)
        pieces, readonly = memory.Scattered(8), memory.Memory(memory.PAGE, prot=memory.READ)
        cases = {
            "too little": (as_buffer(small), errno.EINVAL),
            "in pieces": (as_buffer(pieces), errno.EINVAL),
            "read-only": (as_buffer(readonly), errno.EFAULT),
            "named twice": (as_buffer(whole) + as_address(whole), errno.EINVAL),
            "not there": ([(BUFFER, ioctl.buffer(0, memory.PAGE))], errno.EFAULT),
        }
        if test.function.behind_iommu():
            del cases["in pieces"]  # they are one range for the device
        sent, pinned = test.device.seen("create_cq"), memory.pinned()
        driver = {"cq_entry_size": 16, "num_sub_cqs": context.limits.sub_cqs_per_cq}
        for what, (attributes, expected) in cases.items():
            depth = 1024 if what == "in pieces" else DEPTH
            call = lambda: ioctl.CREATE_CQ.send(context.fd, {"cqe": depth}, driver, more=attributes)
            error = error_of(call)
            assert error == expected, f"memory {what}: errno {error}"
        assert test.device.seen("create_cq") == sent, "a command was sent"
        assert memory.pinned() == pinned, "memory stays pinned"
        pieces.close()


def mapped_queue_outlives_its_cq(test):
    """What is mapped stays readable after the CQ is gone; its keys are worth nothing then."""
    with uverbs.Context(test.function.uverbs()) as context:
        errors = test.function.counter("mmap_err")
        cq = context.create_cq(DEPTH)
        ring = cq.map()
        key, size = cq.answer.q_mmap_key, cq.answer.q_mmap_size
        cq.ring = None
        cq.destroy()
        assert ring.mapping.map[:size] == bytes(size), "the ring changed"
        for _ in range(32):
            # Other users of the same pages, if they had been freed.
            other = context.create_cq(DEPTH)
            other.destroy()
        assert ring.mapping.map[:size] == bytes(size), "somebody else has the ring"
        ring.close()
        again = error_of(lambda: queues.Mapping(context, key, size, mmap.PROT_READ))
        assert again == errno.EINVAL, f"mapping a CQ that is gone: errno {again}"
        assert test.function.counter("mmap_err") == errors + 1


def queue_cannot_be_made_writable(test):
    """A CQ's memory is mapped for reading, and stays so: the device alone writes to it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    with uverbs.Context(test.function.uverbs()) as context:
        cq = context.create_cq(DEPTH)
        size, key = cq.answer.q_mmap_size, ctypes.c_long(cq.answer.q_mmap_key)
        address = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, context.fd, key)
        assert address != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
        start = ctypes.c_void_p(address)
        writable = mmap.PROT_READ | mmap.PROT_WRITE
        assert libc.mprotect(start, ctypes.c_size_t(size), writable) == -1, "the ring became writable"
        assert ctypes.get_errno() == errno.EACCES, os.strerror(ctypes.get_errno())
        assert libc.munmap(start, ctypes.c_size_t(size)) == 0
        cq.destroy()


def queue_with_events_that_stays_keeps_its_event_queue(test):
    """The device refuses to destroy a CQ that reports to an event queue, until the driver lets the device go."""
    test.device.fail("destroy_cq", count=0)
    with uverbs.Context(test.function.uverbs()) as context:
        channel = context.channel()
        context.create_cq(DEPTH, channel=channel)
        os.close(channel)
    assert test.device.live("cq"), "the device let go"
    # No violation: neither the doorbell page nor the event queue goes before the CQ.
    test.function.unbind()
    test.device.clear_faults()
    assert not any(test.device.objects().values()), f"the device holds {test.device.objects()}"
    test.function.bind()
