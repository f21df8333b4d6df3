// SPDX-License-Identifier: GPL-2.0
//! Events of completion queues, and event counters.

use vefa_model::names::{QpType, WorkStatus};
use vefa_spec::constants as c;
use vefa_spec::entries::{CompEvent, Eqe};
use vefa_spec::regs;
use vefa_spec::Wire;

use super::pair::Pair;
use super::side::{Cq, Qp, Side};
use super::wr::Wr;
use crate::driver::BUFFER;

/// Where the small driver puts its event queue.
const EQ: u64 = BUFFER;
const VECTOR: u8 = 3;

/// A pair whose second device has a CQ with events, and a QP on it.
struct Listening {
    pair: Pair,
    eq: u16,
    cq: Cq,
    qp: Qp,
}

impl Listening {
    fn new() -> Self {
        let mut pair = Pair::new();
        let eq = pair.b.driver.create_eq(64, VECTOR, 4).unwrap();
        let cq = pair.b.create_cq(|command| {
            command.cq_caps_1 = 1 << 5;
            command.eqn = eq;
        });
        let qp = pair.b.qp(QpType::Srd, |command| {
            command.recv_cq_idx = cq.number.into()
        });
        pair.b.driver.interrupts.take();
        Self { pair, eq, cq, qp }
    }

    fn arm_eq(&mut self) {
        let value = regs::EQ_DB_ARM_MASK | u32::from(self.eq);
        self.pair.b.driver.write_register(regs::EQ_DB_OFF, value);
    }

    fn arm_cq(&mut self) {
        self.pair.b.arm(&self.cq);
    }

    fn message(&mut self) {
        let buffer = self.pair.b.buffer(0, 64);
        self.pair.b.receive(&mut self.qp, 1, &[buffer]);
        self.pair
            .send(&[Wr::inline(1, (self.pair.to_b.0, self.qp.number), b"x")]);
    }

    fn consume(&mut self) -> usize {
        std::iter::from_fn(|| self.pair.b.done_on(&mut self.cq)).count()
    }

    fn interrupts(&self) -> Vec<u16> {
        self.pair.b.driver.interrupts.take()
    }

    /// Events written so far, by the phase bit of the first lap.
    fn events(&self) -> usize {
        let element = |i: &u64| self.pair.b.driver.memory.get::<16>(EQ + 16 * i);
        (0..64).take_while(|i| element(i)[0] & 1 == 1).count()
    }
}

#[test]
fn an_armed_cq_raises_one_event() {
    let mut it = Listening::new();
    it.arm_eq();
    it.message();
    assert_eq!((it.events(), it.interrupts()), (0, vec![]));
    it.consume();
    it.arm_cq();
    it.message();
    it.message();
    assert_eq!((it.events(), it.interrupts()), (1, vec![u16::from(VECTOR)]));
    let element = Eqe::parse(&it.pair.b.driver.memory.get::<16>(EQ)).unwrap();
    assert_eq!(element.common & !1, c::EQE_EVENT_TYPE_COMPLETION << 1);
    let event = CompEvent::parse(&element.event_data.map(u32::to_le_bytes).concat()).unwrap();
    assert_eq!(
        (event.cqn, event.reserved, event.reserved2),
        (it.cq.number, 0, 0)
    );
    it.pair.check();
}

#[test]
fn arming_with_completions_unread_raises_the_event_at_once() {
    let mut it = Listening::new();
    it.arm_eq();
    it.message();
    it.arm_cq();
    assert_eq!((it.events(), it.interrupts().len()), (1, 1));
    it.consume();
    it.arm_eq();
    it.arm_cq();
    assert_eq!((it.events(), it.interrupts().len()), (1, 0));
    it.message();
    assert_eq!((it.events(), it.interrupts().len()), (2, 1));
}

#[test]
fn an_event_before_its_queue_is_armed_interrupts_then() {
    let mut it = Listening::new();
    it.arm_cq();
    it.message();
    assert_eq!((it.events(), it.interrupts().len()), (1, 0));
    it.arm_eq();
    assert_eq!(it.interrupts(), [u16::from(VECTOR)]);
    it.arm_eq();
    assert!(it.interrupts().is_empty());
}

#[test]
fn no_event_is_lost_in_many_rounds() {
    let mut it = Listening::new();
    it.arm_eq();
    for round in 0..500 {
        it.arm_cq();
        it.message();
        assert_eq!(it.interrupts().len(), 1, "{round}");
        assert_eq!(it.consume(), 1);
        it.arm_eq();
    }
    assert_eq!(it.pair.b.driver.counters().cq_events, 500);
}

#[test]
fn consuming_alone_does_not_arm() {
    let mut it = Listening::new();
    it.arm_eq();
    it.message();
    it.consume();
    let value = u32::from(it.cq.consumed);
    let doorbell = it.cq.doorbell();
    it.pair.b.doorbell(doorbell, value);
    it.message();
    assert_eq!(it.events(), 0);
}

#[test]
fn event_counters_count_what_they_are_attached_to() {
    let mut pair = Pair::new();
    let value = |side: &Side, at| u64::get(&side.read(at, 8), 0).unwrap();
    let (sent, failed, received, written, read) = (0x1000, 0x1008, 0x1010, 0x1018, 0x1020);
    let (qp_a, qp_b) = (pair.qp_a.clone(), pair.qp_b.clone());
    let events = c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK
        | c::EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_MASK;
    pair.a.create_counter(sent, &qp_a, events);
    let events = c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_ERR_MASK
        | c::EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_ERR_MASK;
    pair.a.create_counter(failed, &qp_a, events);
    let events = c::EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_MASK;
    pair.b.create_counter(received, &qp_b, events);
    let events = c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_WRITE_COMP_MASK;
    pair.b.create_counter(written, &qp_b, events);
    let events = c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_READ_COMP_MASK;
    pair.b.create_counter(read, &qp_b, events);
    pair.receive(1, 0, 64);
    let to = pair.to_b;
    let long = (pair.b.remote(0x8000, 50_000), pair.a.buffer(0x8000, 50_000));
    let mut bad = long.0;
    bad.rkey ^= 1;
    let wrs = [
        Wr::inline(1, to, b"x"),
        Wr::inline(2, (999, 1), b"x"),
        Wr::rdma_write(3, to, long.0, long.1),
        Wr::rdma_read(4, to, long.0, long.1),
        Wr::rdma_read(5, to, bad, long.1),
    ];
    pair.send(&wrs);
    assert_eq!(pair.a.all_done().len(), 5);
    assert_eq!([sent, failed].map(|at| value(&pair.a, at)), [2, 2]);
    let counts = [received, written, read].map(|at| value(&pair.b, at));
    assert_eq!(counts, [1, 1, 1]);
    pair.check();
}

#[test]
fn a_counter_counts_what_is_not_completed() {
    let mut pair = Pair::new();
    let qp = pair.qp_a.clone();
    let events = c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK;
    pair.a.create_counter(0x1000, &qp, events);
    pair.receive(1, 0, 64);
    let mut quiet = Wr::inline(1, pair.to_b, b"x");
    quiet.meta.ctrl2 &= !16;
    pair.send(&[quiet]);
    assert_eq!(pair.a.all_done(), []);
    assert_eq!(pair.b.status(), WorkStatus::Ok);
    assert_eq!(pair.a.read(0x1000, 8), 1_u64.to_le_bytes());
}
