// SPDX-License-Identifier: GPL-2.0
//! How work requests fail: each with its status, alone, and with its data
//! where it was.

use serde_json::json;
use vefa_model::names::{QpState, QpType, WorkStatus};
use vefa_model::rules::Rule;
use vefa_model::Config;
use vefa_spec::commands::RegMrCmd;
use vefa_spec::io::TxBufDesc;

use super::pair::{carry, pattern, Pair};
use super::side::{data_mr, Side, DATA_LEN};
use super::wr::Wr;
use crate::driver::gid;

/// The end of guest memory.
const LAST_PAGE: u64 = 0x4f_f000;

/// Sends one work request, which must fail so, and then one that succeeds.
fn fails(pair: &mut Pair, wr: Wr, status: WorkStatus) {
    let id = u64::from(wr.meta.req_id);
    pair.send(&[wr]);
    let done = pair.a.all_done();
    assert_eq!(done.len(), 1, "{status:?}: {done:?}");
    assert_eq!((done[0].status, done[0].id), (status, id));
    works(pair);
}

/// The pair still works, and data is right.
fn works(pair: &mut Pair) {
    pair.b.fill(0x1_0000, &[0; 64]);
    pair.receive(0xffff, 0x1_0000, 64);
    pair.send(&[Wr::inline(0x7777, pair.to_b, b"still here")]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    let done = pair.b.all_done();
    assert_eq!(done.last().map(|done| done.id), Some(0xffff));
    assert_eq!(pair.b.read(0x1_0000, 10), b"still here");
}

#[test]
fn a_bad_local_key_fails_the_work_request_alone() {
    let mut pair = Pair::new();
    let (pd, other_pd) = (pair.a.pd, pair.a.driver.alloc_pd().unwrap());
    let mut region = |pd, permissions| {
        let command = RegMrCmd {
            permissions,
            ..data_mr(pd)
        };
        pair.a.driver.reg_mr(&command).unwrap().l_key
    };
    let (gone, elsewhere, read_only) = (region(pd, 7), region(other_pd, 7), region(pd, 6));
    pair.a.driver.dereg_mr(gone).unwrap();
    let good = pair.a.buffer(0, 8);
    let with_key = |lkey| TxBufDesc { lkey, ..good };
    let r_key = pair.a.mr.r_key;
    let remote = pair.b.remote(0, 8);
    let to = pair.to_b;
    let bad = [
        with_key(gone),
        with_key(elsewhere),
        with_key(r_key),
        with_key(good.lkey | (1 << 24)),
        pair.a.buffer(DATA_LEN - 7, 8),
        pair.a.buffer(u64::MAX - 0x7f00_0020_0000, 8),
    ];
    for buffer in bad {
        fails(
            &mut pair,
            Wr::send(1, to, &[good, buffer]),
            WorkStatus::InvalidLkey,
        );
        let write = Wr::rdma_write(2, to, remote, buffer);
        fails(&mut pair, write, WorkStatus::InvalidLkey);
    }
    // To be written by a read, it has to allow that; to be sent, it has not.
    let read = Wr::rdma_read(3, to, remote, with_key(read_only));
    fails(&mut pair, read, WorkStatus::InvalidLkey);
    pair.receive(0, 0, 64);
    pair.send(&[Wr::send(4, to, &[with_key(read_only)])]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    pair.check();
}

#[test]
fn a_bad_length_fails_the_work_request_alone() {
    let config = Config {
        mtu: 1000,
        max_rdma_size: 4000,
        ..Config::default()
    };
    let mut pair = Pair::with(&config, QpType::Srd, |_| ());
    let (half, more) = (pair.a.buffer(0, 500), pair.a.buffer(0, 501));
    let to = pair.to_b;
    pair.receive(1, 0, 1000);
    pair.send(&[Wr::send(0, to, &[half, half])]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    pair.b.all_done();
    let bad = WorkStatus::BadLength;
    fails(&mut pair, Wr::send(1, to, &[half, more]), bad);
    let mut three = Wr::send(2, to, &[half, half]);
    three.meta.length = 3;
    fails(&mut pair, three, bad);
    let long = (pair.b.remote(0, 4001), pair.a.buffer(0, 4001));
    fails(&mut pair, Wr::rdma_write(3, to, long.0, long.1), bad);
    fails(&mut pair, Wr::rdma_read(4, to, long.0, long.1), bad);
    let differ = (pair.b.remote(0, 8), pair.a.buffer(0, 7));
    fails(&mut pair, Wr::rdma_write(5, to, differ.0, differ.1), bad);
}

#[test]
fn an_ah_that_is_not_the_pds_own_fails_the_work_request_alone() {
    let mut pair = Pair::new();
    let other_pd = pair.a.driver.alloc_pd().unwrap();
    let elsewhere = pair.a.driver.create_ah(other_pd, pair.b.gid()).unwrap();
    for ah in [0, 0xffff, elsewhere] {
        let wr = Wr::inline(1, (ah, pair.qp_b.number), b"x");
        fails(&mut pair, wr, WorkStatus::InvalidAh);
    }
}

#[test]
fn destroying_an_ah_fails_what_uses_it_and_nothing_else() {
    let mut pair = Pair::new();
    let third = pair.a.ah(gid(3));
    let (pd, to_b) = (pair.a.pd, pair.to_b);
    pair.receive(1, 0, 64);
    // Nobody carries packets yet.
    let wrs = [
        Wr::inline(1, (third, 5), b"lost"),
        Wr::inline(2, to_b, b"here"),
    ];
    pair.a.send(&mut pair.qp_a, &wrs);
    assert_eq!(pair.a.all_done(), []);
    pair.a.driver.destroy_ah(pd, third).unwrap();
    let done = pair.a.all_done();
    assert_eq!((done.len(), done[0].id), (1, 1));
    assert_eq!(done[0].status, WorkStatus::InvalidAh);
    pair.carry();
    assert_eq!(pair.a.all_done()[0].id, 2);
    assert_eq!(pair.b.read(0, 4), b"here");
}

#[test]
fn a_bad_destination_fails_the_work_request_alone() {
    let mut pair = Pair::new();
    let bad = WorkStatus::RemoteBadDestQpn;
    let (ah, number) = pair.to_b;
    let mut qp = pair.b.reset_qp(QpType::Srd, |_| ());
    fails(&mut pair, Wr::inline(1, (ah, number + 100), b"x"), bad);
    fails(&mut pair, Wr::inline(2, (ah, qp.number), b"x"), bad);
    pair.b.bring_to_rts(&mut qp);
    pair.b.modify(&qp, QpState::Rts, QpState::Err);
    fails(&mut pair, Wr::inline(3, (ah, qp.number), b"x"), bad);
    pair.b.destroy(&qp);
    fails(&mut pair, Wr::inline(4, (ah, qp.number), b"x"), bad);
    let mut wrong_key = Wr::inline(5, pair.to_b, b"x");
    wrong_key.meta.qkey ^= 1;
    fails(&mut pair, wrong_key, bad);
    pair.b.expect_traffic(&[("qkey_viol", 1), ("rx_drops", 5)]);
}

#[test]
fn a_message_longer_than_its_buffers_fails_on_both_sides() {
    let mut pair = Pair::new();
    pair.a.fill(0, &pattern(100, 1));
    pair.receive(3, 0x100, 99);
    let buffer = pair.a.buffer(0, 100);
    let to = pair.to_b;
    pair.send(&[Wr::send(1, to, &[buffer])]);
    assert_eq!(pair.a.status(), WorkStatus::RemoteBadLength);
    let done = pair.b.all_done();
    assert_eq!((done[0].id, done[0].status), (3, WorkStatus::BadLength));
    assert_eq!(pair.b.read(0x100, 100), [0; 100]);
    works(&mut pair);
}

#[test]
fn a_receive_buffer_of_no_use_fails_on_both_sides() {
    let mut pair = Pair::new();
    let good = pair.b.buffer(0x100, 4);
    let bad = TxBufDesc {
        lkey: 0xff_ffff,
        ..good
    };
    pair.b.receive(&mut pair.qp_b, 3, &[good, bad]);
    let to = pair.to_b;
    pair.send(&[Wr::inline(1, to, b"12345")]);
    assert_eq!(pair.a.status(), WorkStatus::RemoteBadStatus);
    let done = pair.b.all_done();
    assert_eq!((done[0].id, done[0].status), (3, WorkStatus::InvalidLkey));
    assert_eq!(pair.b.read(0x100, 4), [0; 4]);
    works(&mut pair);
}

#[test]
fn without_a_receive_buffer_a_message_waits_as_often_as_it_may() {
    let mut pair = Pair::new();
    let mut qp = pair.a.reset_qp(QpType::Srd, |_| ());
    pair.a.bring_to_rtr(&mut qp);
    pair.a.rtr_to_rts(&qp, Some(2));
    let to = pair.to_b;
    pair.a.send(&mut qp, &[Wr::inline(1, to, b"hello")]);
    let wait = pair.a.driver.model.config().rnr_delay_ms;
    pair.carry();
    pair.pass(2 * wait - 1);
    assert_eq!(pair.a.all_done(), []);
    pair.pass(1);
    assert_eq!(pair.a.status(), WorkStatus::RemoteRnr);
    pair.a.send(&mut qp, &[Wr::inline(2, to, b"hello")]);
    pair.carry();
    pair.receive(3, 0, 64);
    pair.pass(wait);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    assert_eq!(pair.b.read(0, 5), b"hello");
}

#[test]
fn a_write_with_immediate_waits_for_a_receive_request_too() {
    let mut pair = Pair::new();
    pair.a.fill(0, b"written");
    let (remote, buffer) = (pair.b.remote(0, 7), pair.a.buffer(0, 7));
    let to = pair.to_b;
    pair.send(&[Wr::rdma_write(1, to, remote, buffer).with_immediate(5)]);
    pair.pass(100);
    assert_eq!(pair.a.all_done(), []);
    // By default as long as it takes.
    pair.receive(3, 0x100, 64);
    pair.pass(2);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    assert_eq!(pair.b.all_done()[0].id, 3);
    assert_eq!(pair.b.read(0, 7), b"written");
}

#[test]
fn a_waiting_message_does_not_hold_up_others() {
    let mut pair = Pair::new();
    let mut ready = pair.b.srd();
    let buffer = pair.b.buffer(0, 64);
    pair.b.receive(&mut ready, 1, &[buffer]);
    let to = pair.to_b;
    let wrs = [
        Wr::inline(1, to, b"x"),
        Wr::inline(2, (to.0, ready.number), b"y"),
    ];
    pair.send(&wrs);
    let done = pair.a.all_done();
    assert_eq!((done.len(), done[0].id), (1, 2));
}

#[test]
fn a_peer_that_does_not_answer_is_unreachable_or_unresponsive() {
    let config = Config {
        retransmit_ms: 5,
        retransmit_limit: 3,
        ..Config::default()
    };
    let mut pair = Pair::with(&config, QpType::Srd, |_| ());
    let nobody = pair.a.ah(gid(9));
    pair.send(&[Wr::inline(1, (nobody, 5), b"x")]);
    pair.pass(19);
    assert_eq!(pair.a.all_done(), []);
    pair.pass(1);
    assert_eq!(pair.a.status(), WorkStatus::UnreachableRemote);
    let to = pair.to_b;
    works(&mut pair);
    let away = json!({"op": "network", "unreachable": [pair.a.gid().to_string()]});
    pair.b.driver.control(away);
    pair.receive(1, 0x100, 64);
    pair.send(&[Wr::inline(2, to, b"twice?")]);
    pair.pass(20);
    assert_eq!(pair.a.status(), WorkStatus::UnresponsiveRemote);
    // It arrived all the same, and once.
    assert_eq!(pair.b.all_done().len(), 1);
    pair.a.expect_traffic(&[
        ("unresponsive_remote_events", 2),
        ("retrans_timeout_events", 8),
        ("retrans_pkts", 6),
    ]);
}

#[test]
fn operations_that_the_device_does_not_have_are_unsupported() {
    let mut pair = Pair::new();
    let (remote, buffer) = (pair.b.remote(0, 8), pair.a.buffer(0, 8));
    for operation in [3, 4, 9] {
        let mut wr = Wr::rdma_read(1, pair.to_b, remote, buffer);
        wr.meta.ctrl1 = 0x80 | operation;
        fails(&mut pair, wr, WorkStatus::UnsupportedOp);
    }
    let inline_read = {
        let mut wr = Wr::rdma_read(1, pair.to_b, remote, buffer);
        wr.meta.ctrl1 |= 0x20;
        wr
    };
    fails(&mut pair, inline_read, WorkStatus::UnsupportedOp);
}

#[test]
fn the_error_state_flushes_both_queues() {
    let mut pair = Pair::new();
    for id in [10, 11] {
        pair.receive(id, 0, 64);
    }
    let to = pair.to_a;
    let wrs = [Wr::inline(1, to, b"x"), Wr::inline(2, to, b"y")];
    pair.b.send(&mut pair.qp_b, &wrs);
    let qp = pair.qp_b.clone();
    pair.b.modify(&qp, QpState::Rts, QpState::Err);
    let flushed = |side: &mut Side| -> Vec<_> {
        let done = side.all_done();
        assert!(done.iter().all(|done| done.status == WorkStatus::Flushed));
        done.iter().map(|done| (done.flags(), done.id)).collect()
    };
    assert_eq!(flushed(&mut pair.b), [(2, 1), (2, 2), (4, 10), (4, 11)]);
    // What comes later, too.
    pair.receive(12, 0, 64);
    pair.b.send(&mut pair.qp_b, &[Wr::inline(3, to, b"z")]);
    assert_eq!(flushed(&mut pair.b), [(4, 12), (2, 3)]);
    pair.carry();
    assert_eq!((pair.a.all_done(), pair.b.all_done()), (vec![], vec![]));
}

#[test]
fn destroying_a_queue_pair_flushes_or_forgets_what_is_outstanding() {
    for flush in [true, false] {
        let config = Config {
            flush_on_destroy: flush,
            ..Config::default()
        };
        let mut pair = Pair::with(&config, QpType::Srd, |_| ());
        pair.receive(5, 0, 64);
        pair.a
            .send(&mut pair.qp_a, &[Wr::inline(6, pair.to_b, b"x")]);
        pair.a.destroy(&pair.qp_a.clone());
        pair.b.destroy(&pair.qp_b.clone());
        carry(&mut [&mut pair.a, &mut pair.b]);
        let done = [pair.a.all_done(), pair.b.all_done()];
        let ids = done.map(|done| done.iter().map(|done| done.id).collect::<Vec<_>>());
        let expected = if flush {
            [vec![6], vec![5]]
        } else {
            [vec![], vec![]]
        };
        assert_eq!(ids, expected);
        pair.check();
    }
}

#[test]
fn unmapped_memory_of_a_region_is_the_drivers_fault() {
    let mut pair = Pair::new();
    let command = RegMrCmd {
        inline_pbl_array: [LAST_PAGE - 0x1000, LAST_PAGE, 0, 0],
        mr_length: 0x2000,
        flags: 12,
        ..data_mr(pair.a.pd)
    };
    let mr = pair.a.driver.reg_mr(&command).unwrap();
    pair.a.driver.memory.cut(LAST_PAGE);
    let buffer = TxBufDesc {
        lkey: mr.l_key,
        ..pair.a.buffer(0x1000, 8)
    };
    pair.send(&[Wr::send(1, pair.to_b, &[buffer])]);
    assert_eq!(pair.a.status(), WorkStatus::QpInternalError);
    assert_eq!(pair.a.driver.broken(), [Rule::DmaFault]);
}
