# SPDX-License-Identifier: GPL-2.0
"""A process asks for the end of an object, and the device does not play along."""

import errno
import signal

import ioctl
import memory
import module
import queues
import requests
import uverbs
from ah_cache import wait_until
from endpoint import Endpoint
from processes import Child
from uapi import error_of

# What a process can ask to end, by the command that does it.
ENDS = {"destroy_qp": "qp", "destroy_cq": "cq", "dereg_mr": "mr"}
# The object whose method ends it by ioctl(), and the length of the answer.
METHODS = {"destroy_qp": (ioctl.QP, 4), "destroy_cq": (ioctl.CQ, 8), "dereg_mr": (ioctl.MR, 0)}
DESTROY = 1


def dead_device_ends_the_object(test):
    """No later try could succeed: the process is rid of the object, which the device has until its reset."""
    for mute in ENDS:
        end = Endpoint(test.function)
        end.qp.unmap()
        end.cq.unmap()
        test.device.fault(mute, "mute")
        for command, destroy in zip(ENDS, (end.qp.destroy, end.cq.destroy, end.mr.dereg)):
            error = error_of(destroy)
            assert error == 0, f"{command} of a device that is mute since {mute}: errno {error}"
        end.context.close()
        left = test.device.objects()
        assert left[ENDS[mute]] == 1, f"the device carried {mute} out: {left}"
        test.device.clear_faults()
        test.function.unbind()
        left = test.device.objects()
        assert not any(left.values()), f"after the reset {left}"
        test.function.bind()
    Endpoint(test.function).close()


def refused_write_in_an_ioctl_can_be_retried(test):
    """The form of a request, with a private part that says nothing or without, makes no difference."""
    end = Endpoint(test.function)
    end.qp.unmap()
    end.cq.unmap()
    for private in (b"", bytes(8)):
        for command, request, handle in (
            ("destroy_qp", requests.DESTROY_QP, end.qp.handle), ("destroy_cq", requests.DESTROY_CQ, end.cq.handle),
        ):
            before = test.device.objects()
            test.device.fail(command)
            error = error_of(lambda: ioctl.write(end.context, request, {"handle": handle}, private))
            assert error == errno.EINVAL, f"{command} that the device refuses: errno {error}"
            assert test.device.objects() == before, f"{command}: {test.device.objects()}, before {before}"
            ioctl.write(end.context, request, {"handle": handle}, private)
            kind = ENDS[command]
            assert test.device.objects()[kind] == before[kind] - 1, f"{command}: the retry did nothing"
        end.cq = end.context.create_cq(64)
        end.qp = end.pd.create_qp(end.cq)
    end.close()


def number_that_was_not_taken_back_is_refused(test):
    """The device says it keeps an object, and hands its number out again: EIO, once, and then all is well."""
    # The driver tries to end what the device says it has.
    test.expected_violations = {"cq-unknown", "pd-unknown", "uar-unknown"}
    node = test.function.uverbs()

    def leave_cq(_say):
        uverbs.Context(node).create_cq(64)

    def leave_pd(_say):
        uverbs.Context(node).alloc_pd()

    def leave_uar(_say):
        uverbs.Context(node)

    with uverbs.Context(node) as context:
        for command, leave, make in (
            ("destroy_cq", leave_cq, lambda: context.create_cq(64).destroy()),
            ("dealloc_pd", leave_pd, lambda: context.alloc_pd().dealloc()),
            ("dealloc_uar", leave_uar, lambda: uverbs.Context(node).close()),
        ):
            before = test.device.objects()
            test.device.fault(command, "deny", status="unknown_error")
            Child(leave).end()
            assert not test.device.faults(), f"no {command} was sent"
            # Right after the driver asked again: the next time is not while the number is handed out.
            asked = test.device.seen(command)
            assert wait_until(lambda: test.device.seen(command) >= asked + 2), f"{command} was not tried again"
            errors = [error_of(make) for _ in range(3)]
            assert errors == [errno.EIO, 0, 0], f"after {command}: {errors}"
            # What the old object was made from follows.
            assert wait_until(lambda: test.device.objects() == before), f"{test.device.objects()}, before {before}"


def refused_method_can_be_retried(test):
    """A process that asks by the object's own method is told of a refusal, as one that writes is."""
    end = Endpoint(test.function)
    end.qp.unmap()
    end.cq.unmap()
    for command, handle in zip(ENDS, (end.qp.handle, end.cq.handle, end.mr.handle)):
        kind, length = METHODS[command]
        attributes = [(0, ioctl.Handle(handle))] + ([(1, ioctl.Out(length))] if length else [])
        before = test.device.objects()
        test.device.fail(command)
        error = error_of(lambda: ioctl.call(end.context.fd, kind, DESTROY, attributes))
        assert error == errno.EINVAL, f"{command} that the device refuses: errno {error}"
        assert test.device.objects() == before, f"{command}: {test.device.objects()}, before {before}"
        ioctl.call(end.context.fd, kind, DESTROY, attributes)
        assert test.device.objects()[ENDS[command]] == before[ENDS[command]] - 1, f"{command}: the retry did nothing"
    end.pd.dealloc()
    end.context.close()


def refusal_stays_with_the_driver_where_nobody_asks(test):
    """The core ends an object in each way there is, and the device refuses: were the core told, it would warn.

    How a driver can tell these ways from a request is not in the core's contract with drivers. So
    this tells of a kernel in which it is not so any more.
    """
    before = test.device.objects()
    for way in (by_closing, by_exit, by_kill, by_failing_late):
        refuse_each(test, way)
    module.reload()
    assert test.device.objects() == before, f"after the reset {test.device.objects()}"
    Endpoint(test.function).close()


def refusal_at_unbinding_stays_with_the_driver(test):
    """The same where the device goes away from under a process that has it open."""
    refuse_each(test, by_unbinding)
    Endpoint(test.function).close()


def refuse_each(test, way):
    for command in ENDS:
        test.device.fail(command)
        way(test, command)
        assert not test.device.faults(), f"{way.__name__}: no {command} was sent"
        assert not test.log.matching("WARNING"), f"{way.__name__}, {command}: the kernel warned"


def by_closing(test, _command):
    end = Endpoint(test.function)
    end.qp.unmap()
    end.cq.unmap()
    end.context.close()


def by_exit(test, _command):
    Child(lambda _say: Endpoint(test.function)).end()


def by_kill(test, _command):
    def body(say):
        end = Endpoint(test.function)
        say("ready")
        signal.pause()
        end.close()

    child = Child(body)
    assert child.heard() == "ready"
    child.end(signal.SIGKILL)


def by_unbinding(test, _command):
    end = Endpoint(test.function)
    end.qp.unmap()
    end.cq.unmap()
    test.function.unbind()
    end.context.close()
    test.function.bind()


def by_failing_late(test, command):
    """The object is there when its handle cannot be told, since the core's part of the answer cannot be written."""
    end = Endpoint(test.function)
    room = memory.Memory(2 * memory.PAGE, prot=memory.READ)
    room.protect(memory.READ | memory.WRITE, start=memory.PAGE)
    fd, border = end.context.fd, room.address + memory.PAGE

    def create_qp():
        core = {
            "pd": end.pd.handle, "send_cq": end.cq.handle, "recv_cq": end.cq.handle, "max_send_wr": 64,
            "max_recv_wr": 64, "max_send_sge": 1, "max_recv_sge": 1, "qp_type": uverbs.DRIVER,
        }
        driver = {"rq_ring_size": 64 * queues.RECV_BYTES, "sq_ring_size": 64 * 64}
        requests.CREATE_QP.send(fd, core, driver, at=border - requests.CREATE_QP.answer.size)

    def create_cq():
        driver = {"cq_entry_size": 16, "num_sub_cqs": end.context.limits.sub_cqs_per_cq}
        cqe, answer = ioctl.Out(4, border - 4), ioctl.Out(ioctl.CREATE_CQ.driver_answer.size)
        ioctl.CREATE_CQ.message({"cqe": 64}, driver, cqe, answer).send(fd)

    def reg_mr():
        core = {"start": end.memory.address, "length": memory.PAGE, "iova": end.memory.address, "pd": end.pd.handle,
                "access": uverbs.LOCAL_WRITE}
        requests.REG_MR.send(fd, core, at=border - requests.REG_MR.answer.size)

    create = {"destroy_qp": create_qp, "destroy_cq": create_cq, "dereg_mr": reg_mr}[command]
    error = error_of(create)
    assert error == errno.EFAULT, f"{create.__name__}: errno {error}"
    end.close()
