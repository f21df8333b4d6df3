# SPDX-License-Identifier: GPL-2.0
"""Send rings are memory of the device: what one queue pair has had, another gets next."""

import errno
import os
import signal
import time

from endpoint import Endpoint, pair
from processes import Child
from queues import Mapping
from uapi import error_of

OURS, THEIRS = b"\xa5" * 64, b"\x5a" * 64


def destroyed_ring_is_nobody_elses(test):
    """A process destroys its queue pair and keeps the send ring mapped: it sees nothing of what another process
    sends, and cannot change it. Once it unmaps the ring, the queue pair ends on the device without another call."""
    before = test.device.objects()
    one = Endpoint(test.function)
    kept = send_ring(one.qp)
    one.qp.destroy()
    seen = bytes(kept.map)

    def other(say):
        two = Endpoint(test.function)
        two.qp.send_queue.mapping.map[:64] = THEIRS
        two.qp.send_queue.write(b"", ring=False)
        ring = bytes(two.qp.send_queue.mapping.map)
        say("wrote")
        time.sleep(0.5)  # while the first process writes
        say("changed" if bytes(two.qp.send_queue.mapping.map) != ring else "unchanged")

    child = Child(other)
    assert child.heard() == "wrote"
    assert bytes(kept.map) == seen, "a process reads work requests of another one"
    kept.map[:64] = OURS
    changed = child.heard()
    child.end()
    assert changed == "unchanged", "a process writes work requests of another one"
    expect_lingering(test, before, 1)
    kept.close()
    wait_for_qps(test, before["qp"])
    end_all_but_qp(one)
    assert test.device.objects() == before


def child_has_no_copy_of_a_ring(test):
    """A child that is forked has no send ring of its parent's, so it holds up nothing."""
    before = test.device.objects()
    end = Endpoint(test.function)

    def body(say):
        say("there")
        signal.sigtimedwait({signal.SIGUSR1}, 60)
        print(bytes(end.qp.send_queue.mapping.map[:8]))

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    child = Child(body)
    assert child.heard() == "there"
    end.qp.destroy()
    assert test.device.objects()["qp"] == before["qp"], "a child holds up the end of a queue pair"
    os.kill(child.process, signal.SIGUSR1)
    _, status = os.waitpid(child.process, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGSEGV, signal.SIGBUS), f"status {status:#x}"
    os.close(child.lines)
    end_all_but_qp(end)
    assert test.device.objects() == before, f"{test.device.objects()}, before {before}"


def lingering_queue_pair_works_no_more(test):
    """A destroyed queue pair whose ring is still mapped receives nothing, and completes nothing."""
    with pair(test) as (one, two):
        two.put(bytes(64))
        two.receive()
        kept = send_ring(two.qp)
        number = two.qp.number
        two.qp.destroy()
        one.put(OURS)
        one.qp.send_queue.send(one.handle(two), number, [one.place(0, 64)])
        assert one.statuses() != ["ok"], "a destroyed queue pair received a message"
        assert two.get(64) == bytes(64), "a destroyed queue pair received data"
        assert two.ring.poll() is None, "a destroyed queue pair completes work requests"
        kept.close()
        two.qp = two.pd.create_qp(two.cq)
        two.qp.map()
        two.qp.to_rts()
        two.reach_itself()


def few_queue_pairs_linger(test):
    """A context holds back eight queue pairs at most, however many it had mapped. The next one is not destroyed
    until its ring is unmapped."""
    before = test.device.objects()["qp"]
    end = Endpoint(test.function)
    ends = [end.qp] + [end.pd.create_qp(end.cq) for _ in range(9)]
    kept = [send_ring(qp) for qp in ends]
    end.qp.unmap()
    for qp in ends[:8]:
        qp.destroy()
    expect_lingering(test, {"qp": before}, len(ends))
    for qp in ends[8:]:
        error = error_of(qp.destroy)
        assert error == errno.EBUSY, f"with eight queue pairs held back: errno {error}"
    assert test.log.matching("unmap some"), "the log does not say why"
    # A new one might have to be held back, too, if creating it failed late. Others have theirs.
    error = error_of(lambda: end.pd.create_qp(end.cq))
    assert error == errno.EBUSY, f"a new one beside eight that are held back: errno {error}"
    Endpoint(test.function).close()
    kept.pop().close()
    ends.pop().destroy()
    wait_for_qps(test, before + 9)
    kept.pop(0).close()
    wait_for_qps(test, before + 8)
    end.pd.create_qp(end.cq).destroy()
    ends.pop().destroy()
    for mapping in kept:
        mapping.close()
    wait_for_qps(test, before)
    end_all_but_qp(end)


def send_ring(qp):
    """Another mapping of a queue pair's send ring."""
    length = -(-(qp.send_depth * qp.descriptor_size + qp.answer.llq_desc_offset) // 4096) * 4096
    return Mapping(qp.context, qp.answer.llq_desc_mmap_key, length)


def expect_lingering(test, before, count):
    now = test.device.objects()["qp"]
    assert now == before["qp"] + count, f"the device has {now} queue pairs, before {before['qp']}"


def wait_for_qps(test, count, seconds=10):
    """Nothing is asked of the driver meanwhile."""
    deadline = time.monotonic() + seconds
    while (now := test.device.objects()["qp"]) != count:
        assert time.monotonic() < deadline, f"the device still has {now} queue pairs, not {count}"
        time.sleep(0.05)


def end_all_but_qp(end):
    end.cq.destroy()
    end.mr.dereg()
    end.pd.dealloc()
    end.memory.close()
    end.context.close()
