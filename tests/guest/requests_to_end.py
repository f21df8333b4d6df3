# SPDX-License-Identifier: GPL-2.0
"""A process asks for the end of an object, and the device does not play along."""

import errno

import ioctl
import requests
import uverbs
from ah_cache import wait_until
from endpoint import Endpoint
from processes import Child
from uapi import error_of

# What a process can ask to end, by the command that does it.
ENDS = {"destroy_qp": "qp", "destroy_cq": "cq", "dereg_mr": "mr"}


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
