# SPDX-License-Identifier: GPL-2.0
"""Removal of the driver from under processes that use it."""

import errno
import threading
import time

import module
import uverbs

USERS = 6


def open_context_does_not_hold_the_module(test):
    """The module can be removed while a process has the device open, and come back."""
    context = uverbs.Context(test.function.uverbs())
    try:
        context.alloc_pd().create_ah(uverbs.gid(1))
        module.unload()
        assert not any(test.device.objects().values()), "the unloaded driver left objects"
        try:
            context.alloc_pd()
            result = 0
        except OSError as error:
            result = error.errno
        assert result == errno.EIO, f"a new PD without a driver: errno {result}"
    finally:
        context.close()
    module.load()
    with uverbs.Context(test.function.uverbs()) as context:
        context.alloc_pd().dealloc()


def unbinding_under_load(test):
    """Processes open the device and make objects while it is unbound and bound again."""
    stop = threading.Event()
    rounds = []

    def use():
        while not stop.is_set():
            try:
                with uverbs.Context(test.function.uverbs()) as context:
                    handles = [context.alloc_pd().create_ah(uverbs.gid(peer)) for peer in range(5)]
                    for handle in handles[:3]:
                        handle.destroy()
                rounds.append(1)
            except (OSError, TypeError):  # the device, or its node, is not there now
                time.sleep(0.01)

    users = [threading.Thread(target=use) for _ in range(USERS)]
    for user in users:
        user.start()
    try:
        for _ in range(test.pick(10, 100)):
            time.sleep(0.2)
            test.function.unbind()
            assert not any(test.device.objects().values()), "the unbound driver left objects"
            test.function.bind()
    finally:
        stop.set()
        for user in users:
            user.join()
    assert len(rounds) > USERS, f"only {len(rounds)} rounds of use"


def refused_reset_harms_nobody(test):
    """A device that was not reset still has the addresses of its queues when it is probed again."""
    test.device.set(keep_alive_ms=1, reset_timeout=0)  # a driver cannot reset without a timeout
    try:
        test.function.unbind()
        for _ in range(150):
            try:
                test.function.bind()
            except OSError as error:
                assert error.errno == errno.EINVAL, f"errno {error.errno}"
            else:
                raise AssertionError("a device without a reset timeout was taken")
    finally:
        test.device.set(keep_alive_ms=1000, reset_timeout=30)
    test.function.bind()
    with uverbs.Context(test.function.uverbs()) as context:
        context.alloc_pd().dealloc()
