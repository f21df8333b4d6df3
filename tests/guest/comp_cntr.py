# SPDX-License-Identifier: GPL-2.0
"""Completion counters: what the device counts into memory of the process."""

import errno
import struct
import time

import ioctl
import memory
import uverbs
from ah_cache import wait_until
from endpoint import Endpoint, pair
from processes import Child
from uapi import error_of

SEND, RECV, RDMA_READ, REMOTE_RDMA_READ, RDMA_WRITE, REMOTE_RDMA_WRITE = (1 << bit for bit in range(6))
COMPLETIONS, ERRORS = 0, 1
SET, ADD = 0, 1


class Counter:
    """A completion counter with a page for its two values."""

    def __init__(self, context):
        self.page = memory.Memory(memory.PAGE)
        words = [ioctl.buffer(self.page.address + offset, 8) for offset in (0, 8)]
        self.counter = ioctl.CompCntr(context, *words)
        self.attach, self.modify, self.destroy = self.counter.attach, self.counter.modify, self.counter.destroy

    def expect(self, completions, errors, seconds=10):
        """Waits for these values: a completion may be seen before it was counted."""
        end = time.monotonic() + seconds
        while (values := struct.unpack("<QQ", self.page[0:16])) != (completions, errors):
            assert time.monotonic() < end, f"{values[0]} completions, {values[1]} errors; not {completions}, {errors}"
            time.sleep(0.01)

    def close(self):
        self.destroy()
        self.page.close()


def completions_are_counted(test):
    """Good completions and bad ones, of the operations that were asked for, on either side."""
    with pair(test) as (one, two):
        sends, reads = Counter(one.context), Counter(one.context)
        receives, remote_reads = Counter(two.context), Counter(two.context)
        sends.attach(one.qp, SEND)
        reads.attach(one.qp, RDMA_READ)
        receives.attach(two.qp, RECV)
        remote_reads.attach(two.qp, REMOTE_RDMA_READ)
        for _ in range(3):
            two.receive()
            one.send(two)
            assert one.statuses() == ["ok"]
            two.wait()
        two.handle(one)  # which an RDMA read needs at the other end
        one.read(two)
        assert one.statuses() == ["ok"]
        sends.expect(3, 0)
        receives.expect(3, 0)
        reads.expect(1, 0)
        remote_reads.expect(1, 0)
        sends.modify(COMPLETIONS, SET, 100)
        sends.modify(ERRORS, ADD, 5)
        sends.expect(100, 5)
        one.qp.send_queue.send(one.handle(two), two.qp.number, [(one.memory.address, 64, 0x123456)])
        assert one.statuses() != ["ok"]
        sends.expect(100, 6)
        one.qp.destroy()
        two.qp.destroy()
        for counter in (sends, reads, receives, remote_reads):
            counter.close()
        one.qp, two.qp = one.pd.create_qp(one.cq), two.pd.create_qp(two.cq)


def counter_outlives_its_queue_pairs(test):
    """An operation is counted once, and a counter is busy until its queue pair is gone from the device."""
    end = Endpoint(test.function)
    first, second = Counter(end.context), Counter(end.context)
    first.attach(end.qp, SEND)
    assert error_of(lambda: second.attach(end.qp, SEND | RDMA_WRITE)) == errno.EBUSY, "sends are counted twice"
    second.attach(end.qp, RDMA_WRITE)
    test.device.fail("destroy_qp")
    assert error_of(end.qp.destroy) == errno.EINVAL
    assert error_of(first.destroy) == errno.EBUSY
    end.qp.destroy()
    first.close()
    second.close()
    end.qp = end.pd.create_qp(end.cq)
    end.close()


def half_an_attachment_is_undone(test):
    """The device refuses the second event counter: the first one stops, and a retry works."""
    end = Endpoint(test.function)
    counter = Counter(end.context)
    detached = test.device.seen("detach_event_counter")
    test.device.fail("attach_event_counter", nth=2)
    assert error_of(lambda: counter.attach(end.qp, SEND)) == errno.EINVAL
    assert test.device.seen("detach_event_counter") - detached == 1
    counter.attach(end.qp, SEND)
    end.qp.destroy()
    counter.close()
    end.qp = end.pd.create_qp(end.cq)
    end.close()


def refused_destroy_keeps_the_memory(test):
    """The end of a counter never fails; until the device lets go of it, its memory stays pinned."""
    with uverbs.Context(test.function.uverbs()) as context:
        before = memory.pinned()
        counter = Counter(context)
        test.device.fail("destroy_event_counter", count=0)
        counter.destroy()
        assert len(test.device.live("event_counter")) == 2
        assert memory.pinned() == before + 2 * memory.PAGE, "memory was released that the device writes to"
        test.device.clear_faults()
        assert wait_until(lambda: test.device.live("event_counter") == []), "no retry"
        assert wait_until(lambda: memory.pinned() == before), "memory that the device let go of is still pinned"
        counter.page.close()


def kept_queue_pair_keeps_its_counters(test):
    """A killed process, and a device that refuses to destroy the queue pair: its counters wait for it."""

    def body(_say):
        end = Endpoint(test.function)
        Counter(end.context).attach(end.qp, SEND)

    def kept():
        objects = test.device.objects()
        return objects["qp"], objects["event_counter"]

    test.device.fail("destroy_qp", count=0)
    Child(body).end()
    assert kept() == (1, 2), f"on the device: {test.device.objects()}"
    test.device.clear_faults()
    assert wait_until(lambda: not any(test.device.objects()[kind] for kind in ("qp", "event_counter", "pd", "uar"))), \
        f"on the device: {test.device.objects()}"
