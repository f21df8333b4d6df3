// SPDX-License-Identifier: GPL-2.0
//! Event counters: their commands, their values in host memory.

use serde_json::json;
use vefa_model::names::{Opcode, QpType, Status};
use vefa_model::rules::Rule;
use vefa_model::Config;
use vefa_spec::features::QueueAttr2;

use crate::driver::{Driver, BUFFER};
use crate::verbs::qp_command;

const ILLEGAL: Status = Status::IllegalParameter;
const ATTACH: Opcode = Opcode::AttachEventCounter;
const DETACH: Opcode = Opcode::DetachEventCounter;

fn value(driver: &Driver) -> u64 {
    u64::from_le_bytes(driver.memory.get(BUFFER))
}

#[test]
fn a_value_is_in_host_memory_after_each_command() {
    let mut driver = Driver::default_up();
    let uar = driver.alloc_uar().unwrap();
    driver.write_list(BUFFER, &[77]);
    let counter = driver.create_counter(uar, BUFFER).unwrap();
    assert_eq!(value(&driver), 0);
    driver.modify_counter(counter, 0, 40).unwrap();
    assert_eq!(value(&driver), 40);
    driver.modify_counter(counter, 1, 2).unwrap();
    assert_eq!(value(&driver), 42);
    assert_eq!(driver.live("event_counter"), 1);
    assert_eq!(driver.dealloc_uar(uar), Err(Status::ResourceBusy));
    assert_eq!(driver.broken(), [Rule::UarBusy]);
    driver.destroy_counter(counter).unwrap();
    driver.dealloc_uar(uar).unwrap();
    assert!(driver.model.leaks().is_empty());
}

#[test]
fn zero_follows_the_largest_value() {
    let mut driver = Driver::up(Config {
        event_counter_max_val: 99,
        ..Config::default()
    });
    let uar = driver.alloc_uar().unwrap();
    let counter = driver.create_counter(uar, BUFFER).unwrap();
    driver.modify_counter(counter, 0, 99).unwrap();
    driver.modify_counter(counter, 1, 1).unwrap();
    assert_eq!(value(&driver), 0);
    assert_eq!(driver.modify_counter(counter, 0, 100), Err(ILLEGAL));
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_counter_outlives_the_qps_it_counts_for() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let counter = driver.create_counter(base.uar, BUFFER).unwrap();
    let command = qp_command(QpType::Srd, base.pd, base.uar, base.cq);
    let qp = driver.create_qp(&command).unwrap().qp_handle;
    for events in [1, 2, 0x3ff, 0] {
        driver.attach_counter(ATTACH, counter, qp, events).unwrap();
    }
    driver.attach_counter(DETACH, counter, qp, 0x3fe).unwrap();
    assert_eq!(driver.destroy_counter(counter), Err(Status::ResourceBusy));
    assert_eq!(driver.broken(), [Rule::EventCounterBusy]);
    driver.attach_counter(DETACH, counter, qp, 1).unwrap();
    assert_eq!(driver.attach_counter(DETACH, counter, qp, 1), Err(ILLEGAL));
    driver.attach_counter(ATTACH, counter, qp, 0).unwrap();
    driver.destroy_qp(qp).unwrap();
    driver.destroy_counter(counter).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn impossible_counters_are_refused() {
    let mut driver = Driver::up(Config {
        max_event_counters: 1,
        ..Config::default()
    });
    let base = driver.base();
    let refused = |outcome: Result<u32, Status>, rule, driver: &mut Driver| {
        assert_eq!((outcome, driver.broken()), (Err(ILLEGAL), vec![rule]));
    };
    let outcome = driver.create_counter(base.uar, BUFFER + 4);
    refused(outcome, Rule::EventCounterAddress, &mut driver);
    let outcome = driver.create_counter(base.uar + 1, BUFFER);
    refused(outcome, Rule::UarUnknown, &mut driver);
    let outcome = driver.create_counter(base.uar, 0x1000);
    refused(outcome, Rule::DmaFault, &mut driver);
    let counter = driver.create_counter(base.uar, BUFFER).unwrap();
    let exhausted = Err(Status::ResourceAllocationFailure);
    assert_eq!(driver.create_counter(base.uar, BUFFER), exhausted);
    let command = qp_command(QpType::Ud, base.pd, base.uar, base.cq);
    let qp = driver.create_qp(&command).unwrap().qp_handle;
    let unknown = counter + 1;
    for outcome in [
        driver.destroy_counter(unknown),
        driver.modify_counter(unknown, 0, 1),
        driver.attach_counter(ATTACH, unknown, qp, 1),
        driver.attach_counter(DETACH, unknown, qp, 1),
    ] {
        assert_eq!(outcome, Err(ILLEGAL));
    }
    assert_eq!(driver.broken(), [Rule::EventCounterUnknown; 4]);
    assert_eq!(driver.modify_counter(counter, 2, 1), Err(ILLEGAL));
    assert_eq!(driver.broken(), [Rule::EventCounterOperation]);
    assert_eq!(
        driver.attach_counter(ATTACH, counter, qp + 1, 1),
        Err(ILLEGAL)
    );
    assert_eq!(driver.broken(), [Rule::QpUnknown]);
    let malformed = Err(Status::MalformedRequest);
    assert_eq!(
        driver.attach_counter(ATTACH, counter, qp, 1 << 10),
        malformed
    );
    assert_eq!(driver.broken(), [Rule::CommandReserved]);
}

#[test]
fn what_the_device_counts_is_in_its_attributes() {
    let mut driver = Driver::up(Config {
        max_event_counters: 6,
        event_counter_max_val: 7,
        ..Config::default()
    });
    driver.control(json!({"op": "set", "event_counter_events": ["send_comp", "read_comp"]}));
    let attr: QueueAttr2 = driver.get_feature(9).unwrap();
    assert_eq!(attr.supported_event_counter_qp_events, 0x11);
    assert_eq!(
        (attr.max_event_counters, attr.event_counter_max_val),
        (6, 7)
    );
    let base = driver.base();
    let command = qp_command(QpType::Ud, base.pd, base.uar, base.cq);
    let qp = driver.create_qp(&command).unwrap().qp_handle;
    let counter = driver.create_counter(base.uar, BUFFER).unwrap();
    driver.attach_counter(ATTACH, counter, qp, 0x10).unwrap();
    assert_eq!(driver.attach_counter(ATTACH, counter, qp, 2), Err(ILLEGAL));
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_device_without_counters_knows_none_of_their_commands() {
    let mut driver = Driver::up(Config {
        device_id: 0xefa1,
        ..Config::default()
    });
    let attr: QueueAttr2 = driver.get_feature(9).unwrap();
    assert_eq!(
        (attr.max_event_counters, attr.event_counter_max_val),
        (0, 0)
    );
    let uar = driver.alloc_uar().unwrap();
    let unsupported = Status::UnsupportedOpcode;
    assert_eq!(driver.create_counter(uar, BUFFER), Err(unsupported));
    assert_eq!(driver.destroy_counter(1), Err(unsupported));
    assert_eq!(driver.modify_counter(1, 0, 0), Err(unsupported));
    for opcode in [ATTACH, DETACH] {
        assert_eq!(driver.attach_counter(opcode, 1, 1, 1), Err(unsupported));
    }
    assert_eq!(driver.broken(), []);
}
