# SPDX-License-Identifier: GPL-2.0
"""A device that carries a command out, and says that it failed."""

import errno

import memory
import module
from endpoint import Endpoint
from processes import pins
from uapi import error_of

STATUS = "unknown_error"


def denied_destroys_wait_for_the_reset(test):
    """The process learns of the failure, nothing is used twice meanwhile, and a reset ends it all.

    The driver cannot know that the object is gone: what belongs to it stays, also when the process
    asks again, and closes its context.
    """
    test.expected_violations = {"qp-unknown", "cq-unknown", "mr-unknown"}
    before, pinned = test.device.objects(), pins()
    end = Endpoint(test.function)
    cq, mr = end.context.create_cq(16), end.pd.reg_mr(end.memory)
    for kind, command, destroy in (
        ("cq", "destroy_cq", cq.destroy), ("mr", "dereg_mr", mr.dereg), ("qp", "destroy_qp", end.qp.destroy),
    ):
        count, held = test.device.objects()[kind], memory.pinned()
        test.device.fault(command, "deny", status=STATUS)
        for attempt in ("first", "second"):
            error = error_of(destroy)
            assert error == errno.EINVAL, f"{command}, the {attempt} time: errno {error}"
            assert test.device.objects()[kind] == count - 1, f"{command}, the {attempt} time: the device has it"
            assert memory.pinned() == held, f"{command}: memory was released that the device may have"
    others_work(test)
    end.context.close()
    nothing_is_left_by_a_reset(test, before, pinned)


def denied_creations_leave_nothing_usable(test):
    """The process gets an error and no object, the next one works, and a reset ends what the device has."""
    test.expected_violations = {"pd-busy", "cq-busy", "uar-busy"}
    before, pinned = test.device.objects(), pins()
    end = Endpoint(test.function)
    for kind, command, create in (
        ("cq", "create_cq", lambda: end.context.create_cq(16)),
        ("qp", "create_qp", lambda: end.pd.create_qp(end.cq)),
        ("mr", "reg_mr", lambda: end.pd.reg_mr(end.memory)),
    ):
        count, held = test.device.objects()[kind], memory.pinned()
        test.device.fault(command, "deny", status=STATUS)
        error = error_of(create)
        assert error == errno.EINVAL, f"{command}: errno {error}"
        assert test.device.objects()[kind] == count + 1, f"{command} was not carried out"
        assert memory.pinned() == held, f"{command}: {memory.pinned() - held} bytes more are pinned"
        create()
    exchange(end)
    end.qp.unmap()  # what is mapped keeps the context open
    end.cq.unmap()
    end.context.close()
    others_work(test)
    nothing_is_left_by_a_reset(test, before, pinned)


def exchange(end):
    """A message of an endpoint to itself: it arrives, and completes where it should."""
    end.put(b"\xa5" * 64)
    end.receive(slot=1)
    end.send(end)
    assert sorted(end.statuses(2)) == ["ok", "ok"]
    assert end.get(64, slot=1) == b"\xa5" * 64, "the message did not arrive"


def others_work(test):
    end = Endpoint(test.function)
    exchange(end)
    end.close()


def nothing_is_left_by_a_reset(test, before, pinned):
    module.reload()
    assert test.device.objects() == before, f"after the reset {test.device.objects()}, before {before}"
    acquired, released = (now - then for now, then in zip(pins(), pinned))
    assert acquired == released, f"{acquired} pages pinned, {released} released"
    others_work(test)
