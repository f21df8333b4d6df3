# SPDX-License-Identifier: GPL-2.0
"""Address handles made and ended by many threads, while the device keeps failing."""

import errno
import random
import threading
import time
from collections import Counter

import debugfs
import uverbs
from ah_cache import wait_until

THREADS = 32
PEERS = 8
# Handles that a thread has at a time, and how long it has none, on average: so keys die and come
# back all the time, and are shared, too.
HANDLES = 2
PAUSE_SECONDS = 0.05
# Of the CREATE_AH and DESTROY_AH that the device is sent, one in so many fails.
FAILS_ONE_IN = 10
# How long one protection domain is used.
DOMAIN_SECONDS = 5
# Of each thread with each protection domain, however slow the machine is.
LEAST_ROUNDS = 10


def storm_of_failing_commands_leaves_nothing(test):
    """32 threads on 8 GIDs, and one command in ten fails: one handle for each key, each counted, none left."""
    end = time.monotonic() + test.pick(2, 120) * DOMAIN_SECONDS
    seeds = random.Random(1)
    before, device_before = debugfs.numbers(test, "ah_counters"), commands(test)
    seen = Counter()
    with uverbs.Context(test.function.uverbs()) as context:
        for command in ("create_ah", "destroy_ah"):
            test.device.fault(command, "status", status="unknown_error", nth=FAILS_ONE_IN, every=FAILS_ONE_IN, count=0)
        while time.monotonic() < end:
            pd = context.alloc_pd()
            seen += storm(pd, seeds)
            pd.dealloc()  # may have to wait in the quarantine for a handle that the device does not let go
        test.device.clear_faults()
        assert wait_until(lambda: test.device.live("ah") == []), "address handles are left on the device"
        assert wait_until(lambda: test.device.live("pd") == []), "protection domains are left on the device"
    assert wait_until(lambda: debugfs.text(test, "quarantine").splitlines()[1:] == [])
    after = debugfs.numbers(test, "ah_counters")
    assert after["entries"] == 0
    more = {name: after[name] - before[name] for name in before}
    add_up(more, seen, commands(test) - device_before)
    return {**seen, **more}


def storm(pd, seeds):
    """Lets the threads loose on one protection domain. How many handles they made, and how many were refused."""
    end = time.monotonic() + DOMAIN_SECONDS
    parts, errors = [], []

    def work(dice):
        part = Counter()
        try:
            while time.monotonic() < end or part["rounds"] < LEAST_ROUNDS:
                make_and_end(pd, dice, part)
                part["rounds"] += 1
                time.sleep(dice.expovariate(1 / PAUSE_SECONDS))
        except (OSError, AssertionError) as error:
            errors.append(error)
        parts.append(part)

    threads = [threading.Thread(target=work, args=(random.Random(seeds.random()),)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, f"{len(errors)} threads failed: {errors[0]}"
    return sum(parts, Counter())


def make_and_end(pd, dice, part):
    """A few handles, in any order; those to one peer are the same one to the device."""
    handles, numbers = [], {}
    for peer in dice.choices(range(PEERS), k=HANDLES):
        try:
            handle = pd.create_ah(uverbs.gid(peer))
        except OSError as error:
            assert error.errno == errno.EINVAL, f"a refused handle: {error}"
            part["refused"] += 1
            continue
        part["made"] += 1
        handles.append(handle)
        number = numbers.setdefault(peer, handle.number)
        assert number == handle.number, f"peer {peer} has the handles {number} and {handle.number} at once"
    dice.shuffle(handles)
    for handle in handles:
        handle.destroy()


def commands(test):
    """How CREATE_AH and DESTROY_AH have ended on the device, by the names of the driver's counters."""
    counts = test.device.counters()["commands"]
    names = {("create_ah", "ok"): "creates", ("create_ah", "failed"): "create_failures",
             ("destroy_ah", "ok"): "destroys", ("destroy_ah", "failed"): "destroy_failures"}
    return Counter({name: counts.get(command, {}).get(how, 0) for (command, how), name in names.items()})


def add_up(counted, seen, sent):
    """The driver's counters agree with what the threads saw and with what the device was sent."""
    assert counted["hits"] + counted["waits"] + counted["reuses"] + counted["creates"] == seen["made"], (counted, seen)
    assert counted["create_failures"] == seen["refused"], (counted, seen)
    assert counted["misses"] == counted["creates"] + counted["create_failures"], counted
    assert {name: counted[name] for name in sent} == sent, f"the driver counted {counted}, the device {sent}"
    assert sent["destroys"] == sent["creates"], sent
    rare = [name for name in ("hits", "reuses", "create_failures", "destroy_failures") if not counted[name]]
    assert not rare, f"never happened: {', '.join(rare)} ({counted})"
