# SPDX-License-Identifier: GPL-2.0
"""Removal of the driver from under processes that use it."""

import contextlib
import errno
import os
import subprocess
import threading
import time

import module
import pci
import uverbs
from endpoint import Endpoint
from flood import Flood
from processes import Child
from uapi import error_of

USERS = 6
# What the device writes to of itself.
WRITTEN_LATE = {"acq", "aenq", "eq", "cq"}


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


def moved_device_ends_its_users_and_lives_on(test):
    """The device moves to another network namespace: who had it open loses it, as when it is removed, and it
    works for the next one once it is back."""
    name = test.function.rdma()
    end = Endpoint(test.function, channel=True)
    rdma("system", "set", "netns", "exclusive")
    try:
        with another_namespace() as namespace:
            rdma("dev", "set", name, "netns", namespace)
            # The RDMA core ends objects first and mappings then, and until then a send ring is in use.
            wait_for(lambda: not left(test) - {"eq"}, "objects are left on the device", seconds=10)
            assert error_of(end.context.alloc_pd) == errno.EIO, "a context that lost its device"
            assert name not in rdma("dev", "show")
        # A device whose namespace ends goes back to the first one.
        wait_for(lambda: name in rdma("dev", "show"), "the device did not come back")
    finally:
        rdma("system", "set", "netns", "shared")
    end.context.close()
    end = Endpoint(test.function)
    end.reach_itself()
    end.close()


def left(test):
    """The kinds of objects that the device has."""
    return {kind for kind, count in test.device.objects().items() if count}


@contextlib.contextmanager
def another_namespace(name="efa-test"):
    """A network namespace with a name."""
    os.makedirs("/run/netns", exist_ok=True)

    def body(say):
        os.unshare(os.CLONE_NEWNET)
        say("there")
        time.sleep(600)

    child = Child(body)
    assert child.heard() == "there"
    path = f"/run/netns/{name}"
    with open(path, "w", encoding="ascii"):
        pass
    subprocess.run(["mount", "--bind", f"/proc/{child.process}/ns/net", path], check=True)
    try:
        yield name
    finally:
        subprocess.run(["umount", path], check=True)
        os.unlink(path)
        child.end(9)


def rdma(*words):
    result = subprocess.run(["rdma", *words], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"rdma {' '.join(words)}: {result.stderr.strip()}"
    return result.stdout


def reset_behind_the_driver_costs_one_timeout(test):
    """The function is reset while processes use it: the device knows nothing any more. One command is waited
    for in vain, then all fail at once, what is open can be closed, and binding again makes it work."""
    end = Endpoint(test.function, channel=True)
    errors = test.function.counter("no_completion_cmds")
    pci.write(f"{test.function.path}/reset", "1")
    # The driver cannot know, and the process goes on ringing.
    test.expected_violations |= {"doorbell-without-queue", "doorbell-unowned"}
    assert error_of(end.context.alloc_pd) == errno.ETIME
    end.qp.send_queue.ring()
    assert error_of(end.context.alloc_pd) == errno.ENODEV
    assert test.function.counter("no_completion_cmds") == errors + 1
    end.context.close()
    test.function.unbind()
    assert not [line for line in test.log.read() if "not reset" in line], "memory of the driver is lost"
    test.function.bind()
    end = Endpoint(test.function)
    end.reach_itself()
    end.close()


def nobody_else_gets_the_group_before_the_end(test):
    """Until the device was stopped, nobody may decide what its DMA addresses mean: the IOMMU's domain of its group
    stays as it is while a slow device is unbound, and can be changed afterwards."""
    group = f"{test.function.path}/iommu_group/type"
    before = pci.read(group)
    test.device.fault("destroy_eq", "delay", ms=5000)
    unbinding = threading.Thread(target=test.function.unbind)
    unbinding.start()
    tries = []
    while unbinding.is_alive():
        tries.append(error_of(lambda: pci.write(group, "identity")))
        time.sleep(0.05)
    unbinding.join()
    # The last one may have come after the end of the unbinding.
    assert len(tries) > 20 and set(tries[:-1]) == {errno.EPERM}, f"the domain was changed: {tries}"
    assert not any(test.device.objects().values()), "the unbound driver left objects"
    pci.write(group, "identity")
    pci.write(group, before)
    test.function.bind()
    with uverbs.Context(test.function.uverbs()) as context:
        context.alloc_pd().dealloc()


def refused_reset_harms_nobody(test):
    """A device that was not reset still writes to its queues: nobody else ever gets their memory.

    What it knows stays as it is while others take all the memory they can get, and what it then
    writes late reaches none of them: a completion of a command, an asynchronous event, an event of
    a completion queue, and the completion of a work request.
    """
    lose_objects(test)
    test.device.keep_alive(False)
    test.device.fault("destroy_eq", "hold")
    test.device.set(reset_timeout=0)  # a driver cannot reset without a timeout
    try:
        test.function.unbind()
        known = test.device.reach()
        kinds = {what for what, _, _ in known}
        assert kinds == {"register_answer", "aq", "acq", "aenq", "eq", "cq", "qp", "mr"}, kinds
        test.function.set_bus_master(True)
        flood = Flood()
        assert not (changed := changes(known, test.device.reach())), f"given to others: {changed}"
        write_late(test, known)
        assert not (pieces := flood.changed()), f"{pieces} pieces of memory of others were written to"
        known = test.device.reach()
        refuse_to_bind(test)
        flood = Flood()
        # Each probe says anew where answers to register reads go.
        changed = changes(known, test.device.reach()) - {"register_answer"}
        assert not changed, f"given to others after another probe: {changed}"
        assert not (pieces := flood.changed()), f"{pieces} pieces of memory of others were written to"
    finally:
        test.device.clear_faults()
        test.device.keep_alive(True)
        test.device.set(reset_timeout=30)
    test.function.bind()
    assert not {"cq", "qp", "mr"} & {what for what, _, _ in test.device.reach()}, "the reset ended nothing"
    Endpoint(test.function).close()


def timed_out_creation_keeps_its_memory(test):
    """The device makes a completion queue and does not say so: nobody else gets the ring, which it knows, until
    it was reset, and then it is free."""
    context = uverbs.Context(test.function.uverbs())
    test.device.fault("create_cq", "hold")
    error = error_of(lambda: context.create_cq(128))
    assert error == errno.ETIME, f"a completion that does not come: errno {error}"
    known = {what: digest for what, digest in test.device.reach().items() if what[0] == "cq"}
    assert known, "the device made no completion queue"
    flood = Flood()
    assert not (changed := changes(known, test.device.reach())), f"given to others: {changed}"
    context.close()
    assert not (changed := changes(known, test.device.reach())), f"given to others by its end: {changed}"
    test.device.clear_faults()
    test.function.unbind()
    assert not (pieces := flood.changed()), f"{pieces} pieces of memory of others were written to"
    assert not test.log.matching("is lost"), "memory was not freed by the reset"
    test.function.bind()
    Endpoint(test.function).close()


def lose_objects(test):
    """A process ends whose objects the device does not take back; one completion is under way."""
    for command in ("destroy_qp", "destroy_cq", "dereg_mr"):
        test.device.fail(command, count=0)
    test.device.hold_completions(True)

    def body(say):
        end = Endpoint(test.function)
        end.receive()
        end.send(end)
        say("sent")

    child = Child(body)
    assert child.heard() == "sent"
    child.end()


def write_late(test, known):
    """Lets the device write to each queue that it still knows."""
    test.device.clear_faults()  # lets the completion go that it holds
    wait_for(lambda: "acq" in changes(known, test.device.reach()), "the late completion did not come")
    test.device.event("keep_alive")
    for number in {number for what, number, _ in known if what == "eq"}:
        test.device.completion_event(number, 0)
    test.device.hold_completions(False)
    assert changes(known, test.device.reach()) == WRITTEN_LATE


def changes(before, now):
    """Which kinds of memory that the device knew hold something else now, or are not known any more."""
    return {what[0] for what, digest in before.items() if now.get(what) != digest}


def wait_for(condition, otherwise, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.2)


def refuse_to_bind(test):
    for _ in range(test.pick(20, 150)):
        try:
            test.function.bind()
        except OSError as error:
            assert error.errno == errno.EINVAL, f"errno {error.errno}"
        else:
            raise AssertionError("a device without a reset timeout was taken")
