// SPDX-License-Identifier: GPL-2.0
//! The end of a session: memory that the device was given before is never touched again, whatever
//! was under way; and what a test sees of memory that the device still knows.

use std::ops::Range;

use serde_json::{json, Map, Value};
use vefa_model::names::{Opcode, ResetReason};
use vefa_model::GuestMemory;

use super::pair::{carry, pass};
use super::side::Side;
use super::wr::Wr;
use crate::driver::{Driver, ACQ, AENQ, BUFFER, MEMORY_BASE};

const LEN: u32 = 60_000;
/// Memory of the program and of its rings; that of the driver's queues is before it.
const OF_OBJECTS: Range<u64> = 0x20_0000..0x50_0000;
const ALL: Range<u64> = MEMORY_BASE..0x50_0000;

/// A device on which everything that can be late is under way.
fn busy() -> Side {
    let mut driver = Driver::default_up();
    driver.enable_groups(1 << 4).unwrap();
    driver.create_eq(16, 1, 4).unwrap();
    let mut side = Side::on(driver);
    let [mut one, mut two, mut holding, waiting] = [(); 4].map(|()| side.srd());
    let ah = side.ah(side.gid());

    // A completion that is held back.
    let hold = json!({"op": "hold_completions", "on": true, "qp": holding.number});
    side.driver.control(hold);
    let buffer = side.buffer(0, 64);
    side.receive(&mut holding, 1, &[buffer]);
    side.send(&mut one, &[Wr::inline(1, (ah, holding.number), &[1; 8])]);
    carry(&mut [&mut side]);
    // A message without a receive buffer, which is sent again and again.
    side.send(&mut one, &[Wr::inline(2, (ah, waiting.number), &[2; 8])]);
    carry(&mut [&mut side]);
    // Packets of a write and of a read on their way, and some that are still to go out.
    let network = json!({"op": "network", "delay_ms": 50, "repeat": 2});
    side.driver.control(network);
    side.fill(0x1000, &[3; LEN as usize]);
    side.fill(0x2_0000, &[4; LEN as usize]);
    for at in [0x1000, 0x2_0000] {
        let (remote, buffer) = (side.remote(at + 0x10_0000, LEN), side.buffer(at, LEN));
        let write = Wr::rdma_write(3, (ah, two.number), remote, buffer);
        side.send(&mut one, &[write]);
        let (remote, buffer) = (side.remote(at, LEN), side.buffer(at + 0x8_0000, LEN));
        let read = Wr::rdma_read(4, (ah, one.number), remote, buffer);
        side.send(&mut two, &[read]);
        if at == 0x1000 {
            carry(&mut [&mut side]);
        }
    }
    // A command whose completion is due later.
    let delay = json!({"op": "fault", "command": "alloc_pd", "action": "delay", "ms": 40});
    side.driver.control(delay);
    let entry = side.driver.entry(Opcode::AllocPd.number(), 0, &[]);
    assert_eq!(side.driver.submit(&entry), None);
    side.driver.interrupts.take();
    side
}

fn contents(side: &Side, range: Range<u64>) -> Vec<u8> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    side.driver.memory.read(range.start, &mut bytes).unwrap();
    bytes
}

/// Lets all that is under way happen.
fn let_go(side: &mut Side) {
    pass(&mut [side], 100);
    for request in [
        json!({"op": "hold_completions", "on": false}),
        json!({"op": "clear_faults"}),
        json!({"op": "event", "group": "keep_alive"}),
        json!({"op": "completion_event", "eq": 0, "cq": 0}),
    ] {
        side.driver.try_control(request);
    }
    pass(&mut [side], 10_000);
}

/// What the device did until the last reset, since the one before it.
fn did(side: &mut Side) -> Map<String, Value> {
    let log = side.driver.control(json!({"op": "log"}));
    let log = log["log"].as_array().unwrap();
    let resets = log
        .iter()
        .rev()
        .find_map(|entry| entry["did"].as_object().cloned());
    resets.unwrap()
}

fn nothing() -> Map<String, Value> {
    let zero = json!({"dma_reads": 0, "dma_writes": 0, "interrupts": 0});
    zero.as_object().unwrap().clone()
}

#[test]
fn without_an_end_all_that_is_late_comes() {
    let mut side = busy();
    let before = contents(&side, OF_OBJECTS);
    let_go(&mut side);
    assert_ne!(contents(&side, OF_OBJECTS), before);
    assert!(side.driver.completion().is_some());
    assert!(side.driver.event().is_some());
    side.driver.reset(ResetReason::Normal);
    let did = did(&mut side);
    for (what, count) in &did {
        assert!(count.as_u64().unwrap() > 0, "{what}");
    }
}

#[test]
fn after_a_reset_nothing_of_the_session_is_touched() {
    for reason in ResetReason::ALL {
        let mut side = busy();
        side.driver.reset(*reason);
        let before = contents(&side, ALL);
        let_go(&mut side);
        assert!(contents(&side, ALL) == before, "{}", reason.name());
        assert!(side.driver.interrupts.take().is_empty());
        side.driver.reset(ResetReason::Normal);
        assert_eq!(did(&mut side), nothing());
    }
}

#[test]
fn after_a_function_reset_nothing_of_the_session_is_touched() {
    let mut side = busy();
    side.driver.model.function_reset();
    let before = contents(&side, ALL);
    side.driver.model.set_bus_master(true);
    let_go(&mut side);
    assert!(contents(&side, ALL) == before);
    assert!(side.driver.interrupts.take().is_empty());
    side.driver.model.function_reset();
    assert_eq!(did(&mut side), nothing());
}

#[test]
fn what_is_late_does_not_reach_the_next_session() {
    let mut side = busy();
    side.driver.bring_up();
    let mut next = Side::on(side.driver);
    let _qps = [(); 4].map(|()| next.srd());
    let before = contents(&next, OF_OBJECTS);
    let_go(&mut next);
    assert!(contents(&next, OF_OBJECTS) == before);
    assert_eq!(next.all_done(), []);
    assert_eq!(next.driver.completion(), None);
}

#[test]
fn reach_names_all_memory_that_the_device_knows_until_it_is_reset() {
    let mut side = busy();
    let known = side.driver.control(json!({"op": "reach"}));
    let known = known["reach"].as_array().unwrap().clone();
    let count = |of: &str| known.iter().filter(|known| known["of"] == of).count();
    let kinds = [
        "aq",
        "acq",
        "aenq",
        "register_answer",
        "eq",
        "cq",
        "qp",
        "mr",
    ];
    assert_eq!(kinds.map(count), [1, 1, 1, 1, 1, 1, 4, 1]);
    let at = |address: u64| known.iter().find(|known| known["address"] == address);
    assert_eq!(at(ACQ).unwrap()["bytes"], 32 * 64);
    assert_eq!(at(AENQ).unwrap()["bytes"], 16 * 64);
    assert_eq!(at(BUFFER).unwrap()["of"], "eq");
    side.driver.reset(ResetReason::Normal);
    let known = side.driver.control(json!({"op": "reach"}));
    let known = known["reach"].as_array().unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!(known[0]["of"], "register_answer");
}

#[test]
fn a_byte_that_somebody_writes_changes_the_digest_of_its_memory_alone() {
    let mut side = busy();
    let before = side.driver.control(json!({"op": "reach"}));
    side.driver.memory.write(AENQ + 16 * 64 - 1, &[1]).unwrap();
    let after = side.driver.control(json!({"op": "reach"}));
    let pairs = |reach: &Map<String, Value>| reach["reach"].as_array().unwrap().clone();
    let changed = pairs(&before)
        .into_iter()
        .zip(pairs(&after))
        .filter(|(before, after)| before != after);
    let changed: Vec<_> = changed.map(|(known, _)| known["of"].clone()).collect();
    assert_eq!(changed, ["aenq"]);
}
