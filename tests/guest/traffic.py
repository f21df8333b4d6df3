# SPDX-License-Identifier: GPL-2.0
"""Messages, reads and writes between queue pairs, with every byte checked."""

import os

import uverbs
from endpoint import SLOT, pair

MTU = 8928
# UD leaves this much room before a message, as for a global route header.
UD_HEADER = 40


def filled(length):
    """Bytes that no other message has."""
    return os.urandom(length)


def deliver(one, two, data, **more):
    """Sends data from one to two; the two completions."""
    header = 0 if one.qp.srd else UD_HEADER
    one.put(data)
    two.put(b"\xee" * (header + len(data) + 64))
    two.receive(req_id=7)
    one.send(two, length=len(data), req_id=9, **more)
    sent, received = one.wait()[0], two.wait()[0]
    assert (sent.status, sent.req_id, sent.is_send) == ("ok", 9, True), sent
    assert (received.status, received.req_id, received.is_send) == ("ok", 7, False), received
    assert received.length == header + len(data), f"{received.length} bytes of {len(data)}"
    assert two.get(header + len(data) + 8)[header:] == data + b"\xee" * 8, f"{len(data)} bytes arrived changed"
    assert (sent.qp, received.qp, received.src_qp) == (one.qp.number, two.qp.number, one.qp.number)
    return sent, received


def messages(test, functions=(0, 0), **more):
    with pair(test, functions, **more) as (one, two):
        for length in (0, 1, 3, 64, 4095, 4096, 4097, MTU):
            deliver(one, two, filled(length))
        for count in range(100):  # several laps around every queue
            deliver(*((one, two) if count % 3 else (two, one)), filled(count))
        _, received = deliver(one, two, filled(16), imm=0xCAFEF00D)
        assert received.imm == 0xCAFEF00D, received
        _, received = deliver(one, two, filled(16))
        assert received.imm is None, received


def srd_messages(test):
    messages(test)


def ud_messages(test):
    messages(test, srd=False)


def srd_messages_between_devices(test):
    messages(test, functions=(0, 1))


def ud_messages_between_devices(test):
    messages(test, functions=(0, 1), srd=False)


def inline_messages(test):
    with pair(test) as (one, two):
        for length in (0, 1, 31, 32):
            data = filled(length)
            two.receive()
            one.send_inline(two, data)
            assert one.statuses() == ["ok"]
            assert two.wait()[0].length == length
            assert two.get(length) == data, f"{length} bytes"


def buffers_are_gathered_and_scattered(test):
    with pair(test, sges=(2, 3)) as (one, two):
        data = filled(1000)
        one.put(data[:400], slot=0)
        one.put(data[400:], slot=5)
        two.qp.recv_queue.post([two.place(0, 100), two.place(1, 1), two.place(2, 2000)])
        buffers = [one.place(0, 400), one.place(5, 600)]
        one.qp.send_queue.send(one.handle(two), two.qp.number, buffers)
        assert one.statuses() == ["ok"]
        assert two.wait()[0].length == 1000
        assert two.get(100, 0) + two.get(1, 1) + two.get(899, 2) == data


def reads_and_writes(test, functions=(0, 0)):
    with pair(test, functions, slots=64) as (one, two):
        one.handle(two), two.handle(one)  # each must know the other
        for length in (1, 4096, MTU, 100_000, 16 * SLOT):
            data = filled(length)
            one.put(data)
            two.put(bytes(length + 8))
            one.write(two, length=length)
            assert one.statuses() == ["ok"], f"write of {length} bytes"
            assert two.get(length + 8) == data + bytes(8), f"write of {length} bytes"
            data = filled(length)
            two.put(data)
            one.put(bytes(length + 8))
            one.read(two, length=length)
            assert one.statuses() == ["ok"], f"read of {length} bytes"
            assert one.get(length + 8) == data + bytes(8), f"read of {length} bytes"


def reads_and_writes_between_devices(test):
    reads_and_writes(test, functions=(0, 1))


def write_with_immediate_takes_a_receive(test):
    with pair(test) as (one, two):
        one.handle(two), two.handle(one)
        data = filled(512)
        one.put(data)
        two.receive(slot=3, req_id=11)
        one.write(two, remote=1, length=512, imm=77)
        assert one.statuses() == ["ok"]
        entry = two.wait()[0]
        assert (entry.status, entry.req_id, entry.imm, entry.unsolicited) == ("ok", 11, 77, False), entry
        assert two.get(512, slot=1) == data


def unsolicited_write_takes_none(test):
    with pair(test, flags=uverbs.QP_UNSOLICITED) as (one, two):
        one.handle(two), two.handle(one)
        data = filled(512)
        one.put(data)
        one.write(two, remote=1, length=512, imm=78)
        assert one.statuses() == ["ok"]
        entry = two.wait()[0]
        assert (entry.status, entry.imm, entry.unsolicited) == ("ok", 78, True), entry
        assert two.get(512, slot=1) == data


def source_is_told(test):
    """The receiver learns the sender's handle where it has one, else, if it asked for it, the GID."""
    with pair(test, functions=(0, 1), second={"sgid": True}) as (one, two):
        _, received = deliver(one, two, filled(8))
        assert received.ah == 0xFFFF, received
        expected = bytes.fromhex("".join(one.gid.split(":")))
        assert received.gid == expected, f"{received.gid.hex()} is not {one.gid}"
        handle = two.handle(one)
        _, received = deliver(one, two, filled(8))
        assert received.ah == handle.number, received


def wide_ids_come_back(test):
    """64-bit request ids of sends, on the same device as 16-bit ones."""
    with pair(test, first={"flags": uverbs.QP_WIDE_IDS}) as (one, two):
        for number in (0, 0xFFFF, 0x10000, 0x123456789ABCDEF0, 2**64 - 1):
            two.receive()
            one.send(two, req_id=number)
            assert one.wait()[0].req_id == number, hex(number)
            two.wait()
        deliver(two, one, filled(10))


def unreported_send_leaves_no_completion(test):
    """A send that wants no completion has none, and the next one has."""
    with pair(test) as (one, two):
        two.receive()
        two.receive()
        one.send(two, req_id=1, ctrl2=1 << 2 | 1 << 3)  # first, last
        one.send(two, req_id=2, ctrl2=1 << 2 | 1 << 3 | 1 << 4)
        assert [entry.req_id for entry in one.wait()] == [2]
        two.wait(2)


def other_handle_survives(test):
    """A1: two handles to one peer; one is destroyed, and a send on the other arrives."""
    creates, destroys = test.device.seen("create_ah", "destroy_ah")
    with pair(test) as (one, two):
        first, second = one.pd.create_ah(two.gid), one.pd.create_ah(two.gid)
        one.handles["kept"] = second
        first.destroy()
        assert test.device.seen("destroy_ah") == destroys, "DESTROY_AH while a user is left"
        data = filled(100)
        one.put(data)
        two.receive()
        one.qp.send_queue.send(second, two.qp.number, [one.place(0, 100)])
        assert one.statuses() == ["ok"]
        two.wait()
        assert two.get(100) == data
    sent = test.device.seen("create_ah") - creates
    assert sent == 1, f"{sent} CREATE_AH"
    assert test.device.seen("destroy_ah") - destroys == 1


def messages_out_of_order_arrive_whole(test):
    """SRD promises no order: each message arrives once and whole, whatever the order."""
    count = 32
    with pair(test, functions=(0, 1), slots=count) as (one, two):
        for slot in range(count):
            two.receive(slot=slot, req_id=slot, ring=slot == count - 1)
            one.put(bytes([slot]) * (100 + slot), slot)
        test.device.network(reorder=4)
        for slot in range(count):
            one.send(two, slot=slot, length=100 + slot, imm=slot, req_id=slot, ring=slot % 8 == 7)
        assert sorted(entry.req_id for entry in one.wait(count)) == list(range(count))
        order = []
        for entry in two.wait(count):
            assert (entry.status, entry.length) == ("ok", 100 + entry.imm), entry
            assert two.get(entry.length, entry.req_id) == bytes([entry.imm]) * entry.length, entry
            order.append(entry.imm)
        assert sorted(order) == list(range(count)), f"not each message once: {order}"
        assert order != sorted(order), "all arrived in order: nothing was tested"


def bad_network_changes_no_byte(test):
    """Packets lost, doubled, late and out of order: every transfer is carried out once."""
    with pair(test, functions=(0, 1), slots=64) as (one, two):
        one.handle(two), two.handle(one)
        for what in ({"lose": 3}, {"repeat": 5}, {"reorder": 3, "repeat": 4}, {"delay_ms": 5, "lose": 2}):
            test.device.network(**what)
            for length in (64, MTU, 100_000):
                data = filled(length)
                if length <= MTU:
                    deliver(one, two, data)
                one.put(data)
                two.put(bytes(length))
                one.write(two, length=length)
                assert one.statuses() == ["ok"], what
                assert two.get(length) == data, f"{what}: write of {length} bytes"
                one.put(bytes(length))
                one.read(two, length=length)
                assert one.statuses() == ["ok"], what
                assert one.get(length) == data, f"{what}: read of {length} bytes"
            assert two.ring.poll() is None, f"{what}: a message was received twice"
        test.device.network()


def wide_descriptors_write_inline(test):
    """An RDMA write whose bytes are in the descriptor; one of 64 bytes has no room for them."""
    with pair(test, first={"inline": 80}) as (one, two):
        two.handle(one)  # what an RDMA request needs at the other end
        for length in (1, 32, 80):
            data = filled(length)
            one.write_inline(two, data, remote=1)
            assert one.statuses() == ["ok"]
            assert two.get(length, 1) == data, f"{length} bytes"
            assert two.ring.poll() is None, "a write without immediate data was received"
    with pair(test) as (one, two):
        one.write_inline(two, filled(8))
        assert one.statuses() == ["unsupported_op"]


def wide_descriptors_carry_more_inline(test):
    """Descriptors of 128 bytes, on a device that has them."""
    with pair(test, first={"inline": 80}) as (one, two):
        for length in (33, 64, 80):
            data = filled(length)
            two.receive()
            one.send_inline(two, data)
            assert one.statuses() == ["ok"]
            assert two.wait()[0].length == length
            assert two.get(length) == data, f"{length} bytes"
        for _ in range(70):  # more than a lap
            deliver(one, two, filled(500))
