# SPDX-License-Identifier: GPL-2.0
"""The address handle cache's rules, as the device and user space see them."""

import errno
import os
import signal
import threading
import time

import uverbs
import vefa
from uapi import error_of


def commands_since(device, seq, *names):
    """The device's commands of these names since a place in its log, in order."""
    return [entry["command"] for entry in device.log(seq) if entry["command"] in names]


def hit_sends_no_command(test):
    creates = test.device.seen("create_ah")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handles = [pd.create_ah(uverbs.gid(1)) for _ in range(100)]
        assert len({handle.number for handle in handles}) == 1
        assert test.device.seen("create_ah") - creates == 1
        for handle in handles:
            handle.destroy()
        pd.dealloc()


def protection_domains_share_nothing(test):
    creates = test.device.seen("create_ah")
    with uverbs.Context(test.function.uverbs()) as context:
        domains = [context.alloc_pd(), context.alloc_pd()]
        handles = [pd.create_ah(uverbs.gid(1)) for pd in domains]
        assert test.device.seen("create_ah") - creates == 2
        assert {ah["pd"] for ah in test.device.live("ah")} == {pd.number for pd in domains}
        for handle in handles:
            handle.destroy()
        for pd in domains:
            pd.dealloc()


def keys_wait_for_no_other_key(test):
    """While the device is at work on one key, handles of another GID, or of the same GID in another PD, come and go."""
    for command in ("create_ah", "destroy_ah"):
        with uverbs.Context(test.function.uverbs()) as context:
            pd, other = context.alloc_pd(), context.alloc_pd()
            handles = [pd.create_ah(uverbs.gid(2))]
            errors = []
            waiting = threading.Thread(target=lambda: errors.append(error_of(lambda: pd.create_ah(uverbs.gid(1)).destroy())))
            before = test.device.seen(command)
            test.device.fault(command, "hold")
            waiting.start()
            assert wait_until(lambda: test.device.seen(command) > before), f"no {command} was sent"
            for domain, number in ((pd, 2), (pd, 3), (other, 1), (other, 2)):
                handles += [domain.create_ah(uverbs.gid(number)) for _ in range(3)]
            for handle in handles:
                handle.destroy()
            other.dealloc()
            assert not errors, f"{command} was not waited for: {errors}"
            test.device.clear_faults()
            waiting.join()
            assert errors == [0], f"{command}: errno {errors}"
            assert test.device.live("ah") == []
            pd.dealloc()


def failed_create_leaves_nothing(test):
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        creates, destroys = test.device.seen("create_ah", "destroy_ah")
        test.device.fail("create_ah", count=3)
        for _ in range(3):
            try:
                pd.create_ah(uverbs.gid(1))
            except OSError as error:
                assert error.errno == errno.EINVAL
            else:
                raise AssertionError("a failed CREATE_AH went unnoticed")
        handle = pd.create_ah(uverbs.gid(1))
        assert test.device.seen("create_ah") - creates == 4, "each try must reach the device"
        assert test.device.seen("destroy_ah") == destroys, "DESTROY_AH for what never was"
        handle.destroy()
        pd.dealloc()


def waiter_does_not_get_a_failed_handle(test):
    """Of threads that want one peer while its CREATE_AH fails, none gets a handle that is not there."""
    test.device.fault("create_ah", "delay", ms=300)
    test.device.fail("create_ah")
    handles, errors = [], []
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()

        def create():
            try:
                handles.append(pd.create_ah(uverbs.gid(1)))
            except OSError as error:
                errors.append(error.errno)

        threads = [threading.Thread(target=create) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == [errno.EINVAL], f"errors {errors}"
        live = [ah["id"] for ah in test.device.live("ah")]
        assert live == sorted({handle.number for handle in handles}), f"device {live}"
        for handle in handles:
            handle.destroy()
        pd.dealloc()


def failed_destroy_is_parked_and_reused(test):
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handle = pd.create_ah(uverbs.gid(1))
        test.device.fail("destroy_ah")
        handle.destroy()  # no error reaches user space
        creates, destroys = test.device.seen("create_ah", "destroy_ah")
        again = pd.create_ah(uverbs.gid(1))
        assert test.device.seen("create_ah") == creates, "CREATE_AH for a key that is live"
        assert again.number == handle.number
        again.destroy()
        assert test.device.seen("destroy_ah") - destroys == 1
        assert test.device.live("ah") == []
        pd.dealloc()


def freeing_the_pd_retries_a_failed_destroy(test):
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handle = pd.create_ah(uverbs.gid(1))
        test.device.fail("destroy_ah")
        seq = test.device.next_seq()
        handle.destroy()
        pd.dealloc()
        order = commands_since(test.device, seq, "destroy_ah", "dealloc_pd")
        assert order == ["destroy_ah", "destroy_ah", "dealloc_pd"], f"commands {order}"


def pd_of_a_handle_that_stays_is_quarantined(test):
    """While the device refuses to let an AH go, its PD is not freed, and its number not reused."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handle = pd.create_ah(uverbs.gid(1))
        test.device.fail("destroy_ah", count=0)
        handle.destroy()
        deallocs = test.device.seen("dealloc_pd")
        pd.dealloc()  # no error reaches user space
        assert test.device.seen("dealloc_pd") == deallocs, "DEALLOC_PD with a live AH"
        others = [context.alloc_pd() for _ in range(20)]
        assert pd.number not in {other.number for other in others}
        for other in others:
            other.dealloc()
        test.device.clear_faults()
    test.function.unbind()
    assert test.device.live("ah") == [] and test.device.live("pd") == [], "left after the reset"
    test.function.bind()


def closing_a_context_destroys_each_handle_once(test):
    creates, destroys = test.device.seen("create_ah", "destroy_ah")
    context = uverbs.Context(test.function.uverbs())
    pd = context.alloc_pd()
    for number in range(20):
        pd.create_ah(uverbs.gid(number // 2))
    context.close()
    assert wait_until(lambda: test.device.live("ah") == [])
    assert test.device.seen("create_ah") - creates == 10
    assert test.device.seen("destroy_ah") - destroys == 10


def killed_process_leaves_no_handle(test):
    child = os.fork()
    if child == 0:
        context = uverbs.Context(test.function.uverbs())
        pd = context.alloc_pd()
        for number in range(50):
            pd.create_ah(uverbs.gid(number))
        signal.pause()
    assert wait_until(lambda: len(test.device.live("ah")) == 50), "the child did not get its handles"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert wait_until(lambda: test.device.live("ah") == [] and test.device.live("pd") == [])


def wait_until(condition, seconds=10, pause=0.05):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def reset_ends_every_handle(test):
    """After a device reset the key is new: a fresh CREATE_AH, no command for the old handle."""
    context = uverbs.Context(test.function.uverbs())
    pd = context.alloc_pd()
    pd.create_ah(uverbs.gid(1))
    unbinding = threading.Thread(target=test.function.unbind)
    unbinding.start()
    unbinding.join(5)
    context.close()
    unbinding.join()
    assert test.device.live("ah") == []
    test.function.bind()
    creates = test.device.seen("create_ah")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handle = pd.create_ah(uverbs.gid(1))
        assert test.device.seen("create_ah") - creates == 1
        assert [ah["gid"] for ah in test.device.live("ah")] == [vefa.full(uverbs.gid(1))]
        handle.destroy()
        pd.dealloc()
