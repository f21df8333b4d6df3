// SPDX-License-Identifier: GPL-2.0
//! UD: datagrams arrive or are lost, and the sender cannot tell.

use vefa_model::names::{QpType, WorkStatus};
use vefa_model::Config;

use super::pair::{pattern, Pair};
use super::wr::Wr;

fn pair() -> Pair {
    Pair::with(&Config::default(), QpType::Ud, |_| ())
}

#[test]
fn a_datagram_arrives_behind_its_header() {
    let mut pair = pair();
    let data = pattern(1000, 1);
    pair.a.fill(0, &data);
    pair.receive(7, 0x1000, 1040);
    let buffer = pair.a.buffer(0, 1000);
    pair.send(&[Wr::send(1, pair.to_b, &[buffer]).with_immediate(77)]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    let received = pair.b.all_done();
    let cdesc = received[0].received();
    assert_eq!((received[0].id, cdesc.length, cdesc.imm), (7, 1040, 77));
    assert_eq!(cdesc.ah, pair.to_a.0);
    let packet = pair.b.read(0x1000, 1040);
    assert_eq!(packet[8..24], pair.a.gid().0);
    assert_eq!(packet[24..40], pair.b.gid().0);
    assert_eq!(packet[40..], data);
    pair.check();
}

#[test]
fn a_datagram_that_cannot_be_received_is_dropped_and_counted() {
    let mut pair = pair();
    let to_nobody = (pair.to_b.0, pair.to_b.1 + 1);
    let mut wrong_key = Wr::inline(2, pair.to_b, b"x");
    wrong_key.meta.qkey += 1;
    // No buffer yet.
    pair.send(&[Wr::inline(1, pair.to_b, b"x")]);
    pair.receive(1, 0, 40 + 2);
    pair.send(&[wrong_key, Wr::inline(3, to_nobody, b"x")]);
    // All were sent.
    let statuses: Vec<_> = pair.a.all_done().iter().map(|done| done.status).collect();
    assert_eq!(statuses, [WorkStatus::Ok; 3]);
    assert_eq!(pair.b.all_done(), []);
    pair.b.expect_traffic(&[("rx_drops", 3), ("qkey_viol", 1)]);
    pair.send(&[Wr::inline(4, pair.to_b, b"ok")]);
    assert_eq!(pair.b.status(), WorkStatus::Ok);
    assert_eq!(pair.b.read(40, 2), b"ok");
}

#[test]
fn ud_and_srd_do_not_reach_each_other() {
    let mut pair = pair();
    let mut srd = pair.a.srd();
    pair.receive(1, 0, 64);
    pair.a.send(&mut srd, &[Wr::inline(1, pair.to_b, b"x")]);
    pair.carry();
    assert_eq!(pair.a.status(), WorkStatus::RemoteBadDestQpn);
    pair.send(&[Wr::inline(2, (pair.to_b.0, srd.number), b"x")]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    assert_eq!(pair.b.all_done(), []);
}

#[test]
fn ud_cannot_do_rdma() {
    let mut pair = pair();
    let (remote, buffer) = (pair.b.remote(0, 8), pair.a.buffer(0, 8));
    pair.send(&[
        Wr::rdma_read(1, pair.to_b, remote, buffer),
        Wr::rdma_write(2, pair.to_b, remote, buffer),
    ]);
    let statuses: Vec<_> = pair.a.all_done().iter().map(|done| done.status).collect();
    assert_eq!(statuses, [WorkStatus::UnsupportedOp; 2]);
}
