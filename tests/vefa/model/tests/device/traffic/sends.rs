// SPDX-License-Identifier: GPL-2.0
//! SRD sends, and the forms of descriptors, buffers and completions.

use vefa_model::names::{QpState, QpType, WorkStatus};
use vefa_model::Config;

use super::pair::{carry, pair_of, pattern, Pair};
use super::side::Side;
use super::wr::Wr;

#[test]
fn a_send_reaches_the_other_device() {
    let mut pair = Pair::new();
    let data = pattern(5000, 1);
    pair.a.fill(0, &data);
    pair.receive(7, 0x1000, 8000);
    let buffer = pair.a.buffer(0, 5000);
    pair.send(&[Wr::send(42, pair.to_b, &[buffer])]);
    assert_eq!(pair.b.read(0x1000, 5001), [data, vec![0]].concat());
    let sent = pair.a.all_done();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].id, sent[0].status), (42, WorkStatus::Ok));
    assert_eq!((sent[0].qp, sent[0].flags()), (pair.qp_a.number, 1 << 1));
    let received = pair.b.all_done();
    assert_eq!(received.len(), 1);
    assert_eq!((received[0].id, received[0].status), (7, WorkStatus::Ok));
    assert_eq!(
        (received[0].qp, received[0].flags()),
        (pair.qp_b.number, 2 << 1)
    );
    let cdesc = received[0].received();
    assert_eq!((cdesc.length, cdesc.src_qp_num), (5000, pair.qp_a.number));
    assert_eq!(cdesc.ah, pair.to_a.0);
    pair.a.expect_traffic(&[
        ("tx_pkts", 1),
        ("tx_bytes", 5000),
        ("send_wrs", 1),
        ("send_bytes", 5000),
    ]);
    pair.b.expect_traffic(&[
        ("rx_pkts", 1),
        ("rx_bytes", 5000),
        ("recv_wrs", 1),
        ("recv_bytes", 5000),
    ]);
    pair.check();
}

#[test]
fn a_device_sends_to_itself() {
    let mut side = Side::new(Config::default());
    let (mut from, mut to) = (side.srd(), side.srd());
    let ah = side.ah(side.gid());
    side.fill(0, &pattern(100, 3));
    let buffer = side.buffer(0x2000, 100);
    side.receive(&mut to, 1, &[buffer]);
    let buffer = side.buffer(0, 100);
    side.send(&mut from, &[Wr::send(2, (ah, to.number), &[buffer])]);
    carry(&mut [&mut side]);
    assert_eq!(side.read(0x2000, 100), pattern(100, 3));
    let done: Vec<_> = side
        .all_done()
        .iter()
        .map(|done| (done.qp, done.id))
        .collect();
    assert_eq!(done, [(to.number, 1), (from.number, 2)]);
}

#[test]
fn immediate_data_arrives_with_the_message() {
    let mut pair = Pair::new();
    pair.receive(0, 0, 64);
    pair.send(&[Wr::inline(0, pair.to_b, b"x").with_immediate(0x1234_5678)]);
    let received = pair.b.all_done();
    assert_eq!(received[0].flags(), (2 << 1) | (1 << 3));
    assert_eq!(received[0].received().imm, 0x1234_5678);
    pair.receive(0, 0, 64);
    pair.send(&[Wr::inline(1, pair.to_b, b"y")]);
    assert_eq!(pair.b.all_done()[0].flags(), 2 << 1);
}

#[test]
fn short_descriptors_hold_32_bytes_inline_and_long_ones_80() {
    for (bytes, room) in [(64, 32), (128, 80)] {
        let mut pair = Pair::with(&Config::default(), QpType::Srd, |command| {
            command.qp_alloc_size.send_queue_ring_size = 64 * bytes;
        });
        let data = pattern(room, 9);
        pair.receive(0, 0x100, 200);
        pair.send(&[Wr::inline(5, pair.to_b, &data)]);
        assert_eq!(pair.a.status(), WorkStatus::Ok);
        assert_eq!(pair.b.read(0x100, room), data);
        let mut too_long = Wr::inline(6, pair.to_b, &data);
        too_long.meta.length += 1;
        pair.send(&[too_long]);
        assert_eq!(pair.a.status(), WorkStatus::BadLength);
    }
}

#[test]
fn messages_are_gathered_from_and_scattered_to_buffers() {
    let mut pair = Pair::new();
    let data = pattern(1000, 5);
    pair.a.fill(0x10, &data[..333]);
    pair.a.fill(0x5001, &data[333..]);
    let buffers = [(0x100, 1), (0x3000, 500), (0x8003, 600)];
    let buffers = buffers.map(|(at, len)| pair.b.buffer(at, len));
    pair.b.receive(&mut pair.qp_b, 3, &buffers);
    let buffers = [pair.a.buffer(0x10, 333), pair.a.buffer(0x5001, 667)];
    pair.send(&[Wr::send(1, pair.to_b, &buffers)]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    let parts = [(0x100, 1), (0x3000, 500), (0x8003, 499)];
    let parts = parts.map(|(at, len)| pair.b.read(at, len));
    assert_eq!(parts.concat(), data);
    assert_eq!(pair.b.read(0x8003 + 499, 1), [0]);
}

#[test]
fn an_empty_message_takes_a_receive_request() {
    let mut pair = Pair::new();
    pair.receive(4, 0, 64);
    pair.send(&[Wr::send(1, pair.to_b, &[])]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    let received = pair.b.all_done();
    assert_eq!((received[0].id, received[0].received().length), (4, 0));
    pair.receive(5, 0, 64);
    let empty = pair.a.buffer(0, 0);
    pair.send(&[Wr::send(2, pair.to_b, &[empty])]);
    assert_eq!(pair.b.all_done()[0].id, 5);
}

#[test]
fn request_ids_have_16_bits_or_64() {
    let id = 0xfedc_ba98_7654_3210;
    let mut pair = Pair::with(&Config::default(), QpType::Srd, |_| ());
    let cq = pair.a.create_cq(|command| command.cq_caps_2 |= 1 << 6);
    let mut wide = pair.a.qp(QpType::Srd, |command| {
        command.flags = 8;
        command.send_cq_idx = cq.number.into();
    });
    pair.receive(1, 0, 64);
    pair.a.send(&mut wide, &[Wr::inline(id, pair.to_b, b"x")]);
    pair.carry();
    let done = pair.a.done_on(&mut cq.clone()).unwrap();
    assert_eq!((done.id, done.status), (id, WorkStatus::Ok));
    // Elsewhere the upper words are reserved.
    pair.send(&[
        Wr::inline(0x10, pair.to_b, b"x"),
        Wr::inline(id, pair.to_b, b"x"),
    ]);
    let done = pair.a.all_done();
    assert_eq!(
        (done[0].id, done[0].status),
        (0x3210, WorkStatus::QpInternalError)
    );
    assert_eq!((done[1].id, done[1].status), (0x10, WorkStatus::Flushed));
}

#[test]
fn an_unknown_sender_is_told_by_gid_where_the_cq_asks_for_it() {
    let (mut a, mut b) = pair_of(&Config::default());
    let ah = a.ah(b.gid());
    let mut from = a.srd();
    let mut cq = b.create_cq(|command| command.cq_caps_2 |= 1 << 5);
    let mut with_gid = b.qp(QpType::Srd, |command| {
        command.recv_cq_idx = cq.number.into()
    });
    let mut without = b.srd();
    for qp in [&mut with_gid, &mut without] {
        let buffer = b.buffer(0, 64);
        b.receive(qp, 1, &[buffer]);
        a.send(&mut from, &[Wr::inline(0, (ah, qp.number), b"x")]);
    }
    carry(&mut [&mut a, &mut b]);
    let done = b.done_on(&mut cq).unwrap();
    assert_eq!(done.received().ah, 0xffff);
    assert_eq!(done.entry[16..], a.gid().0);
    let done = b.done().unwrap();
    assert_eq!(done.received().ah, 0xffff);
    assert_eq!(done.entry[16..], [0; 16]);
    // Known by now: the AH says it.
    let known = b.ah(a.gid());
    let buffer = b.buffer(0, 64);
    b.receive(&mut with_gid, 1, &[buffer]);
    a.send(&mut from, &[Wr::inline(0, (ah, with_gid.number), b"x")]);
    carry(&mut [&mut a, &mut b]);
    let done = b.done_on(&mut cq).unwrap();
    assert_eq!(
        (done.received().ah, &done.entry[16..]),
        (known, &[0; 16][..])
    );
}

#[test]
fn completions_of_16_bytes_are_written_one_after_the_other() {
    let mut pair = Pair::new();
    let mut cq = pair.b.create_cq(|command| command.cq_caps_2 = 4);
    let mut qp = pair.b.qp(QpType::Srd, |command| {
        command.recv_cq_idx = cq.number.into()
    });
    for id in 0..3 {
        let buffer = pair.b.buffer(0, 64);
        pair.b.receive(&mut qp, id, &[buffer]);
        pair.send(&[Wr::inline(0, (pair.to_b.0, qp.number), b"abc")]);
    }
    for id in 0..3 {
        let done = pair.b.done_on(&mut cq).unwrap();
        assert_eq!((done.id, done.received().length), (id, 3));
    }
    assert_eq!(pair.b.done_on(&mut cq), None);
}

#[test]
fn queues_and_their_phases_go_round() {
    let mut pair = Pair::new();
    for n in 0..1000_u16 {
        pair.receive(n, 0x100, 64);
        pair.send(&[Wr::inline(u64::from(n), pair.to_b, &n.to_le_bytes())]);
        let (sent, received) = (pair.a.all_done(), pair.b.all_done());
        assert_eq!((sent.len(), sent[0].id), (1, u64::from(n)));
        assert_eq!(sent[0].status, WorkStatus::Ok);
        assert_eq!((received.len(), received[0].id), (1, u64::from(n)));
        assert_eq!(pair.b.read(0x100, 2), n.to_le_bytes());
    }
}

#[test]
fn success_that_was_not_asked_for_is_not_completed() {
    let mut pair = Pair::new();
    pair.receive(0, 0, 64);
    let mut quiet = Wr::inline(1, pair.to_b, b"x");
    quiet.meta.ctrl2 &= !16;
    let mut bad = quiet.clone();
    bad.meta.ah = 999;
    pair.send(&[quiet, bad]);
    assert_eq!(pair.a.status(), WorkStatus::InvalidAh);
    assert_eq!(pair.b.all_done().len(), 1);
}

#[test]
fn a_queue_pair_receives_from_rtr_and_sends_from_rts() {
    let mut pair = Pair::new();
    let mut qp = pair.b.reset_qp(QpType::Srd, |_| ());
    pair.b.bring_to_rtr(&mut qp);
    let buffer = pair.b.buffer(0, 64);
    pair.b.receive(&mut qp, 1, &[buffer]);
    pair.send(&[Wr::inline(2, (pair.to_b.0, qp.number), b"in")]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    assert_eq!(pair.b.all_done().len(), 1);
    let buffer = pair.a.buffer(0x40, 64);
    pair.a.receive(&mut pair.qp_a, 3, &[buffer]);
    pair.b.send(&mut qp, &[Wr::inline(4, pair.to_a, b"out")]);
    pair.carry();
    assert_eq!(pair.b.all_done(), []);
    pair.b.rtr_to_rts(&qp, None);
    pair.carry();
    assert_eq!(pair.b.status(), WorkStatus::Ok);
    assert_eq!(pair.a.read(0x40, 3), b"out");
}

#[test]
fn a_reset_queue_pair_starts_its_queues_anew() {
    let mut pair = Pair::new();
    pair.receive(1, 0, 64);
    pair.receive(2, 0, 64);
    pair.send(&[Wr::inline(1, pair.to_b, b"x")]);
    pair.b
        .modify(&pair.qp_b.clone(), QpState::Rts, QpState::Reset);
    pair.b.bring_to_rts(&mut pair.qp_b);
    pair.b.all_done();
    pair.receive(9, 0x80, 64);
    pair.send(&[Wr::inline(2, pair.to_b, b"again")]);
    assert_eq!(pair.b.all_done()[0].id, 9);
    pair.b.send(&mut pair.qp_b, &[Wr::inline(3, (999, 1), b"")]);
    assert_eq!(pair.b.status(), WorkStatus::InvalidAh);
}

#[test]
fn queue_pairs_are_spread_over_sub_cqs() {
    let config = Config {
        sub_cqs_per_cq: 2,
        ..Config::default()
    };
    let mut side = Side::new(config);
    let mut sub_cqs = Vec::new();
    for _ in 0..2 {
        let mut qp = side.qp(QpType::Srd, |_| ());
        side.send(&mut qp, &[Wr::inline(1, (999, 1), b"")]);
        sub_cqs.push(qp.created.send_sub_cq_idx);
        // The sub-CQs follow each other.
        let mut cq = side.cq.at_sub_cq(qp.created.send_sub_cq_idx);
        assert_eq!(side.done_on(&mut cq).unwrap().qp, qp.number);
    }
    sub_cqs.sort_unstable();
    assert_eq!(sub_cqs, [0, 1]);
}
