# SPDX-License-Identifier: GPL-2.0
"""Processes that use the device: many, killed, or with much to clean up."""

import errno
import os
import select
import signal
import time
import traceback

import memory
import uverbs
from endpoint import Endpoint


class Child:
    """A process that runs `body(say)`; what it says, one line each time, can be heard."""

    def __init__(self, body):
        self.lines, write_end = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            status = 1
            try:
                body(lambda text: os.write(write_end, text.encode() + b"\n"))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(write_end)

    def heard(self, seconds=60):
        """The next line; empty when the process ended without one."""
        text = b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([self.lines], [], [], seconds)
            assert ready, f"the process says nothing for {seconds} s"
            byte = os.read(self.lines, 1)
            if not byte:
                return ""
            text += byte
        return text.decode().strip()

    def end(self, how=None):
        """Waits for the end, after a signal if one is given; the seconds it took."""
        start = time.monotonic()
        if how is not None:
            os.kill(self.process, how)
        _, status = os.waitpid(self.process, 0)
        os.close(self.lines)
        expected = -how if how is not None else 0
        code = os.waitstatus_to_exitcode(status)
        assert code == expected, f"the process ended with {code} (see the test's log)"
        return time.monotonic() - start


def pins():
    """Pages that were pinned for devices and that were released, in the kernel's whole life."""
    with open("/proc/sys/vm/stat_refresh", encoding="ascii") as refresh:
        refresh.read()  # else each CPU keeps some counts to itself
    with open("/proc/vmstat", encoding="ascii") as stat:
        counts = dict(line.split() for line in stat)
    return int(counts["nr_foll_pin_acquired"]), int(counts["nr_foll_pin_released"])


def nothing_is_left(test, before, pins_before):
    assert test.device.objects() == before, f"before {before}, now {test.device.objects()}"
    acquired, released = (now - then for now, then in zip(pins(), pins_before))
    assert acquired == released, f"{acquired} pages pinned, {released} released"


def opening_in_a_loop(test):
    """P1: open, CQ with a channel, close: doorbell pages come back."""
    before = test.device.objects()
    for _ in range(test.pick(600, 10_000)):
        with uverbs.Context(test.function.uverbs()) as context:
            channel = context.channel()
            context.create_cq(16, channel=channel).map()
            os.close(channel)
    # The rings are still mapped; Python unmaps them when it collects them.
    import gc
    gc.collect()
    assert test.device.objects() == before, f"{test.device.objects()}, before {before}"


def exit_without_unmapping(test):
    """P1: a process that ends without undoing anything leaves nothing."""
    before, pinned = test.device.objects(), pins()
    for _ in range(test.pick(20, 300)):
        def body(_say):
            for _ in range(5):
                Endpoint(test.function, channel=True)

        Child(body).end()
    nothing_is_left(test, before, pinned)


def killed_processes_leave_nothing(test):
    """P2: killed with everything open, huge pages too, again and again; the next one works."""
    before, pinned = test.device.objects(), pins()

    def body(say):
        huge = memory.huge_pages(4)
        ends = [Endpoint(test.function, channel=True) for _ in range(2)]
        for end in ends:
            end.pd.reg_mr(huge)
        ends[0].handle(ends[1])
        ends[0].send(ends[1])  # waits for a receive that never comes
        say("ready")
        signal.pause()

    for _ in range(test.pick(20, 200)):
        child = Child(body)
        assert child.heard() == "ready"
        child.end(signal.SIGKILL)
    nothing_is_left(test, before, pinned)
    end = Endpoint(test.function)
    end.reach_itself()
    end.close()


def exit_takes_no_longer_than_its_commands(test):
    """P3: the end of a process with many QPs takes one command for each, not more."""
    count, delay = 250, 0.01

    def body(say):
        context = uverbs.Context(test.function.uverbs())
        pd, cq = context.alloc_pd(), context.create_cq(64)
        for _ in range(count):
            pd.create_qp(cq, send_depth=32, recv_depth=32)
        say("ready")
        signal.pause()

    child = Child(body)
    assert child.heard() == "ready"
    assert test.device.objects()["qp"] == count
    destroyed = test.device.seen("destroy_qp")
    test.device.fault("destroy_qp", "delay", count=0, ms=int(delay * 1000))
    took = child.end(signal.SIGKILL)
    assert test.device.seen("destroy_qp") - destroyed == count
    assert took < 3 * count * delay + 2, f"{took:.1f} s for {count} commands of {delay * 1000:.0f} ms"


def more_queue_pairs_than_there_are(test):
    """P4: ENOMEM, one error counted, and room again when one is destroyed."""
    errors = test.function.counter("create_qp_err")
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        qps, error = [], None
        while error is None and len(qps) < 100:
            try:
                qps.append(pd.create_qp(cq))
            except OSError as refusal:
                error = refusal.errno
        assert (len(qps), error) == (8, errno.ENOMEM), f"errno {error} after {len(qps)} queue pairs"
        assert test.function.counter("create_qp_err") - errors == 1
        qps.pop().destroy()
        qps.append(pd.create_qp(cq))
        for qp in qps:
            qp.destroy()
        cq.destroy()
        pd.dealloc()
