// SPDX-License-Identifier: GPL-2.0
//! RDMA read and write, and what protects memory from them.

use vefa_model::names::{Capability, QpType, WorkStatus};
use vefa_model::Config;
use vefa_spec::commands::RegMrCmd;

use super::pair::{carry, pattern, Pair};
use super::side::data_mr;
use super::wr::Wr;

/// Twelve packets, the last one short.
const LONG: u32 = 100_000;

#[test]
fn a_write_lands_where_it_was_told_to() {
    let mut pair = Pair::new();
    let data = pattern(LONG as usize, 1);
    pair.a.fill(3, &data);
    let (remote, buffer) = (pair.b.remote(0x2_0001, LONG), pair.a.buffer(3, LONG));
    pair.send(&[Wr::rdma_write(1, pair.to_b, remote, buffer)]);
    let done = pair.a.all_done();
    assert_eq!(
        (done[0].status, done[0].flags()),
        (WorkStatus::Ok, (1 << 1) | (2 << 4))
    );
    assert_eq!(pair.b.all_done(), []);
    let around = pair.b.read(0x2_0000, LONG as usize + 2);
    assert_eq!(around, [vec![0], data, vec![0]].concat());
    let len = u64::from(LONG);
    pair.a
        .expect_traffic(&[("write_wrs", 1), ("write_bytes", len), ("tx_pkts", 12)]);
    pair.b.expect_traffic(&[("write_recv_bytes", len)]);
    pair.check();
}

#[test]
fn a_read_brings_what_is_there() {
    let mut pair = Pair::new();
    let data = pattern(LONG as usize, 2);
    pair.b.fill(0x101, &data);
    let (remote, buffer) = (pair.b.remote(0x101, LONG), pair.a.buffer(0x4_0003, LONG));
    pair.send(&[Wr::rdma_read(1, pair.to_b, remote, buffer)]);
    let done = pair.a.all_done();
    assert_eq!(
        (done[0].status, done[0].flags()),
        (WorkStatus::Ok, (1 << 1) | (1 << 4))
    );
    let around = pair.a.read(0x4_0002, LONG as usize + 2);
    assert_eq!(around, [vec![0], data, vec![0]].concat());
    let len = u64::from(LONG);
    pair.a
        .expect_traffic(&[("read_wrs", 1), ("read_bytes", len)]);
    pair.b.expect_traffic(&[("read_resp_bytes", len)]);
    pair.check();
}

#[test]
fn a_write_with_immediate_takes_a_receive_request_when_all_of_it_is_there() {
    let mut pair = Pair::new();
    pair.a.fill(0, &pattern(LONG as usize, 3));
    pair.receive(5, 0x1f_0000, 64);
    let (remote, buffer) = (pair.b.remote(0, LONG), pair.a.buffer(0, LONG));
    let wr = Wr::rdma_write(1, pair.to_b, remote, buffer).with_immediate(99);
    pair.send(&[wr]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    let received = pair.b.all_done();
    let cdesc = received[0].received();
    assert_eq!((received[0].id, cdesc.imm), (5, 99));
    assert_eq!(received[0].flags(), (2 << 1) | (1 << 3) | (2 << 4));
    let len_hi = u16::from_le_bytes([received[0].entry[16], received[0].entry[17]]);
    assert_eq!((u32::from(len_hi) << 16) | u32::from(cdesc.length), LONG);
    assert_eq!(pair.b.read(0, LONG as usize), pattern(LONG as usize, 3));
    // The receive buffer itself is not written.
    assert_eq!(pair.b.read(0x1f_0000, 64), [0; 64]);
}

#[test]
fn an_unsolicited_write_takes_no_receive_request() {
    let mut pair = Pair::with(&Config::default(), QpType::Srd, |command| command.flags = 4);
    let (remote, buffer) = (pair.b.remote(0, 8), pair.a.buffer(0, 8));
    let wr = Wr::rdma_write(1, pair.to_b, remote, buffer).with_immediate(98);
    pair.receive(5, 0, 64);
    pair.send(&[wr]);
    let received = pair.b.all_done();
    assert_eq!(
        received[0].flags(),
        (2 << 1) | (1 << 3) | (2 << 4) | (1 << 7)
    );
    assert_eq!(received[0].received().imm, 98);
    pair.send(&[Wr::inline(2, pair.to_b, b"x")]);
    assert_eq!(pair.b.all_done()[0].id, 5);
}

#[test]
fn long_descriptors_write_80_bytes_inline_and_short_ones_none() {
    let mut pair = Pair::with(&Config::default(), QpType::Srd, |command| {
        command.qp_alloc_size.send_queue_ring_size = 64 * 128;
    });
    let data = pattern(80, 4);
    let remote = pair.b.remote(0x77, 80);
    pair.send(&[Wr::inline_write(1, pair.to_b, remote, &data)]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    assert_eq!(pair.b.read(0x77, 80), data);
    let mut short = pair.a.srd();
    let remote = pair.b.remote(0, 16);
    pair.a.send(
        &mut short,
        &[Wr::inline_write(1, pair.to_b, remote, &data[..16])],
    );
    assert_eq!(pair.a.status(), WorkStatus::UnsupportedOp);
}

#[test]
fn empty_reads_and_writes_succeed() {
    let mut pair = Pair::new();
    let (remote, buffer) = (pair.b.remote(0, 0), pair.a.buffer(0, 0));
    pair.send(&[
        Wr::rdma_read(1, pair.to_b, remote, buffer),
        Wr::rdma_write(2, pair.to_b, remote, buffer),
    ]);
    let statuses: Vec<_> = pair.a.all_done().iter().map(|done| done.status).collect();
    assert_eq!(statuses, [WorkStatus::Ok; 2]);
}

#[test]
fn memory_that_is_not_for_others_is_out_of_their_reach() {
    let mut pair = Pair::new();
    pair.b.fill(0, &[0xaa; 64]);
    let other_pd = pair.b.driver.alloc_pd().unwrap();
    let pd = pair.b.pd;
    let mut key = |pd, permissions| {
        let command = RegMrCmd {
            permissions,
            ..data_mr(pd)
        };
        pair.b.driver.reg_mr(&command).unwrap().r_key
    };
    let (no_write, no_read, elsewhere) = (key(pd, 1 | 4), key(pd, 1 | 2), key(other_pd, 7));
    let gone = key(pd, 7);
    let l_key = pair.b.mr.l_key;
    pair.b
        .driver
        .dereg_mr(gone ^ pair.b.mr.r_key ^ l_key)
        .unwrap();
    let good = pair.b.remote(0, 8);
    let buffer = pair.a.buffer(0, 8);
    let with_key = |rkey| vefa_spec::io::RemoteMemAddr { rkey, ..good };
    let mut beyond = pair.b.remote(super::side::DATA_LEN - 7, 8);
    beyond.length = 8;
    let (write, read) = (Wr::rdma_write, Wr::rdma_read);
    let forbidden = [
        write(1, pair.to_b, with_key(no_write), buffer),
        read(2, pair.to_b, with_key(no_read), buffer),
        write(3, pair.to_b, with_key(elsewhere), buffer),
        read(4, pair.to_b, with_key(elsewhere), buffer),
        write(5, pair.to_b, with_key(gone), buffer),
        write(6, pair.to_b, with_key(l_key), buffer),
        write(7, pair.to_b, beyond, buffer),
        read(8, pair.to_b, beyond, buffer),
    ];
    for wr in forbidden {
        let id = wr.meta.req_id;
        pair.send(&[wr]);
        assert_eq!(pair.a.status(), WorkStatus::RemoteBadAddress, "{id}");
    }
    assert_eq!(pair.b.read(0, 64), [0xaa; 64]);
    assert_eq!(pair.a.read(0, 8), [0; 8]);
    let allowed = [
        write(9, pair.to_b, with_key(no_read), buffer),
        read(10, pair.to_b, with_key(no_write), buffer),
    ];
    pair.send(&allowed);
    let statuses: Vec<_> = pair.a.all_done().iter().map(|done| done.status).collect();
    assert_eq!(statuses, [WorkStatus::Ok; 2]);
    pair.a
        .expect_traffic(&[("write_wr_err", 5), ("read_wr_err", 3)]);
}

#[test]
fn a_long_write_that_ends_outside_writes_nothing() {
    let mut pair = Pair::new();
    pair.a.fill(0, &pattern(LONG as usize, 6));
    let at = super::side::DATA_LEN - u64::from(LONG) + 1;
    let (remote, buffer) = (pair.b.remote(at, LONG), pair.a.buffer(0, LONG));
    pair.send(&[Wr::rdma_write(1, pair.to_b, remote, buffer)]);
    assert_eq!(pair.a.status(), WorkStatus::RemoteBadAddress);
    assert_eq!(
        pair.b.read(at, LONG as usize - 1),
        vec![0; LONG as usize - 1]
    );
}

#[test]
fn rdma_needs_an_ah_for_the_peer_and_sends_do_not() {
    let mut pair = Pair::new();
    let (pd, ah) = (pair.b.pd, pair.to_a.0);
    pair.b.driver.destroy_ah(pd, ah).unwrap();
    let (remote, buffer) = (pair.b.remote(0, 8), pair.a.buffer(0, 8));
    pair.receive(1, 0, 64);
    for (wr, status) in [
        (
            Wr::rdma_read(1, pair.to_b, remote, buffer),
            WorkStatus::RemoteUnknownPeer,
        ),
        (
            Wr::rdma_write(2, pair.to_b, remote, buffer),
            WorkStatus::RemoteUnknownPeer,
        ),
        (Wr::inline(3, pair.to_b, b"x"), WorkStatus::Ok),
    ] {
        pair.send(&[wr]);
        assert_eq!(pair.a.status(), status);
    }
}

#[test]
fn rdma_needs_the_capability_on_both_sides() {
    let mut pair = Pair::new();
    let (remote, buffer) = (pair.b.remote(0, 8), pair.a.buffer(0, 8));
    let wrs = [
        Wr::rdma_read(1, pair.to_b, remote, buffer),
        Wr::rdma_write(2, pair.to_b, remote, buffer),
    ];
    let statuses = |pair: &mut Pair| -> Vec<_> {
        pair.send(&wrs);
        pair.a.all_done().iter().map(|done| done.status).collect()
    };
    let without = serde_json::json!({"op": "set", "caps": [Capability::RnrRetry.name()]});
    pair.b.driver.control(without.clone());
    assert_eq!(statuses(&mut pair), [WorkStatus::RemoteFeatureMismatch; 2]);
    pair.a.driver.control(without);
    assert_eq!(statuses(&mut pair), [WorkStatus::UnsupportedOp; 2]);
}

#[test]
fn a_region_deregistered_on_the_way_is_out_of_reach() {
    let mut pair = Pair::new();
    let len = 2_000_000;
    let (remote, buffer) = (pair.b.remote(0, len), pair.a.buffer(0, len));
    // Only a part of so much goes out at a time.
    pair.a.send(
        &mut pair.qp_a,
        &[Wr::rdma_write(1, pair.to_b, remote, buffer)],
    );
    let some = pair.a.driver.model.take_packets();
    assert!(!some.is_empty() && some.len() < 100);
    for packet in some {
        pair.b.driver.model.deliver(packet);
    }
    assert_eq!(pair.a.all_done(), []);
    let l_key = pair.b.mr.l_key;
    pair.b.driver.dereg_mr(l_key).unwrap();
    carry(&mut [&mut pair.a, &mut pair.b]);
    assert_eq!(pair.a.status(), WorkStatus::RemoteBadAddress);
    pair.check();
}
