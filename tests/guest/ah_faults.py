# SPDX-License-Identifier: GPL-2.0
"""Address handles at the limits of device, driver and process."""

import contextlib
import errno
import os
import signal
import threading
import time

import module
import uverbs
import vefa
from ah import create_error, names_gid
from ah_cache import wait_until

NOBODY = "::"
GROUP = "ff0e::1"
# What the kernel lets through of one message, and in how many seconds.
BURST, BURST_SECONDS = 10, 5
# Of a refused CREATE_AH: what the command came to, and what the handle did.
MESSAGES = 2


def device_judges_any_address(test):
    """`::` and a group's address are asked for like any other: the device refuses them, and nothing of that stays."""
    errors = test.function.counter("create_ah_err")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for gid in (NOBODY, GROUP):
            creates = test.device.seen("create_ah")
            assert [create_error(pd, gid) for _ in range(2)] == [errno.EINVAL] * 2
            assert test.device.seen("create_ah") - creates == 2, "the device was not asked each time"
            assert any(names_gid(line, vefa.full(gid)) for line in test.log.read()), f"{gid} is not in the log"
        assert test.function.counter("create_ah_err") - errors == 4
        assert test.device.live("ah") == []
        pd.dealloc()


def refused_address_is_logged_by_the_burst(test):
    """Whoever asks for a refused address again and again is told which one it is, and does not fill the log."""
    gid = uverbs.gid(2)
    test.device.refuse(gid)
    start, calls = time.monotonic(), 0
    try:
        with uverbs.Context(test.function.uverbs()) as context:
            pd = context.alloc_pd()
            while calls < 2 * allowed_since(start) or not any(names_gid(line, gid) for line in test.log.read()):
                assert create_error(pd, gid) == errno.EINVAL
                calls += 1
            pd.dealloc()
    finally:
        test.device.accept(gid)
    lines, allowed = test.log.read(), MESSAGES * allowed_since(start)
    assert len(lines) <= allowed, f"{len(lines)} lines for {calls} calls; {allowed} at most"


def allowed_since(start):
    """How many lines there may be of one message since then."""
    return BURST * (2 + int((time.monotonic() - start) // BURST_SECONDS))


def own_address_is_one_like_any_other(test):
    """libfabric makes a handle to its own address for each endpoint."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handle = pd.create_ah(test.function.gid())
        assert [ah["gid"] for ah in test.device.live("ah")] == [test.function.gid()]
        handle.destroy()
        pd.dealloc()


def without_a_route_it_is_counted_and_not_sent(test):
    creates, errors = test.device.seen("create_ah"), test.function.counter("create_ah_err")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        assert create_error(pd, uverbs.gid(1), is_global=False) == errno.EINVAL
        pd.dealloc()
    assert test.device.seen("create_ah") == creates, "CREATE_AH without a destination"
    assert test.function.counter("create_ah_err") - errors == 1


def device_limit_is_reported_and_left_again(test):
    """One handle more than the device has is ENOMEM; those that are there can be shared, and one that goes makes room."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handles = []
        while (error := add_handle(pd, handles)) is None and len(handles) < 1000:
            pass
        assert error == errno.ENOMEM, f"errno {error} with {len(handles)} handles"
        assert len(test.device.live("ah")) == len(handles)
        handles.append(pd.create_ah(uverbs.gid(0)))
        assert add_handle(pd, handles) == errno.ENOMEM
        handles.pop(1).destroy()
        assert add_handle(pd, handles) is None, "no handle although one is free again"
        for handle in handles:
            handle.destroy()
        assert test.device.live("ah") == []
        pd.dealloc()


def add_handle(pd, handles):
    """Makes a handle to one more peer. The errno if that fails."""
    try:
        handles.append(pd.create_ah(uverbs.gid(len(handles))))
    except OSError as error:
        return error.errno
    return None


def process_killed_inside_a_create_leaves_nothing(test):
    """Killed while the device makes its handle, the process waits for that, and the handle goes with it."""
    creates = test.device.seen("create_ah")
    test.device.fault("create_ah", "delay", ms=1500)
    child = os.fork()
    if child == 0:
        pd = uverbs.Context(test.function.uverbs()).alloc_pd()
        pd.create_ah(uverbs.gid(1))
        signal.pause()
    assert wait_until(lambda: test.device.seen("create_ah") > creates), "the child did not ask for a handle"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert wait_until(lambda: test.device.live("pd") == []), "a PD is left on the device"
    assert test.device.live("ah") == [], "an AH is left on the device"


def closed_admin_queue_costs_no_handle(test):
    """After a timeout no command is sent any more: handles fail or are shared, ending them succeeds, a reset ends all."""
    context = uverbs.Context(test.function.uverbs())
    pd = context.alloc_pd()
    handle = pd.create_ah(uverbs.gid(1))
    test.device.fault("create_ah", "mute")
    assert create_error(pd, uverbs.gid(2)) == errno.ETIME
    creates = test.device.seen("create_ah")
    start = time.monotonic()
    assert create_error(pd, uverbs.gid(2)) is not None, "a handle without a command"
    shared = pd.create_ah(uverbs.gid(1))
    assert shared.number == handle.number
    for each in (handle, shared):
        each.destroy()
    pd.dealloc()
    assert time.monotonic() - start < 1, "waited for a queue that is closed"
    assert test.device.seen("create_ah") == creates
    context.close()
    test.device.clear_faults()
    test.function.unbind()
    assert test.device.live("ah") == [] and test.device.live("pd") == [], "left after the reset"
    test.function.bind()
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        pd.create_ah(uverbs.gid(1)).destroy()
        pd.dealloc()


def handles_of_a_device_that_is_gone_end(test):
    """Pulled out from under its handles: they can still be shared and ended, nothing waits, and the module goes."""
    contexts = [uverbs.Context(test.function.uverbs()) for _ in range(2)]
    pds = [context.alloc_pd() for context in contexts]
    handles = [[pd.create_ah(uverbs.gid(number // 2)) for number in range(16)] for pd in pds]
    with contextlib.suppress(TimeoutError):
        test.device.ask("quit")
    assert pds[0].create_ah(uverbs.gid(0)).number == handles[0][0].number
    error = create_error(pds[0], uverbs.gid(100))
    assert error in (errno.ETIME, errno.ENODEV, errno.EIO), f"a command to a device that is gone: errno {error}"
    start = time.monotonic()
    for handle in handles[0][:8]:
        handle.destroy()
    contexts[0].close()
    assert time.monotonic() - start < 10, "waited for a device that is gone"
    unbinding = threading.Thread(target=test.function.unbind)
    unbinding.start()
    unbinding.join(30)
    waited = unbinding.is_alive()
    contexts[1].close()
    unbinding.join()
    assert not waited, "the unbinding waits for the device, or for the processes"
    module.unload()
