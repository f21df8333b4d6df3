// SPDX-License-Identifier: GPL-2.0
//! The admin queue: rings, phases, checksums, doorbells.

use std::time::Duration;

use serde_json::json;
use vefa_model::names::{Opcode, Status};
use vefa_model::rules::Rule;
use vefa_model::{ApiVersion, Config};
use vefa_spec::regs;

use crate::driver::{versions, Driver, DEPTH};

const ALLOC_PD: u8 = 14;

#[test]
fn commands_complete_in_every_version_over_many_laps() {
    for config in versions() {
        let mut driver = Driver::up(config);
        for _ in 0..5 * DEPTH {
            let pd = driver.alloc_pd().unwrap();
            driver.dealloc_pd(pd).unwrap();
        }
        assert_eq!(driver.broken(), []);
    }
}

#[test]
fn completions_carry_a_checksum_from_version_0_2() {
    for config in versions() {
        let has_checksum = config.api_version >= ApiVersion::V0_2;
        let mut driver = Driver::up(config);
        let entry = driver.entry(ALLOC_PD, 0, &[]);
        let completion = driver.submit(&entry).unwrap();
        assert_eq!(completion.checksum_matches, has_checksum);
    }
}

#[test]
fn each_completion_raises_the_management_interrupt() {
    let mut driver = Driver::default_up();
    driver.alloc_pd().unwrap();
    driver.alloc_pd().unwrap();
    assert_eq!(driver.interrupts.take(), [0, 0]);
    assert_eq!(driver.counters().interrupts[&0], 2);
}

#[test]
fn interrupt_mask_turns_the_management_interrupt_off() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::INTR_MASK_OFF, 1);
    driver.alloc_pd().unwrap();
    assert!(driver.interrupts.take().is_empty());
    driver.write_register(regs::INTR_MASK_OFF, 0);
    driver.alloc_pd().unwrap();
    assert_eq!(driver.interrupts.take(), [0]);
}

#[test]
fn one_doorbell_may_stand_for_a_full_queue() {
    let mut driver = Driver::default_up();
    for _ in 0..DEPTH {
        let entry = driver.entry(ALLOC_PD, 0, &[]);
        driver.place(&entry);
    }
    driver.ring();
    for id in 0..DEPTH {
        assert_eq!(u32::from(driver.completion().unwrap().id), id);
    }
    assert_eq!(driver.live("pd"), u64::from(DEPTH));
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_doorbell_beyond_the_queue_is_refused() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::AQ_PROD_DB_OFF, DEPTH + 1);
    assert_eq!(driver.broken(), [Rule::AqOverrun]);
    assert_eq!(driver.completion(), None);
    driver.alloc_pd().unwrap();
}

#[test]
fn a_doorbell_that_goes_back_is_refused() {
    let mut driver = Driver::default_up();
    driver.alloc_pd().unwrap();
    driver.write_register(regs::AQ_PROD_DB_OFF, 0);
    assert_eq!(driver.broken(), [Rule::AqOverrun]);
}

#[test]
fn outstanding_commands_count_against_the_depth() {
    let mut driver = Driver::default_up();
    driver.control(json!({"op": "fault", "command": "*", "action": "delay", "ms": 5}));
    let entry = driver.entry(ALLOC_PD, 0, &[]);
    assert_eq!(driver.submit(&entry), None);
    driver.write_register(regs::AQ_PROD_DB_OFF, 1 + DEPTH);
    assert_eq!(driver.broken(), [Rule::AqOverrun]);
}

#[test]
fn entries_need_the_phase_of_their_lap() {
    for config in versions() {
        let mut driver = Driver::up(config);
        let mut entry = driver.entry(ALLOC_PD, 0, &[]);
        entry[3] ^= 1;
        driver.seal(&mut entry);
        let completion = driver.submit(&entry).unwrap();
        assert_eq!(completion.status, Status::MalformedRequest);
        assert_eq!(driver.broken(), [Rule::EntryPhase]);
        assert_eq!(driver.live("pd"), 0);
    }
}

#[test]
fn entries_need_the_right_checksum_from_version_0_3() {
    let mut driver = Driver::default_up();
    let mut entry = driver.entry(ALLOC_PD, 0, &[]);
    entry[100] ^= 1;
    let completion = driver.submit(&entry).unwrap();
    assert_eq!(completion.status, Status::MalformedRequest);
    assert_eq!(driver.broken(), [Rule::EntryChecksum]);
    assert_eq!(driver.live("pd"), 0);
}

#[test]
fn reserved_bits_of_entries_are_zero() {
    // Byte offset in the entry, and the reserved bits there.
    for (at, bits) in [(1, 0xf0u8), (3, 0xf8), (7, 0xff), (11, 0xff)] {
        let mut driver = Driver::default_up();
        let mut entry = driver.entry(ALLOC_PD, 0, &[]);
        entry[at] |= bits;
        driver.seal(&mut entry);
        let completion = driver.submit(&entry).unwrap();
        assert_eq!(completion.status, Status::MalformedRequest, "byte {at}");
        assert_eq!(completion.id, 0);
        assert_eq!(driver.broken(), [Rule::EntryReserved], "byte {at}");
    }
}

#[test]
fn a_command_id_is_free_again_only_after_its_completion() {
    let mut driver = Driver::default_up();
    driver.control(json!({"op": "fault", "command": "*", "action": "delay", "ms": 5}));
    let first = driver.entry(ALLOC_PD, 0, &[]);
    assert_eq!(driver.submit(&first), None);
    let mut second = driver.entry(ALLOC_PD, 0, &[]);
    second[..2].copy_from_slice(&first[..2]);
    driver.seal(&mut second);
    let completion = driver.submit(&second).unwrap();
    assert_eq!(completion.status, Status::MalformedRequest);
    assert_eq!(driver.broken(), [Rule::CommandIdInUse]);
}

#[test]
fn each_command_takes_as_long_as_the_configuration_says() {
    let mut driver = Driver::up(Config {
        command_delay_us: 50,
        ..Config::default()
    });
    for _ in 0..3 {
        let entry = driver.entry(ALLOC_PD, 0, &[]);
        assert_eq!(driver.submit(&entry), None);
        driver.pass(Duration::from_micros(49));
        assert_eq!(driver.completion(), None);
        driver.pass(Duration::from_micros(1));
        assert_eq!(driver.completion().unwrap().status, Status::Success);
    }
    assert_eq!(driver.broken(), []);
}

#[test]
fn doorbells_need_both_queues() {
    let mut driver = Driver::untouched(Config::default());
    driver.write_register(regs::AQ_CAPS_OFF, (128 << 16) | DEPTH);
    driver.write_register(regs::AQ_PROD_DB_OFF, 1);
    driver.write_register(regs::AENQ_CONS_DB_OFF, 0);
    assert_eq!(driver.broken(), [Rule::DoorbellWithoutQueue; 2]);
}

#[test]
fn opcodes_that_the_device_lacks_are_unsupported() {
    let mut driver = Driver::default_up();
    for opcode in [Opcode::AllocMr, Opcode::Service] {
        assert_eq!(driver.command(opcode, &[]), Err(Status::UnsupportedOpcode));
    }
    for number in [0, 22, 30, 255] {
        let entry = driver.entry(number, 0, &[]);
        let completion = driver.submit(&entry).unwrap();
        assert_eq!(completion.status, Status::UnsupportedOpcode);
    }
    assert_eq!(driver.counters().commands["opcode_255"].failed, 1);
    assert_eq!(driver.broken(), []);
}
