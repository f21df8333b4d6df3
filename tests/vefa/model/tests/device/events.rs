// SPDX-License-Identifier: GPL-2.0
//! Asynchronous events and the keep-alive.

use std::time::Duration;

use serde_json::json;
use vefa_model::rules::Rule;
use vefa_model::Config;
use vefa_spec::regs;

use crate::driver::{versions, Driver};

const ALL_GROUPS: u32 = 0x1e;
const SECOND: Duration = Duration::from_secs(1);

fn listening(config: Config) -> Driver {
    let mut driver = Driver::up(config);
    driver.enable_groups(ALL_GROUPS).unwrap();
    driver.interrupts.take();
    driver
}

#[test]
fn keep_alive_comes_at_its_interval_in_every_version() {
    for config in versions() {
        let mut driver = listening(config);
        assert_eq!(driver.pass(SECOND / 2), Some(SECOND));
        assert_eq!(driver.event(), None);
        for n in 1..40 {
            driver.pass(SECOND);
            assert_eq!(driver.event().unwrap().group, 4);
            assert_eq!(driver.counters().keep_alives, n);
        }
        assert_eq!(driver.interrupts.take(), [0; 39]);
        assert_eq!(driver.broken(), []);
    }
}

#[test]
fn keep_alive_can_be_stopped_and_started() {
    let mut driver = listening(Config::default());
    driver.control(json!({"op": "keep_alive", "on": false}));
    driver.pass(5 * SECOND);
    assert_eq!(driver.event(), None);
    driver.control(json!({"op": "keep_alive", "on": true}));
    driver.pass(SECOND);
    assert!(driver.event().is_some());
}

#[test]
fn keep_alive_needs_its_group_enabled() {
    let mut driver = Driver::default_up();
    assert_eq!(driver.pass(5 * SECOND), None);
    assert_eq!(driver.event(), None);
}

#[test]
fn events_carry_group_syndrome_and_time() {
    let mut driver = listening(Config::default());
    driver.control(json!({"op": "keep_alive", "on": false}));
    driver.pass(3 * SECOND);
    for (name, group) in [
        ("fatal", 1),
        ("warning", 2),
        ("notification", 3),
        ("keep_alive", 4),
    ] {
        driver.control(json!({"op": "event", "group": name, "syndrome": 77}));
        let event = driver.event().unwrap();
        assert_eq!((event.group, event.syndrome), (group, 77));
        assert_eq!(event.timestamp_low, 3_000_000);
        assert_eq!(driver.counters().aenq_events[name], 1);
    }
    assert_eq!(driver.interrupts.take(), [0; 4]);
}

#[test]
fn events_of_a_group_that_is_not_enabled_are_not_sent() {
    let mut driver = Driver::default_up();
    let event = json!({"op": "event", "group": "fatal"});
    assert!(!driver.try_control(event.clone()).ok);
    driver.enable_groups(1 << 1).unwrap();
    driver.control(event);
}

#[test]
fn events_without_room_are_dropped_and_counted() {
    let mut driver = listening(Config::default());
    let event = json!({"op": "event", "group": "warning"});
    for _ in 0..16 {
        driver.control(event.clone());
    }
    assert!(!driver.try_control(event.clone()).ok);
    assert_eq!(driver.counters().aenq_dropped, 1);
    driver.event().unwrap();
    driver.control(event);
    assert_eq!(driver.broken(), []);
}

#[test]
fn aenq_entries_belong_to_the_device_after_the_first_doorbell() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::AENQ_CAPS_OFF, (64 << 16) | 16);
    driver.enable_groups(ALL_GROUPS).unwrap();
    let event = json!({"op": "event", "group": "fatal"});
    assert!(!driver.try_control(event.clone()).ok);
    driver.write_register(regs::AENQ_CONS_DB_OFF, 0);
    driver.control(event);
}

#[test]
fn the_aenq_consumer_does_not_pass_the_producer() {
    let mut driver = listening(Config::default());
    driver.write_register(regs::AENQ_CONS_DB_OFF, 1);
    assert_eq!(driver.broken(), [Rule::AenqConsumerAhead]);
    driver.control(json!({"op": "event", "group": "fatal"}));
    driver.write_register(regs::AENQ_CONS_DB_OFF, 1);
    assert_eq!(driver.broken(), []);
    driver.write_register(regs::AENQ_CONS_DB_OFF, 0);
    assert_eq!(driver.broken(), [Rule::AenqConsumerAhead]);
}

#[test]
fn without_bus_mastering_events_are_dropped() {
    let mut driver = listening(Config::default());
    driver.model.set_bus_master(false);
    driver.pass(SECOND);
    assert!(driver.interrupts.take().is_empty());
    assert_eq!(driver.counters().aenq_dropped, 1);
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_reset_ends_the_keep_alive() {
    let mut driver = listening(Config::default());
    driver.reset(vefa_model::names::ResetReason::Shutdown);
    assert_eq!(driver.pass(5 * SECOND), None);
    assert!(driver.interrupts.take().is_empty());
}
