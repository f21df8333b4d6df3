// SPDX-License-Identifier: GPL-2.0
//! What the control socket scripts: packets that come late, out of order,
//! twice or never; work requests that fail; completions that are held back.

use serde_json::{json, Value};
use vefa_model::names::{QpType, WorkStatus};
use vefa_model::Config;

use super::pair::{carry, pattern, Pair};
use super::side::Side;
use super::wr::Wr;

fn ids(side: &mut Side) -> Vec<u64> {
    side.all_done().iter().map(|done| done.id).collect()
}

/// Four messages, each to a buffer of its own.
fn four(pair: &mut Pair) -> [Wr; 4] {
    for id in 0..4 {
        pair.receive(id, u64::from(id) * 64, 64);
    }
    [0, 1, 2, 3].map(|n| Wr::inline(n, pair.to_b, &[n as u8; 8]))
}

fn network(side: &mut Side, script: Value) {
    let mut request = script;
    request["op"] = json!("network");
    side.driver.control(request);
}

#[test]
fn messages_arrive_out_of_order_and_whole() {
    let mut pair = Pair::new();
    let wrs = four(&mut pair);
    network(&mut pair.a, json!({"reorder": 4}));
    pair.send(&wrs);
    assert_eq!(ids(&mut pair.b), [0, 1, 2, 3]);
    // The first receive buffer has what was sent last.
    let received = [0, 64, 128, 192].map(|at| pair.b.read(at, 8));
    assert_eq!(received, [3, 2, 1, 0].map(|n| vec![n; 8]));
    assert_eq!(ids(&mut pair.a), [3, 2, 1, 0]);
}

#[test]
fn the_parts_of_a_write_arrive_out_of_order_and_its_immediate_data_last() {
    let mut pair = Pair::new();
    let len = 60_000;
    let data = pattern(len as usize, 1);
    pair.a.fill(0, &data);
    pair.receive(1, 0x1f_0000, 64);
    network(&mut pair.a, json!({"reorder": 3}));
    let (remote, buffer) = (pair.b.remote(0, len), pair.a.buffer(0, len));
    pair.send(&[Wr::rdma_write(1, pair.to_b, remote, buffer).with_immediate(1)]);
    let mut ms = 0;
    while pair.b.all_done().is_empty() {
        pair.pass(1);
        ms += 1;
        assert!(ms < 100, "nothing came");
    }
    assert_eq!(pair.b.read(0, len as usize), data);
    pair.pass(1);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
}

#[test]
fn a_read_out_of_order_brings_the_right_bytes() {
    let mut pair = Pair::new();
    let len = 60_000;
    let data = pattern(len as usize, 1);
    pair.b.fill(0, &data);
    network(&mut pair.b, json!({"reorder": 5, "delay_ms": 1}));
    let (remote, buffer) = (pair.b.remote(0, len), pair.a.buffer(9, len));
    pair.send(&[Wr::rdma_read(1, pair.to_b, remote, buffer)]);
    pair.pass(100);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    assert_eq!(pair.a.read(9, len as usize), data);
}

#[test]
fn delayed_packets_hold_the_completion_back() {
    let mut pair = Pair::new();
    let wrs = four(&mut pair);
    network(&mut pair.a, json!({"delay_ms": 10}));
    pair.send(&wrs);
    pair.pass(9);
    assert_eq!((ids(&mut pair.a), ids(&mut pair.b)), (vec![], vec![]));
    pair.pass(1);
    assert_eq!(ids(&mut pair.b), [0, 1, 2, 3]);
    assert_eq!(ids(&mut pair.a), [0, 1, 2, 3]);
}

#[test]
fn a_lost_packet_is_sent_again() {
    let mut pair = Pair::new();
    let wrs = four(&mut pair);
    network(&mut pair.a, json!({"lose": 2}));
    pair.send(&wrs);
    assert_eq!(ids(&mut pair.a), [2, 3]);
    pair.pass(200);
    assert_eq!(ids(&mut pair.a), [0, 1]);
    let received = [0, 64, 128, 192].map(|at| pair.b.read(at, 8));
    assert_eq!(received, [2, 3, 0, 1].map(|n| vec![n; 8]));
    pair.a.expect_traffic(&[
        ("retrans_pkts", 2),
        ("retrans_bytes", 16),
        ("retrans_timeout_events", 2),
        ("impaired_remote_conn_events", 2),
        ("tx_pkts", 6),
        ("send_wrs", 4),
    ]);
}

#[test]
fn a_message_whose_answer_is_lost_is_carried_out_once() {
    let mut pair = Pair::new();
    let wrs = four(&mut pair);
    network(&mut pair.b, json!({"lose": 4}));
    pair.send(&wrs);
    assert!(ids(&mut pair.a).is_empty());
    pair.pass(200);
    assert_eq!(ids(&mut pair.a), [0, 1, 2, 3]);
    assert_eq!(ids(&mut pair.b), [0, 1, 2, 3]);
    pair.b.expect_traffic(&[("recv_wrs", 4)]);
}

#[test]
fn a_failure_whose_answer_is_lost_stays_the_same() {
    let mut pair = Pair::new();
    pair.receive(1, 0, 1);
    network(&mut pair.b, json!({"lose": 1}));
    pair.send(&[Wr::inline(1, pair.to_b, b"long")]);
    pair.receive(2, 0, 64);
    pair.pass(200);
    assert_eq!(pair.a.status(), WorkStatus::RemoteBadLength);
    assert_eq!(ids(&mut pair.b), [1]);
}

#[test]
fn a_repeated_packet_is_carried_out_once() {
    let mut pair = Pair::new();
    let wrs = four(&mut pair);
    network(&mut pair.a, json!({"repeat": 4}));
    pair.send(&wrs);
    assert_eq!(ids(&mut pair.a), [0, 1, 2, 3]);
    assert_eq!(ids(&mut pair.b), [0, 1, 2, 3]);
    // Datagrams promise nothing.
    let mut pair = Pair::with(&Config::default(), QpType::Ud, |_| ());
    let wrs = four(&mut pair);
    network(&mut pair.a, json!({"repeat": 1}));
    pair.send(&wrs[..1]);
    assert_eq!(ids(&mut pair.b), [0, 1]);
}

#[test]
fn a_late_copy_of_a_write_does_not_undo_what_came_after() {
    let mut pair = Pair::new();
    pair.a.fill(0, b"old");
    let (remote, buffer) = (pair.b.remote(0, 3), pair.a.buffer(0, 3));
    let write = |id| Wr::rdma_write(id, pair.to_b, remote, buffer);
    let (first, second) = (write(1), write(2));
    network(&mut pair.b, json!({"lose": 1}));
    pair.send(&[first]);
    pair.a.fill(0, b"new");
    pair.send(&[second]);
    assert_eq!(pair.b.read(0, 3), b"new");
    pair.a.fill(0, b"???");
    pair.pass(200);
    assert_eq!(ids(&mut pair.a), [2, 1]);
    assert_eq!(pair.b.read(0, 3), b"new");
}

#[test]
fn a_scripted_status_ends_the_work_request_that_it_hits() {
    let mut pair = Pair::new();
    for status in WorkStatus::ALL {
        let wrs = four(&mut pair);
        pair.a.driver.control(json!({
            "op": "work_fault", "operation": "send", "qp": pair.qp_a.number,
            "nth": 2, "action": "status", "status": status.name()
        }));
        pair.send(&wrs);
        let mut done = pair.a.all_done();
        done.sort_by_key(|done| done.id);
        let statuses: Vec<_> = done.iter().map(|done| done.status).collect();
        let ok = WorkStatus::Ok;
        assert_eq!(statuses, [ok, *status, ok, ok]);
        assert_eq!(ids(&mut pair.b).len(), 3);
        // A buffer is left over.
        pair.send(&[Wr::inline(9, pair.to_b, b"x")]);
        assert_eq!((ids(&mut pair.a), ids(&mut pair.b)), (vec![9], vec![3]));
    }
}

#[test]
fn a_scripted_delay_lets_others_pass() {
    let mut pair = Pair::new();
    let wrs = four(&mut pair);
    let fault = json!({"op": "work_fault", "action": "delay", "ms": 20});
    pair.a.driver.control(fault);
    pair.send(&wrs);
    assert_eq!(ids(&mut pair.a), [1, 2, 3]);
    pair.pass(19);
    assert!(ids(&mut pair.a).is_empty());
    pair.pass(1);
    assert_eq!(ids(&mut pair.a), [0]);
    assert_eq!(pair.b.read(192, 8), [0; 8]);
}

#[test]
fn a_lost_work_request_ends_when_its_peer_is_given_up() {
    let config = Config {
        retransmit_ms: 5,
        retransmit_limit: 1,
        ..Config::default()
    };
    let mut pair = Pair::with(&config, QpType::Srd, |_| ());
    let wrs = four(&mut pair);
    pair.a
        .driver
        .control(json!({"op": "work_fault", "action": "lose"}));
    pair.send(&wrs);
    assert_eq!(ids(&mut pair.a), [1, 2, 3]);
    pair.pass(10);
    assert_eq!(pair.a.status(), WorkStatus::UnresponsiveRemote);
    assert_eq!(ids(&mut pair.b), [0, 1, 2]);
}

#[test]
fn pending_faults_are_listed_and_cleared() {
    let mut pair = Pair::new();
    let fault = json!({"op": "work_fault", "operation": "rdma_read", "action": "lose", "count": 0});
    pair.a.driver.control(fault);
    let listed = pair.a.driver.control(json!({"op": "faults"}));
    assert_eq!(listed["work_faults"][0]["operation"], "rdma_read");
    network(&mut pair.a, json!({"lose": 100}));
    pair.a
        .driver
        .control(json!({"op": "hold_completions", "on": true}));
    pair.a.driver.control(json!({"op": "clear_faults"}));
    let listed = pair.a.driver.control(json!({"op": "faults"}));
    assert_eq!(listed["work_faults"], json!([]));
    pair.receive(1, 0, 64);
    let (remote, buffer) = (pair.b.remote(0, 8), pair.a.buffer(0, 8));
    pair.send(&[Wr::rdma_read(1, pair.to_b, remote, buffer)]);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    for bad in [
        json!({"op": "work_fault", "action": "status"}),
        json!({"op": "work_fault", "action": "delay"}),
        json!({"op": "work_fault", "action": "lose", "nth": 0}),
    ] {
        assert!(!pair.a.driver.try_control(bad).ok);
    }
}

#[test]
fn held_completions_come_when_they_are_let_go() {
    let mut pair = Pair::new();
    let mut other = pair.a.srd();
    let number = pair.qp_a.number;
    pair.a
        .driver
        .control(json!({"op": "hold_completions", "qp": number, "on": true}));
    let [first, second, ..] = four(&mut pair);
    pair.send(&[first]);
    pair.a.send(&mut other, &[second]);
    pair.carry();
    assert_eq!(ids(&mut pair.b), [0, 1]);
    assert_eq!(ids(&mut pair.a), [1]);
    pair.a
        .driver
        .control(json!({"op": "hold_completions", "qp": number, "on": false}));
    assert_eq!(ids(&mut pair.a), [0]);
}

#[test]
fn held_completions_of_a_destroyed_cq_are_dropped() {
    let mut pair = Pair::new();
    let cq = pair.a.create_cq(|_| ());
    let mut qp = pair.a.qp(QpType::Srd, |command| {
        command.send_cq_idx = cq.number.into();
        command.recv_cq_idx = cq.number.into();
    });
    pair.receive(1, 0, 64);
    pair.a
        .driver
        .control(json!({"op": "hold_completions", "on": true}));
    pair.a.send(&mut qp, &[Wr::inline(1, pair.to_b, b"x")]);
    carry(&mut [&mut pair.a, &mut pair.b]);
    pair.a.destroy(&qp);
    pair.a.driver.destroy_cq(cq.number).unwrap();
    // It takes the number of the old one.
    let mut new = pair.a.create_cq(|_| ());
    assert_eq!(new.number, cq.number);
    pair.a
        .driver
        .control(json!({"op": "hold_completions", "on": false}));
    assert_eq!(pair.a.done_on(&mut new), None);
    pair.check();
}
