# SPDX-License-Identifier: GPL-2.0
"""Answers of the device that the kernel's C driver takes, whatever they say: so does ours."""

import contextlib
import os

import comp_cntr
import ioctl
import memory
import uverbs
from endpoint import Endpoint, pair
from events import event_comes
from identity import output
from regions import rebound

DEPTH = 64
SILENT_RESET = {"reads_during_reset": False, "reset_timeout": 5}
USUAL_RESET = {"reads_during_reset": True, "reset_timeout": 30}
# Reading and writing memory, and nothing else that a device may be able to do.
RDMA_CAPS = 1 << 0 | 1 << 3


@contextlib.contextmanager
def told(test, **fields):
    """The driver is told other features than the device has."""
    test.function.unbind()
    test.device.fault("get_feature", "answer", count=0, fields=fields)
    try:
        test.function.bind()
        test.device.clear_faults()
        yield
    finally:
        test.device.clear_faults()
        if test.function.bound():
            test.function.unbind()
        test.function.bind()


def depth_of_a_queue_is_what_was_asked_for(test):
    """C never looks at the depth that the device says a CQ got."""
    with uverbs.Context(test.function.uverbs()) as context:
        for depth in (0, 1, 2 * DEPTH, 65535):
            test.device.fault("create_cq", "answer", fields={"sub_cq_actual_depth": depth})
            driver = {"cq_entry_size": 16, "num_sub_cqs": context.limits.sub_cqs_per_cq}
            core, _ = ioctl.CREATE_CQ.send(context.fd, {"cqe": DEPTH}, driver)
            assert core.cqe == DEPTH, f"{core.cqe} entries, where the device said {depth}"
            uverbs.requests.DESTROY_CQ.send(context.fd, {"handle": core.handle})


def any_mtu_is_taken(test):
    """Below what verbs have a name for, it is called the smallest that has one."""
    for mtu in (0, 255):
        with told(test, mtu=mtu):
            said = output("ibv_devinfo", "-d", test.function.rdma())
            lines = [line.split(":")[1].split()[0] for line in said.splitlines() if "active_mtu" in line]
            assert lines == ["256"], f"an MTU of {mtu} is {lines}"


def doorbell_bar_is_named_by_a_byte(test):
    """C keeps the low byte of the BAR's number."""
    with told(test, db_bar=0x7704):
        end = Endpoint(test.function)
        end.reach_itself()
        end.close()


def halves_are_kept_that_c_keeps(test):
    """C makes event queues of a depth of 16 bits, and tells processes of so many inline bytes."""
    first = test.device.next_seq()
    with told(test, max_eq_depth=0x7701_0010, inline_buf_size=0x7701_0020):
        made = [entry for entry in test.device.log(first) if entry["command"] == "create_eq"]
        assert made and all(entry["depth"] == 16 for entry in made), f"event queues: {made}"
        with uverbs.Context(test.function.uverbs()) as context:
            assert context.limits.inline_buf_size == 0x20


def limits_are_the_devices_to_judge(test):
    """A device tells no limits of regions and counters, and few capabilities, and has more."""
    with told(test, max_mr_pages=0, device_caps=RDMA_CAPS, max_event_counters=0, event_counter_max_val=0,
              supported_event_counter_qp_events=0):
        scattered = memory.Scattered(64)
        end = Endpoint(test.function, rnr_retry=3)
        end.pd.reg_mr(scattered).dereg()
        assert end.qp.query(uverbs.RNR_RETRY).rnr_retry == 3
        end.context.create_cq(DEPTH, wide_ids=True).destroy()
        counter = comp_cntr.Counter(end.context)
        counter.attach(end.qp, comp_cntr.SEND)
        counter.modify(comp_cntr.COMPLETIONS, comp_cntr.SET, 100)
        end.reach_itself()
        counter.expect(101, 0)
        end.qp.destroy()
        counter.close()
        end.qp = end.pd.create_qp(end.cq)
        end.close()


def unknown_state_is_passed_on(test):
    """QUERY_QP tells a state that nobody knows: the process sees it."""
    with pair(test) as (one, _two):
        for state in (7, 200):
            test.device.fault("query_qp", "answer", fields={"qp_state": state})
            assert (seen := one.qp.query(uverbs.STATE).qp_state) == state, f"state {seen}"
        assert one.qp.query(uverbs.STATE).qp_state == uverbs.RTS


def event_of_another_queue_is_heard(test):
    """The device puts the event of a CQ into another event queue than it was told."""
    with uverbs.Context(test.function.uverbs()) as context:
        assert context.num_comp_vectors > 1, "there is no other event queue"
        channel = context.channel()
        queues = [context.create_cq(DEPTH, channel=channel, vector=vector) for vector in range(2)]
        # Those whose CQs are numbered 0 and 16 share a lock.
        queues += [context.create_cq(DEPTH, channel=channel) for _ in range(16)]
        own = {entry["id"]: entry["eq"] for entry in test.device.live("cq")}
        eqs = sorted(set(own.values()))
        for cq in queues:
            for eq in eqs:
                test.device.completion_event(eq, cq.index)
                assert event_comes(channel), f"no event of CQ {cq.index}, of event queue {own[cq.index]}, in {eq}"
        test.device.completion_event(eqs[0], 60000)
        assert not event_comes(channel, 0.3), "an event of a queue that nobody has"
        for cq in queues:
            assert cq.destroy() == len(eqs)
        os.close(channel)


def silent_device_is_reset(test):
    """C goes on with a reset when the device answers no reads of its status meanwhile."""
    try:
        rebound(test, **SILENT_RESET)
        Endpoint(test.function).close()
    finally:
        rebound(test, **USUAL_RESET)


def largest_receive_queue_can_be_had(test):
    """A limit that is no power of two: user space rounds work requests up, and then descriptors."""
    with told(test, max_rq_depth=1025):
        with uverbs.Context(test.function.uverbs()) as context:
            pd = context.alloc_pd()
            cq = context.create_cq(DEPTH)
            values = {
                "pd": pd.handle, "send_cq": cq.handle, "recv_cq": cq.handle, "max_send_wr": 32, "max_recv_wr": 1025,
                "max_send_sge": 2, "max_recv_sge": 3, "qp_type": uverbs.DRIVER,
            }
            sizes = {"rq_ring_size": 8192 * 16, "sq_ring_size": 32 * 64}
            core, _ = uverbs.requests.CREATE_QP.send(context.fd, values, sizes)
            uverbs.requests.DESTROY_QP.send(context.fd, {"handle": core.handle})
            cq.destroy()
            pd.dealloc()
