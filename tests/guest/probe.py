# SPDX-License-Identifier: GPL-2.0
"""Probing and removing the device."""

import errno
import os
import threading
import time

import module
import pci
import uverbs


def bind_error(function):
    """The errno with which binding fails; None if it does not fail."""
    try:
        function.bind()
    except OSError as error:
        return error.errno
    return None


def missing_bar_is_refused(test):
    """D2: ENODEV, and the driver is still there for the next device."""
    module.load()
    function = test.function
    assert not function.bound(), "the driver took a device that lacks a BAR"
    error = bind_error(function)
    assert error == errno.ENODEV, f"errno {error}"
    module.unload()


missing_bar_is_refused.bare = True


def failed_probe_resets_the_device(test):
    """D3: each probe command fails in turn; the device is reset for that reason; the next works."""
    test.function.unbind()
    tolerated = []
    for nth in range(1, 100):
        test.device.reset_stats()
        seq = test.device.next_seq()
        test.device.fault("*", "status", nth=nth, status="unknown_error")
        error = bind_error(test.function)
        failed = [e["command"] for e in test.device.log(seq) if e.get("status") not in (None, "success")]
        if not failed:
            break  # all commands of a probe have had their turn
        if error is None:
            tolerated.append(failed[0])
            test.function.unbind()
        else:
            resets = test.device.counters()["resets"]
            assert resets["init_err"] == 1, f"command {nth} ({failed[0]}): resets {resets}"
        live = test.device.objects()
        assert not any(live.values()), f"after command {nth} ({failed[0]}) the device holds {live}"
        test.device.clear_faults()
        assert bind_error(test.function) is None, f"no bind after command {nth} ({failed[0]}) had failed"
        test.function.unbind()
    else:
        raise AssertionError("a probe of more than 100 commands")
    assert nth > 5, f"only {nth - 1} commands in a probe"
    assert set(tolerated) <= {"set_feature", "get_stats"}, f"failures that did no harm: {tolerated}"
    if not test.function.bound():
        test.function.bind()


def silent_device_is_tried_again_later(test):
    """A device that does not answer the read of a register in a probe may be up later: the probe is deferred."""
    test.function.unbind()
    for name, register in (("VERSION", 0), ("CONTROLLER_VERSION", 4), ("CAPS", 8)):
        test.device.set(silent_register=register)
        error = bind_error(test.function)
        # What sysfs makes of EPROBE_DEFER.
        assert error == errno.EAGAIN, f"{name} is silent: errno {error}"
        test.device.set(silent_register=2**32 - 1)
        test.function.bind()
        test.function.unbind()
    test.function.bind()


def vectors_come_back(test):
    """D5: rebinding takes no interrupt vector for good, and nothing of the device."""
    before = interrupt_lines()
    for _ in range(100):
        test.function.unbind()
        test.function.bind()
    after = interrupt_lines()
    assert after == before, f"{before} interrupt lines before, {after} after"


def interrupt_lines():
    with open("/proc/interrupts", encoding="ascii") as table:
        return sum(1 for line in table if "efa" in line or "MSIX" in line or "MSI-X" in line)


def reset_is_not_disturbed_by_events(test):
    """Events that come just before a reset are not acknowledged in the midst of it (a violation)."""
    test.device.set(keep_alive_ms=1)
    try:
        for _ in range(test.pick(40, 200)):
            test.function.unbind()
            test.function.bind()
    finally:
        test.device.set(keep_alive_ms=1000)


def module_comes_and_goes(test):
    """rmmod and insmod in turn, and the device works after the last."""
    for _ in range(test.pick(30, 100)):
        module.unload()
        assert not any(test.device.objects().values()), "the unloaded driver left objects"
        module.load()
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        pd.create_ah(uverbs.gid(1)).destroy()
        pd.dealloc()


def unbind_waits_for_nobody(test):
    """A process that holds the device open does not hold up an unbind, and gets nothing more from it."""
    context = uverbs.Context(test.function.uverbs())
    pd = context.alloc_pd()
    handle = pd.create_ah(uverbs.gid(1))
    start = time.monotonic()
    unbinding = threading.Thread(target=test.function.unbind)
    unbinding.start()
    unbinding.join(5)
    waited = unbinding.is_alive()
    try:
        if not waited:
            took = time.monotonic() - start
            assert took < 3, f"the unbind took {took:.1f} s"
            assert not any(test.device.objects().values()), f"the device holds {test.device.objects()}"
            assert fails_with(context.alloc_pd, errno.EIO), "a new PD on a device that is gone"
            # The unbind has destroyed it; the RDMA core lets user space forget it.
            handle.destroy()
    finally:
        context.close()
        unbinding.join()
    assert not waited, "the unbind waited for the process that has the device open"
    test.function.bind()
    with uverbs.Context(test.function.uverbs()) as context:
        context.alloc_pd().dealloc()


def fails_with(call, number):
    try:
        call()
    except OSError as error:
        return error.errno == number
    return False


def unreadable_node_stops_only_itself(test):
    """P5: a user who may not open one device can use the other."""
    nodes = [pci.Function(index).uverbs() for index in range(2)]
    names = [pci.Function(index).rdma() for index in range(2)]
    modes = [os.stat(node).st_mode for node in nodes]
    os.chmod(nodes[0], 0o000)
    os.chmod(nodes[1], 0o666)
    try:
        status = as_nobody(lambda: use_by_name(names))
    finally:
        for node, mode in zip(nodes, modes):
            os.chmod(node, mode)
    assert status == 0, "the readable device does not work (see the program's log)"


def as_nobody(body):
    """Runs body in a process without privileges; its exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            body()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def use_by_name(names):
    from pyverbs.device import Context, get_device_list
    from pyverbs.pd import PD

    listed = {device.name.decode() for device in get_device_list()}
    assert names[1] in listed, f"the library lists {listed}"
    try:
        Context(name=names[0])
    except Exception as error:
        print(f"the other device: {error}", flush=True)
    else:
        raise AssertionError("the unreadable device could be opened")
    with Context(name=names[1]) as context, PD(context):
        pass
