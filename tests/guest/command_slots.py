# SPDX-License-Identifier: GPL-2.0
"""The line of those who wait until the device can have one more command."""

import errno
import os
import signal
import threading
import time
from collections import Counter

import ioctl
import requests
import uverbs
from admin_queue import SLOTS, TIMEOUT_SECONDS
from ah_cache import wait_until
from processes import Child


def sleeps(path):
    """Whether a task is in a sleep that no ordinary signal ends, by its directory in /proc."""
    with open(f"{path}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "D"


class Caller(threading.Thread):
    """A thread that asks for a protection domain. The numbers of those are the order in which the
    device got the commands: it gives the lowest one that is free."""

    def __init__(self, context):
        super().__init__()
        self.context, self.number, self.error = context, None, None
        self.start()

    def run(self):
        try:
            self.number = self.context.alloc_pd().number
        except OSError as error:
            self.error = error.errno

    def asleep(self):
        return self.native_id is not None and sleeps(f"/proc/self/task/{self.native_id}")


def callers(context, count):
    """So many callers, each of which waits in line, or for the device, before the next one comes."""
    called = []
    for _ in range(count):
        called.append(Caller(context))
        assert wait_until(called[-1].asleep, pause=0.005), "a caller does not wait"
    return called


def join(threads):
    for thread in threads:
        thread.join()
    return threads


def overtaken(numbers):
    """The most that were served before one who had come before them; `numbers` in the order of coming."""
    return max(sum(later < number for later in numbers[at:]) for at, number in enumerate(numbers))


def they_are_served_in_the_order_in_which_they_came(test):
    """The device has all that it can have, and takes its time: nobody is overtaken, but by those who
    are given a slot at the same moment."""
    test.device.fault("alloc_pd", "delay", count=SLOTS, ms=8000)
    # So slow that those who are given a slot send their commands before the next ones get theirs.
    test.device.fault("alloc_pd", "delay", nth=SLOTS + 1, count=0, ms=300)
    with uverbs.Context(test.function.uverbs()) as context:
        first = callers(context, SLOTS)
        # As many as come before the first slot is free, on a busy host too, and in all no more than 256, which is
        # what the device has.
        line = join(callers(context, test.pick(6, 7) * SLOTS))
        assert not any(caller.error for caller in join(first) + line)
    most = overtaken([caller.number for caller in line])
    assert most < 2 * SLOTS, f"{len(line)} waited, and one was overtaken by {most}"
    return {"waited": len(line), "overtaken": most}


def each_has_as_many_turns_as_the_others(test):
    """Slow commands, and callers that come again at once: none of them waits while others have one
    turn after the other."""
    each, turns = 4 * SLOTS, test.pick(6, 40)
    test.device.fault("alloc_pd", "delay", count=0, ms=500)
    counts, all_are_there, enough = [0] * each, threading.Barrier(each), threading.Event()
    with uverbs.Context(test.function.uverbs()) as context:

        def call(caller):
            all_are_there.wait()
            while not enough.is_set():
                context.alloc_pd().dealloc()
                counts[caller] += 1
                if sum(counts) >= turns * each:
                    enough.set()

        threads = [threading.Thread(target=call, args=(number,)) for number in range(each)]
        for thread in threads:
            thread.start()
        enough.wait()
        fewest, most = min(counts), max(counts)
        join(threads)
    assert 2 * fewest >= most, f"one of {each} callers had {fewest} turns, another one {most}"
    return {"callers": each, "fewest": fewest, "most": most}


def all_leave_when_the_queue_closes(test):
    """The device says nothing more while hundreds wait: what it has fails when the time is over, and
    all others at once."""
    waiting = 10 * SLOTS
    sent = test.device.seen("alloc_pd")
    test.device.fault("alloc_pd", "mute")
    with uverbs.Context(test.function.uverbs()) as context:
        threads = [Caller(context) for _ in range(SLOTS + waiting)]
        for caller in threads:
            caller.join(timeout=TIMEOUT_SECONDS + 20)
        assert not any(caller.is_alive() for caller in threads), "some wait for ever"
        errors = Counter(caller.error for caller in threads)
        assert set(errors) <= {errno.ETIME, errno.ENODEV} and errors[errno.ETIME] <= SLOTS, errors
        assert test.device.seen("alloc_pd") - sent <= SLOTS
    test.function.unbind()
    test.device.clear_faults()
    test.function.bind()
    with uverbs.Context(test.function.uverbs()) as context:
        join(Caller(context) for _ in range(2 * SLOTS))


class Process(Child):
    """A process that does something with a device that its parent opened, when it is told to. It has to
    be an ioctl: who inherits a device cannot write to it. When it ends it has nothing to give back."""

    def __init__(self, act):
        commands, self.commands = os.pipe()

        def body(say):
            say("ready")
            os.read(commands, 1)
            act()

        super().__init__(body)
        os.close(commands)
        assert self.heard() == "ready"

    def go(self):
        os.write(self.commands, b".")
        os.close(self.commands)
        assert wait_until(self.asleep, pause=0.005), "the process does not wait"

    def asleep(self):
        return sleeps(f"/proc/{self.process}")


def who_is_killed_leaves_the_line(test):
    """Before its turn comes, and its place with it: the others are served as if it had not come. Who
    has to give something back stays until that is done."""
    with uverbs.Context(test.function.uverbs()) as context:
        cq = {"handle": context.create_cq(16).handle}
        takers = [Process(lambda: ioctl.write(context, requests.ALLOC_PD, {})) for _ in range(4)]
        giver = Process(lambda: ioctl.write(context, requests.DESTROY_CQ, cq))
        test.device.fault("alloc_pd", "hold", count=SLOTS)
        threads = callers(context, SLOTS)
        for process in takers + [giver]:
            process.go()
            threads += callers(context, 4)
        for taker in takers:
            took = taker.end(signal.SIGKILL)
            assert took < 5, f"a process that was killed waited {took:.1f} s"
        os.kill(giver.process, signal.SIGKILL)
        time.sleep(0.5)
        assert giver.asleep(), "gone with a queue that it was about to give back"
        test.device.clear_faults()
        giver.end(signal.SIGKILL)
        join(threads)
        assert not any(caller.error for caller in threads)
        assert len(test.device.live("pd")) == len(threads) and not test.device.live("cq")
        # No slot is lost: the device can have as many commands as before.
        sent = test.device.seen("alloc_pd")
        test.device.fault("alloc_pd", "hold", count=SLOTS)
        threads = callers(context, SLOTS)
        assert test.device.seen("alloc_pd") - sent == SLOTS
        test.device.clear_faults()
        join(threads)
