# SPDX-License-Identifier: GPL-2.0
"""What the device refused to take back is asked for again: by the driver itself, and at nobody's expense."""

import time

import memory
import uverbs
from ah_cache import wait_until
from processes import Child

HANDLES = 200
# More than the longest time between two tries.
RETRY_SECONDS = 20


def failed_dealloc_pd_is_retried(test):
    """No error reaches user space, and the PD is given back when the device takes it, without another call."""
    with uverbs.Context(test.function.uverbs()) as context:
        before = test.device.objects()["pd"]
        pd = context.alloc_pd()
        test.device.fail("dealloc_pd", count=0)
        pd.dealloc()
        assert test.device.objects()["pd"] == before + 1, "the fault did not hit"
        test.device.clear_faults()
        assert all_is_taken_back(test), "the PD was not given back"


def others_do_not_pay_for_a_refusal(test):
    """A domain with many handles that the device keeps: calls of another process send no more than before."""
    test.device.fail("destroy_ah", count=0)
    Child(lambda _say: use_many_handles(test)).end()
    with uverbs.Context(test.function.uverbs()) as context:
        region = memory.Memory(memory.PAGE)
        pd = cost(test, context.alloc_pd)
        mr = cost(test, lambda: pd.reg_mr(region))
        cq = cost(test, lambda: context.create_cq(16))
        qp = cost(test, lambda: pd.create_qp(cq))
        handle = cost(test, lambda: pd.create_ah(uverbs.gid(1)))
        for end in (handle.destroy, qp.destroy, cq.destroy, mr.dereg, pd.dealloc):
            cost(test, end)
        cost(test, lambda: uverbs.Context(test.function.uverbs()).close(), own=2)
    test.device.clear_faults()
    assert all_is_taken_back(test), f"left on the device: {test.device.objects()}"


def cost(test, call, own=1):
    """Calls, and looks at how many commands the device has been sent meanwhile, with those that the driver sends by itself."""
    first = test.device.next_seq()
    result = call()
    sent = [entry["command"] for entry in test.device.log(first)]
    assert len(sent) <= own + 2, f"{own} commands became {sent}"
    return result


def use_many_handles(test):
    context = uverbs.Context(test.function.uverbs())
    pd = context.alloc_pd()
    for number in range(HANDLES):
        pd.create_ah(uverbs.gid(number))
    return pd


def owner_does_not_wait_for_all_its_handles(test):
    """Freeing a domain asks again for a few of many parked handles; the others follow without a call."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handles = [pd.create_ah(uverbs.gid(number)) for number in range(HANDLES)]
        test.device.fail("destroy_ah", count=0)
        for handle in handles:
            handle.destroy()
        assert test.device.objects()["ah"] == HANDLES, "the device let go"
        test.device.clear_faults()
        sent = test.device.seen("destroy_ah")
        # So that what the driver does by itself takes a while.
        test.device.fault("destroy_ah", "delay", count=0, ms=50)
        pd.dealloc()
        sent = test.device.seen("destroy_ah") - sent
        assert 0 < sent < HANDLES / 2, f"{sent} of {HANDLES} handles were destroyed while the call ran"
        test.device.clear_faults()
        assert all_is_taken_back(test), f"left on the device: {test.device.objects()}"


def refusing_device_is_asked_less_and_less_often(test):
    """Each refusal doubles the time to the next try, up to ten seconds; something new is tried soon."""
    with uverbs.Context(test.function.uverbs()) as context:
        first, second = context.alloc_pd(), context.alloc_pd()
        test.device.fail("dealloc_pd", count=0)
        first.dealloc()
        start, asked = time.monotonic(), test.device.seen("dealloc_pd")
        times = []
        while len(times) < 6:
            asked_again = wait_until(lambda: test.device.seen("dealloc_pd") > asked + len(times), seconds=30)
            assert asked_again, f"asked at {times} only"
            times.append(time.monotonic() - start)
        # 0.1, 0.3, 0.7, 1.5, 3.1, 6.3 seconds, or later.
        assert times[5] > 5, f"asked at {times}"
        # The next try is in 6.4 seconds.
        second.dealloc()
        start, asked = time.monotonic(), test.device.seen("dealloc_pd")
        assert wait_until(lambda: test.device.seen("dealloc_pd") > asked), "what is new was not tried"
        assert time.monotonic() - start < 4, f"what is new was tried after {time.monotonic() - start:.1f} s"
        test.device.clear_faults()
        assert all_is_taken_back(test), f"left on the device: {test.device.objects()}"


def full_quarantine_does_not_hold_up_an_unbind(test):
    """Unbound with many objects that the device keeps, and while it is asked for one of them: the reset ends all."""
    for command in ("destroy_ah", "destroy_qp", "destroy_cq", "dereg_mr", "dealloc_pd", "dealloc_uar"):
        test.device.fail(command, count=0)
    for _ in range(3):
        Child(lambda _say: use_many_handles(test)).end()
        Child(lambda _say: use_all_objects(test)).end()
    test.device.clear_faults()
    # Destroying one takes longer than the time to the next try.
    test.device.fault("*", "delay", count=0, ms=100)
    asked = test.device.seen("destroy_ah")
    assert wait_until(lambda: test.device.seen("destroy_ah") > asked), "nothing is tried again"
    start = time.monotonic()
    test.function.unbind()
    took = time.monotonic() - start
    left = test.device.objects()
    test.device.clear_faults()
    assert not any(left.values()), f"after the reset {left}"
    assert took < 20, f"the unbinding took {took:.1f} s"
    test.function.bind()


def use_all_objects(test):
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(16)
        pd.reg_mr(memory.Memory(memory.PAGE))
        pd.create_qp(cq)


def all_is_taken_back(test):
    """Waits, without a call to the driver, until the device has nothing of any process any more."""
    kinds = ("ah", "qp", "cq", "mr", "pd")
    return wait_until(lambda: not any(test.device.objects()[kind] for kind in kinds), RETRY_SECONDS)


def refusal_is_said_once(test):
    """A command that gives something back is refused, and its tries again: one line says what became of the object."""
    with uverbs.Context(test.function.uverbs()):
        test.device.fail("dealloc_uar", count=3)
    assert wait_until(lambda: not test.device.objects()["uar"]), "not given back"
    assert not test.device.faults(), "it was not refused so often"
    said = test.log.matching("was not taken back")
    assert len(said) == 1, said
