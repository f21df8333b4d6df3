# SPDX-License-Identifier: GPL-2.0
"""How work requests fail: every status a completion can have, and that nothing else suffers."""

import uverbs
import vefa
from endpoint import SLOT, Endpoint, pair
from queues import FIRST, LAST, WANT_COMPLETION
from traffic import MTU, deliver, filled

STRANGER = "fe80::ef:dead:0:1"  # a GID that no device has


def after_it_all_is_well(one, two):
    """One failed work request disturbs no other."""
    deliver(one, two, filled(256))
    deliver(two, one, filled(256))


def fails(one, status, req_id=5):
    entry = one.wait()[0]
    assert (entry.status, entry.req_id, entry.is_send) == (status, req_id, True), f"{entry}, expected {status}"


def expect(test, status, attempt, **more):
    """Attempts something between two endpoints that know each other; it ends with a status."""
    with pair(test, **more) as (one, two):
        one.handle(two), two.handle(one)
        two.put(b"\x5a" * SLOT, slot=2)
        attempt(one, two)
        fails(one, status)
        assert two.ring.poll() is None, "the receiver has a completion"
        assert two.get(SLOT, slot=2) == b"\x5a" * SLOT, "bytes were written all the same"
        after_it_all_is_well(one, two)


def unknown_handle_is_invalid_ah(test):
    def attempt(one, two):
        gone = one.pd.create_ah(STRANGER)
        gone.destroy()
        one.qp.send_queue.send(gone, two.qp.number, [one.place()], req_id=5)

    expect(test, "invalid_ah", attempt)


def handle_of_another_pd_is_invalid_ah(test):
    def attempt(one, two):
        pd = one.context.alloc_pd()
        other = pd.create_ah(two.gid)
        one.qp.send_queue.send(other, two.qp.number, [one.place()], req_id=5)
        other.destroy()
        pd.dealloc()

    expect(test, "invalid_ah", attempt)


def bad_lkey(test):
    """A key that no region has, that of another PD, of one gone, a range that is not all in it."""

    def key(one, two, make):
        address, length, lkey = one.place()
        one.qp.send_queue.send(one.handle(two), two.qp.number, [make(address, length, lkey)], req_id=5)

    expect(test, "invalid_lkey", lambda one, two: key(one, two, lambda a, n, k: (a, n, k ^ 0x800000)))
    expect(test, "invalid_lkey", lambda one, two: key(one, two, lambda a, n, k: (a, n, two.mr.lkey)))
    expect(test, "invalid_lkey", lambda one, two: key(one, two, lambda a, n, k: (a - 1, n, k)))
    expect(test, "invalid_lkey", lambda one, two: key(one, two, lambda a, n, k: (a + one.memory.length - 63, n, k)))
    expect(test, "invalid_lkey", lambda one, two: key(one, two, lambda a, n, k: (2**64 - 32, n, k)))

    def gone(one, two):
        mr = one.pd.reg_mr(one.memory)
        mr.dereg()
        address, length, _ = one.place()
        one.qp.send_queue.send(one.handle(two), two.qp.number, [(address, length, mr.lkey)], req_id=5)

    expect(test, "invalid_lkey", gone)


def read_into_read_only_region_is_invalid_lkey(test):
    def attempt(one, two):
        mr = one.pd.reg_mr(one.memory, access=0)
        address, length, _ = one.place()
        local = (address, length, mr.lkey)
        one.qp.send_queue.rdma(1, one.handle(two), two.qp.number, local, two.remote(), req_id=5)
        fails(one, "invalid_lkey")
        mr.dereg()
        one.send(two, length=MTU + 1, req_id=5)

    expect(test, "bad_length", attempt)


def message_above_the_mtu_is_bad_length(test):
    expect(test, "bad_length", lambda one, two: one.send(two, length=MTU + 1, req_id=5))


def bad_rkey(test):
    """A key that no region has, that of another PD, a range that is not all in it, a missing permission."""

    def remote(one, two, op, make, length=64):
        address, rkey = two.remote(slot=2)
        one.qp.send_queue.rdma(op, one.handle(two), two.qp.number, one.place(0, length), make(address, rkey), req_id=5)

    for op in (1, 2):
        expect(test, "remote_bad_address", lambda one, two: remote(one, two, op, lambda a, k: (a, k ^ 0x1000)))
        expect(test, "remote_bad_address", lambda one, two: remote(one, two, op, lambda a, k: (a, one.mr.rkey)))
        expect(test, "remote_bad_address", lambda one, two: remote(one, two, op, lambda a, k: (two.memory.address - 1, k)))
        expect(test, "remote_bad_address", lambda one, two: remote(one, two, op, lambda a, k: (2**64 - 8, k)))
        expect(
            test, "remote_bad_address",
            lambda one, two: remote(one, two, op, lambda a, k: (two.memory.address + two.memory.length - 63, k)),
        )
    local_only = {"second": {"access": uverbs.LOCAL_WRITE}}
    for op in (1, 2):
        expect(test, "remote_bad_address", lambda one, two: remote(one, two, op, lambda a, k: (a, k)), **local_only)


def unknown_qp_is_bad_dest_qpn(test):
    def attempt(one, two):
        one.qp.send_queue.send(one.handle(two), two.qp.number + 1000, [one.place()], req_id=5)

    expect(test, "remote_bad_dest_qpn", attempt)


def qp_that_is_gone_is_bad_dest_qpn(test):
    def attempt(one, two):
        number = two.qp.number
        two.replace_qp()
        one.qp.send_queue.send(one.handle(two), number, [one.place()], req_id=5)

    expect(test, "remote_bad_dest_qpn", attempt)


def no_receive_is_rnr(test):
    """Without retries the sender is told at once, and the next message arrives."""
    expect(test, "remote_rnr", lambda one, two: one.send(two, req_id=5), rnr_retry=0)


def late_receive_ends_the_rnr_retries(test):
    """With retries without end the message waits for a receive."""
    with pair(test, rnr_retry=7) as (one, two):
        data = filled(300)
        one.put(data)
        one.send(two, length=300)
        assert one.ring.poll() is None, "the send is complete without a receive"
        two.receive()
        assert one.statuses() == ["ok"]
        assert two.wait()[0].length == 300
        assert two.get(300) == data


def short_receive_is_bad_length_at_both_ends(test):
    with pair(test) as (one, two):
        two.put(b"\x5a" * SLOT)
        two.receive(length=63, req_id=6)
        one.send(two, length=64, req_id=5)
        fails(one, "remote_bad_length")
        entry = two.wait()[0]
        assert (entry.status, entry.req_id) == ("bad_length", 6), entry
        assert two.get(SLOT)[63:] == b"\x5a" * (SLOT - 63), "bytes behind the receive were written"
        after_it_all_is_well(one, two)


def receive_into_nothing_is_remote_bad_status(test):
    """The receiver's own buffer is not registered, or may not be written."""
    with pair(test) as (one, two):
        read_only = two.pd.reg_mr(two.memory, access=0)
        address, length, lkey = two.place()
        for key in (lkey ^ 0x800000, one.mr.lkey, read_only.lkey):
            two.put(b"\x5a" * 64)
            two.qp.recv_queue.post([(address, length, key)], req_id=6)
            one.send(two, length=64, req_id=5)
            fails(one, "remote_bad_status")
            entry = two.wait()[0]
            assert (entry.status, entry.req_id) == ("invalid_lkey", 6), entry
            assert two.get(64) == b"\x5a" * 64, "bytes were written all the same"
        read_only.dereg()
        after_it_all_is_well(one, two)


def wrong_queue_key_is_bad_dest_qpn(test):
    expect(test, "remote_bad_dest_qpn", lambda one, two: one.send(two, qkey=0x77777777, req_id=5))


def silent_peer_is_unresponsive(test):
    """A peer that has answered before, and does not any more."""
    with pair(test) as (one, two):
        deliver(one, two, filled(64))
        test.device.network(unreachable=[vefa.full(two.gid)])
        two.receive()
        one.send(two, req_id=5)
        fails(one, "unresponsive")
        test.device.network()
        one.send(two, length=64)
        assert one.statuses() == ["ok"]
        two.wait()
        after_it_all_is_well(one, two)


def malformed_descriptor_ends_its_qp(test):
    """A descriptor of the wrong phase: that QP is in error, and no other."""
    with pair(test) as (one, two):
        other = Endpoint(test.function)
        one.receive(req_id=8)
        one.qp.send_queue.write(bytes(32), ctrl2=FIRST | LAST | WANT_COMPLETION | 1, req_id=5)
        fails(one, "qp_internal_error")
        entry = one.wait()[0]
        assert (entry.status, entry.req_id) == ("flushed", 8), entry
        assert one.qp.query().qp_state == uverbs.ERR
        deliver(other, two, filled(64))
        one.replace_qp()
        after_it_all_is_well(one, two)
        other.close()


def missing_capability_is_feature_mismatch(test):
    """RDMA to a device that cannot do it."""
    with pair(test, functions=(2, 0), access=uverbs.LOCAL_WRITE) as (one, two):
        one.handle(two), two.handle(one)
        one.read(two, req_id=5)
        fails(one, "feature_mismatch")
        one.write(two, req_id=5)
        fails(one, "feature_mismatch")
        after_it_all_is_well(one, two)


def scripted_statuses_are_reported(test):
    """Those that nothing else brings about, as the device says them."""
    scripted = {"remote_error_abort": "remote_abort", "remote_error_bad_status": "remote_bad_status"}
    with pair(test) as (one, two):
        for said, status in scripted.items():
            test.device.work_fault("status", status=said, qp=one.qp.number)
            one.send(two, req_id=5)
            fails(one, status)
        two.receive()
        one.send(two)
        assert one.statuses() == ["ok"]
        two.wait()
        after_it_all_is_well(one, two)


def stranger_is_unreachable(test):
    def attempt(one, two):
        handle = one.pd.create_ah(STRANGER)
        one.handles["stranger"] = handle
        one.qp.send_queue.send(handle, 5, [one.place()], req_id=5)

    expect(test, "unreachable", attempt)


def reader_without_handle_is_unknown_peer(test):
    """RDMA needs a handle at the other side, too."""
    with pair(test) as (one, two):
        one.read(two, req_id=5)
        fails(one, "unknown_peer")
        two.handle(one)
        one.read(two)
        assert one.statuses() == ["ok"]


def unknown_operation_is_unsupported(test):
    expect(test, "unsupported_op", lambda one, two: one.qp.send_queue.write(
        bytes(32), op=9, ah=one.handle(two).number, dest_qp=two.qp.number, length=1, req_id=5))


def error_state_flushes(test):
    """What waits in a queue pair that goes into the error state is flushed: sends and receives."""
    with pair(test, rnr_retry=7) as (one, two):
        for number in range(3):
            one.receive(req_id=100 + number)
            one.send(two, req_id=number)  # no receive there: it waits
        one.qp.modify(uverbs.ERR)
        entries = one.wait(6)
        assert {entry.status for entry in entries} == {"flushed"}, entries
        assert sorted(e.req_id for e in entries if e.is_send) == [0, 1, 2]
        assert sorted(e.req_id for e in entries if not e.is_send) == [100, 101, 102]
        one.replace_qp()
        after_it_all_is_well(one, two)


def destroyed_handle_aborts_its_sends(test):
    """A send that waits is failed when its handle is destroyed, and only that one."""
    with pair(test, functions=(0, 1), rnr_retry=7) as (one, two):
        gone = one.pd.create_ah(two.gid)
        one.qp.send_queue.send(gone, two.qp.number, [one.place()], req_id=5)
        gone.destroy()
        fails(one, "invalid_ah")
        after_it_all_is_well(one, two)


def error_at_one_receiver_disturbs_no_other(test):
    """Messages to three receivers, of which one is not ready: those to the others arrive."""
    with pair(test, rnr_retry=0) as (one, two):
        third = Endpoint(test.function)
        for number in range(12):
            peer = (two, third)[number % 2]
            if peer is third:
                third.receive(slot=number, req_id=number)
            one.put(bytes([number]) * 64, slot=number)
            one.send(peer, slot=number, req_id=number)
        ends = {entry.req_id: entry.status for entry in one.wait(12)}
        assert ends == {n: "ok" if n % 2 else "remote_rnr" for n in range(12)}, ends
        third.wait(6)
        for number in range(1, 12, 2):
            # Receives are taken in order, messages may come in any.
            assert third.get(64, slot=number)[:1] * 64 == third.get(64, slot=number)
        third.close()
