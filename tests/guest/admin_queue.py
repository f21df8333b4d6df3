# SPDX-License-Identifier: GPL-2.0
"""The admin queue on a device that misbehaves."""

import threading
import time
from collections import Counter

import module
import uverbs
from uapi import error_of

# What the device's hints say in the machine `impatient`.
TIMEOUT_SECONDS = 2
# Commands that the driver lets the device have at once.
SLOTS = 32


def bad_completions_are_survived(test):
    """D8: a bad completion is said in the log and ignored; the right one is still accepted."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for number, action in enumerate(("wrong_id", "duplicate", "bad_crc", "early_phase")):
            lines = len(test.log.read())
            test.device.fault("create_ah", action)
            handle = pd.create_ah(uverbs.gid(number))
            live = [ah["id"] for ah in test.device.live("ah")]
            assert live == [handle.number], f"{action}: handle {handle.number}, on the device {live}"
            handle.destroy()
            if action != "early_phase":  # an entry of the wrong phase is no entry: nothing to say
                said = [line for line in test.log.read()[lines:] if "efa" in line]
                assert said, f"{action}: the log says nothing"
        for number in range(100):  # several laps around the queue
            pd.create_ah(uverbs.gid(number)).destroy()
        pd.dealloc()


def lost_interrupt_costs_one_wait(test):
    """D9: the device completes without an interrupt: the command succeeds, the queue lives on."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        test.device.fault("create_ah", "drop_interrupt")
        start = time.monotonic()
        handle = pd.create_ah(uverbs.gid(1))
        took = time.monotonic() - start
        assert took < TIMEOUT_SECONDS, f"{took:.1f} s for a completion that was there"
        handle.destroy()
        pd.create_ah(uverbs.gid(2)).destroy()
        pd.dealloc()


def monitors_find_their_lines(test):
    """The lines that monitors look for have the words that they look for, whichever driver it is."""
    test.device.keep_alive(False)  # its interrupt would make up for the one that is lost
    for action, words in (
        ("drop_interrupt", "didn't receive any MSI-X interrupt"), ("mute", "didn't send any completion"),
    ):
        with uverbs.Context(test.function.uverbs()) as context:
            test.device.fault("alloc_pd", action)
            error_of(context.alloc_pd)
        assert test.log.matching(words), f"{action}: no line with {words!r}"
        test.device.clear_faults()
        test.function.unbind()
        test.function.bind()
    test.device.keep_alive(True)


def closed_queue_is_said_once(test):
    """Something that polls the counters of a device that failed does not fill the log."""
    with uverbs.Context(test.function.uverbs()) as context:
        test.device.fault("alloc_pd", "mute")
        assert error_of(context.alloc_pd)
        test.log.read()
        before = len(test.log.lines)
        for _ in range(30):
            assert error_of(lambda: test.function.counter("tx_bytes", port=True))
        said = [line for line in test.log.read()[before:] if "efa" in line]
        assert len(said) == 1, f"{len(said)} lines for 30 reads: {said[:3]}"
    test.device.clear_faults()
    test.function.unbind()
    test.function.bind()


def mute_device_costs_one_timeout(test):
    """D10: one timeout, then errors at once; destroying succeeds; unload and rebind work."""
    context = uverbs.Context(test.function.uverbs())
    try:
        pd = context.alloc_pd()
        kept = [pd.create_ah(uverbs.gid(number)) for number in range(10)]
        test.device.fault("create_ah", "mute")
        took, failed = attempt(lambda: pd.create_ah(uverbs.gid(20)))
        assert failed, "a command on a mute device succeeded"
        assert took < TIMEOUT_SECONDS + 3, f"the timeout took {took:.1f} s"
        for _ in range(5):
            took, failed = attempt(lambda: pd.create_ah(uverbs.gid(21)))
            assert failed and took < 0.5, f"after the timeout: failed={failed} in {took:.1f} s"
        start = time.monotonic()
        for handle in kept:
            handle.destroy()
        pd.dealloc()
        assert time.monotonic() - start < 1, "destroying on a mute device waits"
    finally:
        context.close()
    start = time.monotonic()
    module.unload()
    assert time.monotonic() - start < 10, "the unloading waits for a mute device"
    test.device.clear_faults()
    module.load()
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        pd.create_ah(uverbs.gid(1)).destroy()
        pd.dealloc()


def attempt(call):
    """How long a call took, and whether it failed."""
    start = time.monotonic()
    try:
        call()
    except OSError:
        return time.monotonic() - start, True
    return time.monotonic() - start, False


def version_speaks_the_whole_way(test):
    """A device of another API version: probe, commands, several laps around the queue."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for number in range(50):
            pd.create_ah(uverbs.gid(number)).destroy()
        pd.dealloc()


def keep_alives_are_counted(test):
    before = test.function.counter("keep_alive_rcvd")
    time.sleep(3)
    after = test.function.counter("keep_alive_rcvd")
    assert after - before >= 2, f"{after - before} keep-alives in 3 s"


def more_callers_than_slots_wait_their_turn(test):
    """The device takes its time with each command, and so many callers wait that the last ones wait
    longer than a command may take: each has its turn, and the queue is none the worse for it."""
    each, rounds = 0.7, 5
    assert (rounds - 1) * each > TIMEOUT_SECONDS > each
    errors, late = [], test.function.counter("no_completion_cmds")
    test.device.fault("alloc_pd", "delay", count=0, ms=int(each * 1000))
    with uverbs.Context(test.function.uverbs()) as context:

        def call():
            errors.append(error_of(context.alloc_pd))

        callers = [threading.Thread(target=call) for _ in range(rounds * SLOTS)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert Counter(errors) == {0: rounds * SLOTS}, f"errors: {dict(Counter(errors))}"
        assert len(test.device.live("pd")) == rounds * SLOTS
    assert test.function.counter("no_completion_cmds") == late
