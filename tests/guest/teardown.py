# SPDX-License-Identifier: GPL-2.0
"""The end of objects, processes and devices, when the device does not let go or memory is short."""

import contextlib
import ctypes
import errno
import os
import re
import signal
import threading
import time

import memory
import module
import pci
import uverbs
from endpoint import Endpoint
from processes import Child, pins
from uapi import error_of

FAILSLAB = "/sys/kernel/debug/failslab"
TRACING = "/sys/kernel/debug/tracing"
# The objects whose end a device can refuse, by the command that it refuses.
ENDS = ("destroy_qp", "destroy_cq", "dereg_mr")
REBOOT = 0x1234567
# What the drivers say of a command that the device refuses.
REFUSAL = re.compile(
    r"(?P<command>CREATE_CQ|CREATE_QP|REG_MR)\b.*?"
    r"(?:failed: status \d+ \((?P<status>[a-z ]+)\), command id 0x(?P<id>[0-9a-f]+)|err -22)"
)
MANY = 1_000_000  # allocations, more than a probe asks for


def refused_destroy_can_be_retried(test):
    """D6: the device refuses once: the request fails, its memory stays, and the retry succeeds."""
    pinned = pins()
    end = Endpoint(test.function)
    end.qp.unmap()
    end.cq.unmap()
    for command, destroy in zip(ENDS, (end.qp.destroy, end.cq.destroy, end.mr.dereg)):
        before, held = test.device.objects(), memory.pinned()
        test.device.fail(command)
        error = error_of(destroy)
        assert error == errno.EINVAL, f"{command} that the device refuses: errno {error}"
        assert test.device.objects() == before, f"{command}: {test.device.objects()}, before {before}"
        assert memory.pinned() == held, f"{command}: {held - memory.pinned()} bytes were released"
        destroy()
    end.pd.dealloc()
    end.context.close()
    acquired, released = (now - then for now, then in zip(pins(), pinned))
    assert acquired == released, f"{acquired} pages pinned, {released} released"


def refused_destroy_at_exit_waits_for_the_reset(test):
    """D6: when a process ends nothing can be returned: nothing warns, and the reset ends it all."""
    before, pinned = test.device.objects(), pins()
    for command in ENDS:
        test.device.fail(command)

        def body(_say):
            Endpoint(test.function)

        Child(body).end()
        assert not test.device.faults(), f"no {command} was sent"
    module.reload()
    assert not test.log.matching("WARNING"), "the kernel warned"
    assert test.device.objects() == before, f"after the reset {test.device.objects()}"
    acquired, released = (now - then for now, then in zip(pins(), pinned))
    assert acquired == released, f"{acquired} pages pinned, {released} released"
    end = Endpoint(test.function)
    end.close()


def registration_without_memory(test):
    """D1: each allocation of ib_register_device fails in turn: the probe fails, or does without; the next works.

    Earlier allocations are left alone: when those for an interrupt fail, the kernel itself warns.
    """
    for name, value in (("verbose", "0"), ("ignore-gfp-wait", "N")):
        pci.write(f"{FAILSLAB}/{name}", value)
    test.function.unbind()
    count = allocations_since_registration(test.function)
    test.function.unbind()
    _, left = bind_with_failure(test.function, MANY)
    last = MANY - left
    assert 20 < count < last, f"{count} of {last} allocations from the registration on"
    failed = 0
    # Not every bind allocates alike: keep away from what comes before.
    for nth in range(last - count + count // 10, last + 1, test.pick(7, 1)):
        test.function.unbind()
        error, _ = bind_with_failure(test.function, nth)
        if error:
            failed += 1
            live = test.device.objects()
            assert not any(live.values()), f"allocation {nth} of {last} failed: the device holds {live}"
            assert bind_with_failure(test.function, 0)[0] == 0, f"allocation {nth} failed: no second probe"
    assert failed >= 3, f"{failed} probes failed"
    test.function.unbind()
    test.function.bind()
    Endpoint(test.function).close()


def allocations_since_registration(function):
    """How many allocations a bind makes from ib_register_device on."""
    for name, value in (
        ("set_ftrace_pid", str(os.getpid())), ("set_ftrace_filter", "should_failslab"),
        ("set_ftrace_filter", "ib_register_device"), ("current_tracer", "function"), ("tracing_on", "1"),
    ):
        with open(f"{TRACING}/{name}", "a", encoding="ascii") as setting:
            setting.write(value)
    function.bind()
    pci.write(f"{TRACING}/tracing_on", "0")
    with open(f"{TRACING}/trace", encoding="ascii") as trace:
        lines = trace.read().splitlines()
    pci.write(f"{TRACING}/current_tracer", "nop")
    start = next(number for number, line in enumerate(lines) if ": ib_register_device " in line)
    return sum(": should_failslab " in line for line in lines[start:])


def bind_with_failure(function, nth):
    """Binds while the nth allocation fails; the errno, and how many allocations were left to go."""
    # Opened before, since to open a file takes memory, too.
    control, driver = os.open("/proc/thread-self/fail-nth", os.O_RDWR), os.open(f"{pci.DRIVER}/bind", os.O_WRONLY)
    os.pwrite(control, str(nth).encode(), 0)
    error = error_of(lambda: os.write(driver, function.address.encode()))
    left = int(os.pread(control, 32, 0))
    os.pwrite(control, b"0", 0)
    os.close(control)
    os.close(driver)
    return error, left


def reboot_under_traffic(test):
    """D4: the machine is rebooted while processes send, and packets, completions and events are under way.

    The runner looks at what the device saw of it, and did after it.
    """
    for _ in range(3):
        assert Child(lambda say: send_until_the_end(test, say)).heard() == "ready"
    test.device.reset_stats()
    test.device.set(keep_alive_ms=1)
    test.device.network(delay_ms=20, repeat=1_000_000)
    test.device.fault("reg_mr", "delay", count=0, ms=30)
    time.sleep(0.5)
    ctypes.CDLL(None).reboot(REBOOT)


def send_until_the_end(test, say):
    """Sends to itself, and registers memory, whatever becomes of it."""
    end = Endpoint(test.function, rnr_retry=7)
    end.reach_itself()
    say("ready")
    while True:
        with contextlib.suppress(OSError, AssertionError):
            end.receive()
            end.send(end)
            end.wait(2, seconds=0.2)
            end.pd.reg_mr(end.memory).dereg()


def failed_commands_are_named_rightly(test):
    """D7: many threads whose commands fail; each message names its own command, id and status."""
    refused = {"create_cq": "unknown_error", "create_qp": "illegal_parameter", "reg_mr": "malformed_request"}
    rounds = test.pick(10, 200)
    wrong = []
    start = threading.Barrier(11 * len(refused))

    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        region = memory.Memory(memory.PAGE)
        sent, first = test.device.seen(*refused), test.device.next_seq()
        for command, status in refused.items():
            test.device.fail(command, count=0, status=status)
        calls = {
            "create_cq": lambda: context.create_cq(16), "create_qp": lambda: pd.create_qp(cq),
            "reg_mr": lambda: pd.reg_mr(region),
        }

        def work(name):
            start.wait()
            for _ in range(rounds):
                error = error_of(calls[name])
                if error != errno.EINVAL:
                    wrong.append(f"{name}: errno {error}")

        threads = [threading.Thread(target=work, args=(name,)) for name in list(calls) * 11]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        test.device.clear_faults()
        counts = [now - then for now, then in zip(test.device.seen(*refused), sent)]
        cq.destroy()
        pd.dealloc()
    assert not wrong, wrong[:3]
    assert counts == [11 * rounds] * 3, counts
    messages = [found for line in test.log.read() if (found := REFUSAL.search(line))]
    assert 3 <= len(messages) < 100, f"{len(messages)} messages, which are to be there, and rate-limited"
    assert len({found["command"] for found in messages}) > 1, "only one of the commands is named"
    seen = [(e["command"], e["status"].replace("_", " "), e["id"]) for e in test.device.log(first) if "id" in e]
    for found in messages:
        # The C driver does not tell status and id.
        told = [found["command"].lower(), found["status"], found["id"] and int(found["id"], 16)]
        right = any(all(mine in (None, its) for mine, its in zip(told, entry)) for entry in seen)
        assert right, f"the device saw no such command: {found[0]}"


def removal_under_traffic(test):
    """D11: the device is unbound, or unplugged, while processes send and commands are in flight."""
    # The RDMA core destroys queue pairs before it takes their doorbells from the processes.
    test.expected_violations = {"doorbell-unowned"}

    for unplug in (False, True) * test.pick(2, 10):
        users = [Child(lambda say: send_until_the_end(test, say)) for _ in range(4)]
        for user in users:
            assert user.heard() == "ready"
        time.sleep(0.2)
        path = test.function.path
        end = (lambda: pci.write(f"{path}/remove", "1")) if unplug else test.function.unbind
        removal = threading.Thread(target=end)
        removal.start()
        removal.join(20)
        waited = removal.is_alive()
        left = test.device.objects()
        for user in users:
            user.end(signal.SIGKILL)
        removal.join()
        assert not waited, f"the {'unplugging' if unplug else 'unbinding'} waited for the processes"
        assert not any(left.values()), f"left on the device: {left}"
        if unplug:
            pci.write("/sys/bus/pci/rescan", "1")
        if not test.function.bound():
            test.function.bind()
        Endpoint(test.function).close()


def surprise_removal_under_traffic(test):
    """D11: the device is gone at once, while processes send and commands are in flight.

    No access reaches it any more: no register is read, no command completes, no reset is
    acknowledged. The driver notices, lets the processes go, and can be unloaded.
    """
    test.device.fault("dereg_mr", "delay", count=0, ms=50)
    users = [Child(lambda say: send_until_the_end(test, say)) for _ in range(4)]
    for user in users:
        assert user.heard() == "ready"
    time.sleep(0.5)
    context = uverbs.Context(test.function.uverbs())
    with contextlib.suppress(TimeoutError):
        test.device.ask("quit")
    error = error_of(context.alloc_pd)
    assert error in (errno.ETIME, errno.ENODEV, errno.EIO), f"a command to a device that is gone: errno {error}"
    for user in users[:2]:
        user.end(signal.SIGKILL)
    removal = threading.Thread(target=test.function.unbind)
    removal.start()
    removal.join(30)
    assert not removal.is_alive(), "the unbinding waits for the device, or for the processes"
    for user in users[2:]:
        user.end(signal.SIGKILL)
    error = error_of(test.function.bind)
    assert error, "a device that is gone was taken"
    context.close()
    module.unload()
