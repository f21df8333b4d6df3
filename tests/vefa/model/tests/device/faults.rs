// SPDX-License-Identifier: GPL-2.0
//! Scripted faults: each does what it says, to the commands it names.

use std::time::Duration;

use serde_json::{json, Value};
use vefa_model::names::{Opcode, ResetReason, Status};
use vefa_model::Config;
use vefa_spec::regs;

use crate::driver::{gid, versions, Completion, Driver};

fn alloc_pd(driver: &mut Driver) -> Option<Completion> {
    let entry = driver.entry(Opcode::AllocPd.number(), 0, &[]);
    driver.submit(&entry)
}

fn scripted(fault: Value) -> Driver {
    let mut driver = Driver::default_up();
    driver.control(fault);
    driver
}

#[test]
fn every_status_can_be_scripted_and_nothing_is_executed() {
    for status in &Status::ALL[1..] {
        let mut driver = Driver::default_up();
        let pd = driver.alloc_pd().unwrap();
        driver.control(json!({
            "op": "fault", "command": "create_ah", "action": "status", "status": status.name()
        }));
        assert_eq!(driver.create_ah(pd, gid(1)), Err(*status));
        assert_eq!(driver.live("ah"), 0);
        driver.create_ah(pd, gid(1)).unwrap();
        let counts = driver.counters().commands["create_ah"];
        assert_eq!((counts.seen, counts.ok, counts.failed), (2, 1, 1));
    }
}

#[test]
fn a_refused_destroy_ah_leaves_the_ah_live() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let ah = driver.create_ah(pd, gid(1)).unwrap();
    driver.control(json!({
        "op": "fault", "command": "destroy_ah", "action": "status", "status": "unknown_error"
    }));
    assert_eq!(driver.destroy_ah(pd, ah), Err(Status::UnknownError));
    assert_eq!(driver.live("ah"), 1);
    driver.destroy_ah(pd, ah).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_denied_destroy_ah_is_carried_out_all_the_same() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let ah = driver.create_ah(pd, gid(1)).unwrap();
    driver.control(json!({
        "op": "fault", "command": "destroy_ah", "action": "deny", "status": "unknown_error"
    }));
    assert_eq!(driver.destroy_ah(pd, ah), Err(Status::UnknownError));
    assert_eq!(driver.live("ah"), 0);
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_delayed_completion_comes_when_it_is_due() {
    let mut driver =
        scripted(json!({"op": "fault", "command": "alloc_pd", "action": "delay", "ms": 30}));
    assert_eq!(alloc_pd(&mut driver), None);
    let due = Some(Duration::from_millis(30));
    assert_eq!(driver.model.poll(driver.now), due);
    driver.pass(Duration::from_millis(29));
    assert_eq!(driver.completion(), None);
    driver.pass(Duration::from_millis(1));
    assert_eq!(driver.completion().unwrap().status, Status::Success);
    assert_eq!(driver.interrupts.take(), [0]);
}

#[test]
fn a_command_overtakes_a_delayed_one() {
    let mut driver = scripted(json!({"op": "fault", "command": "*", "action": "delay", "ms": 30}));
    assert_eq!(alloc_pd(&mut driver), None);
    assert_eq!(alloc_pd(&mut driver).unwrap().id, 1);
    driver.pass(Duration::from_millis(30));
    assert_eq!(driver.completion().unwrap().id, 0);
}

#[test]
fn delayed_completions_come_in_the_order_in_which_they_are_due() {
    let mut driver = Driver::default_up();
    for ms in [30, 10, 20] {
        driver.control(json!({"op": "fault", "command": "*", "action": "delay", "ms": ms}));
        assert_eq!(alloc_pd(&mut driver), None);
    }
    driver.pass(Duration::from_millis(40));
    let ids: Vec<_> = std::iter::from_fn(|| driver.completion())
        .map(|c| c.id)
        .collect();
    assert_eq!(ids, [1, 2, 0]);
}

#[test]
fn a_held_completion_comes_when_the_faults_are_cleared_and_nobody_waits_for_it() {
    let mut driver = scripted(json!({"op": "fault", "command": "alloc_pd", "action": "hold"}));
    assert_eq!(alloc_pd(&mut driver), None);
    assert_eq!(driver.live("pd"), 1);
    assert_eq!(alloc_pd(&mut driver).unwrap().id, 1);
    driver.pass(Duration::from_secs(60));
    assert_eq!(driver.completion(), None);
    driver.interrupts.take();
    driver.control(json!({"op": "clear_faults"}));
    let completion = driver.completion().unwrap();
    assert_eq!((completion.id, completion.status), (0, Status::Success));
    assert_eq!(driver.interrupts.take(), [0]);
}

#[test]
fn a_reset_drops_delayed_completions() {
    let mut driver = scripted(json!({"op": "fault", "command": "*", "action": "delay", "ms": 30}));
    assert_eq!(alloc_pd(&mut driver), None);
    driver.reset(ResetReason::AdminTimeout);
    driver.set_up_queues();
    driver.pass(Duration::from_secs(1));
    assert_eq!(driver.completion(), None);
    assert!(driver.interrupts.take().is_empty());
}

#[test]
fn a_dropped_completion_never_comes_though_the_command_ran() {
    let mut driver =
        scripted(json!({"op": "fault", "command": "alloc_pd", "action": "drop_completion"}));
    assert_eq!(alloc_pd(&mut driver), None);
    driver.pass(Duration::from_secs(60));
    assert_eq!(driver.completion(), None);
    assert!(driver.interrupts.take().is_empty());
    assert_eq!(driver.live("pd"), 1);
    assert_eq!(alloc_pd(&mut driver).unwrap().id, 1);
}

#[test]
fn a_dropped_interrupt_leaves_the_completion() {
    let mut driver =
        scripted(json!({"op": "fault", "command": "alloc_pd", "action": "drop_interrupt"}));
    assert!(alloc_pd(&mut driver).is_some());
    assert!(driver.interrupts.take().is_empty());
    assert!(alloc_pd(&mut driver).is_some());
    assert_eq!(driver.interrupts.take(), [0]);
}

#[test]
fn a_late_interrupt_comes_after_the_completion() {
    let mut driver = scripted(
        json!({"op": "fault", "command": "alloc_pd", "action": "late_interrupt", "ms": 300}),
    );
    assert!(alloc_pd(&mut driver).is_some());
    driver.pass(Duration::from_millis(299));
    assert!(driver.interrupts.take().is_empty());
    driver.pass(Duration::from_millis(1));
    assert_eq!(driver.interrupts.take(), [0]);
}

#[test]
fn a_bad_checksum_comes_before_the_right_completion() {
    for config in &versions()[1..] {
        let mut driver = Driver::up(config.clone());
        driver.control(json!({"op": "fault", "command": "*", "action": "bad_crc"}));
        let bad = alloc_pd(&mut driver).unwrap();
        let right = driver.completion().unwrap();
        assert!(!bad.checksum_matches && right.checksum_matches);
        assert_eq!(bad.id, right.id);
        assert_eq!(driver.interrupts.take(), [0]);
    }
}

#[test]
fn a_wrong_id_comes_before_the_right_completion() {
    let mut driver = scripted(json!({"op": "fault", "command": "*", "action": "wrong_id"}));
    let wrong = alloc_pd(&mut driver).unwrap();
    assert!(wrong.checksum_matches);
    assert_ne!(wrong.id, 0);
    assert_eq!(driver.completion().unwrap().id, 0);
}

#[test]
fn a_duplicate_completion_is_the_same_twice() {
    let mut driver = scripted(json!({"op": "fault", "command": "*", "action": "duplicate"}));
    let first = alloc_pd(&mut driver).unwrap();
    assert_eq!(driver.completion().unwrap(), first);
    assert_eq!(driver.completion(), None);
}

#[test]
fn an_early_phase_is_a_stale_entry_before_the_right_completion() {
    let mut driver = Driver::default_up();
    for _ in 0..32 {
        driver.alloc_pd().unwrap();
    }
    driver.control(json!({"op": "fault", "command": "*", "action": "early_phase"}));
    let stale = alloc_pd(&mut driver).unwrap();
    assert_eq!(stale.id, 0);
    assert!(!stale.checksum_matches);
    let right = driver.completion().unwrap();
    assert_eq!(right.id, 32);
    assert!(right.checksum_matches);
}

#[test]
fn a_bad_entry_alone_takes_the_place_of_the_right_one() {
    for action in ["bad_crc", "wrong_id", "early_phase"] {
        let mut driver =
            scripted(json!({"op": "fault", "command": "*", "action": action, "alone": true}));
        let bad = alloc_pd(&mut driver).unwrap();
        assert!(!bad.checksum_matches || bad.id != 0, "{action}");
        assert_eq!(driver.completion(), None, "{action}");
    }
}

#[test]
fn a_mute_device_answers_nothing_until_it_is_reset() {
    let mut driver = Driver::default_up();
    driver.enable_groups(1 << 4).unwrap();
    driver.interrupts.take();
    driver.control(json!({"op": "fault", "command": "alloc_pd", "action": "mute"}));
    assert_eq!(alloc_pd(&mut driver), None);
    assert_eq!(alloc_pd(&mut driver), None);
    driver.pass(Duration::from_secs(5));
    assert_eq!(driver.event(), None);
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), None);
    assert!(driver.interrupts.take().is_empty());
    assert_eq!(driver.live("pd"), 0);
    driver.reset(ResetReason::AdminTimeout);
    driver.set_up_queues();
    driver.alloc_pd().unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn clearing_the_faults_ends_muteness() {
    let mut driver = scripted(json!({"op": "fault", "command": "*", "action": "mute"}));
    assert_eq!(alloc_pd(&mut driver), None);
    driver.control(json!({"op": "clear_faults"}));
    assert!(alloc_pd(&mut driver).is_some());
}

#[test]
fn several_faults_on_one_command_add_up() {
    let mut driver = scripted(json!({"op": "fault", "command": "*", "action": "drop_interrupt"}));
    driver.control(json!({"op": "fault", "command": "alloc_pd", "action": "duplicate"}));
    let first = alloc_pd(&mut driver).unwrap();
    assert_eq!(driver.completion(), Some(first));
    assert!(driver.interrupts.take().is_empty());
    let log = driver.control(json!({"op": "log"}));
    let entry = log["log"].as_array().unwrap().last().unwrap();
    assert_eq!(entry["faults"], json!(["drop_interrupt", "duplicate"]));
}

#[test]
fn faults_to_come_are_listed_until_they_are_used_up() {
    let mut driver = scripted(json!({
        "op": "fault", "command": "alloc_pd", "nth": 2, "action": "delay", "ms": 1
    }));
    driver.alloc_pd().unwrap();
    let faults = driver.control(json!({"op": "faults"}));
    assert_eq!(faults["faults"][0]["fault"], 1);
    assert_eq!(faults["faults"][0]["seen"], 1);
    assert_eq!(faults["faults"][0]["command"], "alloc_pd");
    assert_eq!(alloc_pd(&mut driver), None);
    assert_eq!(driver.control(json!({"op": "faults"}))["faults"], json!([]));
}

#[test]
fn impossible_faults_are_refused() {
    let mut driver = Driver::up(Config::default());
    for fault in [
        json!({"op": "fault", "command": "create_everything", "action": "mute"}),
        json!({"op": "fault", "command": "*", "action": "delay"}),
        json!({"op": "fault", "command": "*", "action": "status"}),
        json!({"op": "fault", "command": "*", "action": "mute", "ms": 1}),
        json!({"op": "fault", "command": "*", "action": "mute", "nth": 0}),
    ] {
        assert!(!driver.try_control(fault.clone()).ok, "{fault}");
    }
}
