// SPDX-License-Identifier: GPL-2.0
//! What programs must not do, and what the device does not let them do: rings
//! and doorbells at their limits, a device that is off, and random bytes.

use std::time::Duration;

use serde_json::json;
use vefa_model::data::packet::Body;
use vefa_model::names::{QpState, QpType, ResetReason, WorkStatus};
use vefa_model::rules::Rule;
use vefa_model::Config;
use vefa_spec::io::RxDesc;

use super::pair::{pattern, Pair};
use super::side::{Qp, Side, DATA_LEN};
use super::wr::Wr;
use crate::driver::gid;
use crate::hostile::Random;

fn state(side: &mut Side, qp: &Qp) -> QpState {
    let state = side.driver.query_qp(qp.handle).unwrap().qp_state;
    QpState::from_number(state).unwrap()
}

/// The QP is in the error state, and its peer's is not.
fn is_broken(pair: &mut Pair) {
    let (qp_a, qp_b) = (pair.qp_a.clone(), pair.qp_b.clone());
    assert_eq!(state(&mut pair.a, &qp_a), QpState::Err);
    assert_eq!(state(&mut pair.b, &qp_b), QpState::Rts);
    pair.check();
}

#[test]
fn a_send_doorbell_beyond_the_ring_breaks_the_queue_pair() {
    let mut pair = Pair::with(
        &Config {
            min_sq_depth: 0,
            ..Config::default()
        },
        QpType::Srd,
        |_| (),
    );
    let wrs: Vec<_> = (0..64).map(|id| Wr::inline(id, pair.to_b, b"x")).collect();
    pair.send(&wrs);
    assert_eq!(pair.a.all_done(), []);
    assert_eq!(state(&mut pair.a, &pair.qp_a.clone()), QpState::Rts);
    pair.a.ring_send(&pair.qp_a.clone(), 64 + 65);
    is_broken(&mut pair);
    assert_eq!(pair.a.all_done().len(), 64);
}

#[test]
fn a_receive_doorbell_beyond_the_ring_breaks_the_queue_pair() {
    let mut pair = Pair::new();
    pair.a.ring_receive(&pair.qp_a.clone(), 65);
    is_broken(&mut pair);
}

#[test]
fn a_device_with_a_batch_limit_takes_no_larger_batch() {
    let config = Config {
        max_tx_batch: 4,
        ..Config::default()
    };
    let mut pair = Pair::with(&config, QpType::Srd, |_| ());
    let wrs: Vec<_> = (0..5).map(|id| Wr::inline(id, (999, 1), b"x")).collect();
    pair.send(&wrs[..4]);
    assert_eq!(pair.a.all_done().len(), 4);
    pair.send(&wrs);
    is_broken(&mut pair);
}

#[test]
fn a_device_with_a_least_depth_does_not_take_a_whole_ring_at_once() {
    let mut pair = Pair::new();
    let wrs: Vec<_> = (0..64).map(|id| Wr::inline(id, (999, 1), b"x")).collect();
    pair.send(&wrs[..63]);
    assert_eq!(pair.a.all_done().len(), 63);
    pair.send(&wrs);
    assert_eq!(pair.a.all_done().len(), 64);
    is_broken(&mut pair);
}

#[test]
fn a_malformed_descriptor_breaks_the_queue_pair() {
    let flaws: [fn(&mut Wr); 10] = [
        |wr| wr.meta.ctrl1 &= !0x80,
        |wr| wr.meta.ctrl1 |= 0x40,
        |wr| wr.meta.ctrl2 &= !4,
        |wr| wr.meta.ctrl2 &= !8,
        |wr| wr.meta.ctrl2 |= 1,
        |wr| wr.meta.ctrl2 |= 2,
        |wr| wr.meta.ctrl2 |= 0x20,
        |wr| wr.meta.ctrl3 |= 4,
        |wr| wr.meta.reserved2[5] = 1,
        |wr| wr.meta.req_id_ex.w[0] = 1,
    ];
    for flaw in flaws {
        let mut pair = Pair::new();
        let mut wr = Wr::inline(3, pair.to_b, b"x");
        flaw(&mut wr);
        pair.send(&[wr, Wr::inline(4, pair.to_b, b"y")]);
        let done: Vec<_> = pair
            .a
            .all_done()
            .iter()
            .map(|it| (it.id, it.status))
            .collect();
        let expected = [(3, WorkStatus::QpInternalError), (4, WorkStatus::Flushed)];
        assert_eq!(done, expected);
        is_broken(&mut pair);
    }
}

#[test]
fn a_malformed_receive_request_breaks_its_queue_pair() {
    let first = RxDesc {
        length: 8,
        lkey_ctrl: 1 << 30,
        ..RxDesc::default()
    };
    let last = RxDesc {
        lkey_ctrl: 1 << 31,
        ..first
    };
    for descs in [vec![last], vec![first], vec![first, first], vec![first; 4]] {
        let mut pair = Pair::new();
        let mut posted = 0;
        for desc in &descs {
            posted = pair.a.place_receive(&mut pair.qp_a, desc);
        }
        pair.a.ring_receive(&pair.qp_a.clone(), posted);
        let to = pair.to_a;
        pair.b.send(&mut pair.qp_b, &[Wr::inline(1, to, b"x")]);
        pair.carry();
        assert_eq!(pair.b.status(), WorkStatus::RemoteBadDestQpn);
        is_broken(&mut pair);
    }
}

#[test]
fn a_doorbell_without_an_owner_is_the_drivers_fault() {
    let mut side = Side::new(Config::default());
    let qp = side.srd();
    let doorbell = u64::from(qp.created.sq_db_offset);
    side.doorbell(doorbell + 2, 1);
    side.doorbell(doorbell + 64, 1);
    side.doorbell(doorbell + 4096, 1);
    side.destroy(&qp);
    side.doorbell(doorbell, 1);
    assert_eq!(side.driver.broken(), [Rule::DoorbellUnowned; 4]);
}

#[test]
fn a_large_transfer_goes_out_in_pieces() {
    let mut pair = Pair::new();
    let len = DATA_LEN as u32;
    pair.a.fill(0, &pattern(len as usize, 1));
    let (remote, buffer) = (pair.b.remote(0, len), pair.a.buffer(0, len));
    let wrs = [1, 2, 3, 4].map(|id| Wr::rdma_write(id, pair.to_b, remote, buffer));
    pair.a.send(&mut pair.qp_a, &wrs);
    let mut packets = pair.a.driver.model.take_packets();
    let bytes: usize = packets.iter().map(|packet| packet.payload()).sum();
    assert!(bytes > 0 && bytes < 1 << 20, "{bytes}");
    // And it wants to go on.
    let now = pair.a.driver.now;
    assert_eq!(pair.a.driver.pass(Duration::ZERO), Some(now));
    for packet in packets.drain(..) {
        pair.b.driver.model.deliver(packet);
    }
    let mut rounds = 0;
    while pair.a.driver.pass(Duration::ZERO) == Some(now) {
        pair.carry();
        rounds += 1;
    }
    assert!(rounds > 1);
    assert_eq!(pair.a.all_done().len(), 4);
    assert_eq!(pair.b.read(0, len as usize), pattern(len as usize, 1));
}

#[test]
fn a_mute_device_moves_nothing_and_goes_on_afterwards() {
    let mut pair = Pair::new();
    pair.receive(1, 0, 64);
    pair.a
        .send(&mut pair.qp_a, &[Wr::inline(1, pair.to_b, b"x")]);
    pair.a
        .driver
        .control(json!({"op": "fault", "command": "alloc_pd", "action": "mute"}));
    let entry = pair.a.driver.entry(14, 0, &[]);
    pair.a.driver.submit(&entry);
    pair.pass(1000);
    assert_eq!((pair.a.all_done(), pair.b.all_done()), (vec![], vec![]));
    pair.a.driver.control(json!({"op": "clear_faults"}));
    pair.pass(1);
    assert_eq!(pair.a.status(), WorkStatus::Ok);
    assert_eq!(pair.b.read(0, 1), b"x");
}

#[test]
fn without_bus_mastering_nothing_is_read_or_written() {
    let mut pair = Pair::new();
    pair.receive(1, 0, 64);
    pair.a.driver.model.set_bus_master(false);
    pair.send(&[Wr::inline(1, pair.to_b, b"x")]);
    pair.pass(10);
    assert_eq!((pair.a.all_done(), pair.b.all_done()), (vec![], vec![]));
    pair.check();
    // The next doorbell tells of both.
    pair.a.driver.model.set_bus_master(true);
    pair.receive(2, 0, 64);
    pair.send(&[Wr::inline(2, pair.to_b, b"y")]);
    assert_eq!(pair.a.all_done().len(), 2);
}

#[test]
fn a_reset_ends_all_traffic() {
    let mut pair = Pair::new();
    pair.receive(1, 0, 64);
    pair.a
        .send(&mut pair.qp_a, &[Wr::inline(1, pair.to_b, b"x")]);
    let doorbell = u64::from(pair.qp_a.created.sq_db_offset);
    pair.a.driver.reset(ResetReason::Normal);
    pair.pass(1000);
    assert_eq!((pair.a.all_done(), pair.b.all_done()), (vec![], vec![]));
    pair.a.expect_traffic(&[("tx_pkts", 0)]);
    pair.a.doorbell(doorbell, 2);
    assert_eq!(pair.a.driver.broken(), [Rule::DoorbellUnowned]);
}

#[test]
fn messages_after_a_reset_are_not_taken_for_those_before() {
    fn number(side: &mut Side) -> u64 {
        let (mut qp, ah) = (side.srd(), side.ah(gid(9)));
        side.send(&mut qp, &[Wr::inline(1, (ah, 1), b"x")]);
        match &side.driver.model.take_packets()[0].body {
            Body::Request { part, .. } => part.message,
            other => panic!("{other:?}"),
        }
    }
    let mut side = Side::new(Config::default());
    let before = number(&mut side);
    side.driver.bring_up();
    let after = number(&mut Side::on(side.driver));
    assert!(before < after);
}

#[test]
fn random_descriptors_and_doorbells_never_panic() {
    let mut random = Random(0x5eed_0005);
    for _ in 0..40 {
        let kind = QpType::ALL[random.below(2) as usize];
        let wide = random.below(2) as u32;
        let mut pair = Pair::with(&Config::default(), kind, |command| {
            command.qp_alloc_size.send_queue_ring_size = (64 * 64) << wide;
        });
        for id in 0..8 {
            pair.receive(id, u64::from(id) * 64, 64);
        }
        for _ in 0..50 {
            let mut wr = match random.below(3) {
                0 => Wr::inline(random.next(), pair.to_b, b"hello"),
                1 => {
                    let remote = pair.b.remote(random.below(DATA_LEN), random.next() as u32);
                    let buffer = pair.a.buffer(random.below(DATA_LEN), random.next() as u32);
                    Wr::rdma_write(1, pair.to_b, remote, buffer)
                }
                _ => Wr::send(2, pair.to_b, &[pair.a.buffer(random.next() >> 8, 99)]),
            };
            if random.below(2) == 0 {
                random.fill(&mut wr.body);
            }
            if random.below(8) == 0 {
                wr.meta.length = random.next() as u16;
                wr.meta.ctrl1 ^= 1 << random.below(8);
            }
            pair.a.place(&mut pair.qp_a, &[wr]);
            let value = match random.below(20) {
                0 => random.next() as u16,
                _ => pair.qp_a.sent(),
            };
            pair.a.ring_send(&pair.qp_a.clone(), value);
            pair.carry();
            pair.pass(random.below(3));
        }
        pair.pass(1500);
        for done in pair.a.all_done() {
            assert_eq!(done.qp, pair.qp_a.number);
        }
        pair.check();
    }
}
