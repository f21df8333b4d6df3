// SPDX-License-Identifier: GPL-2.0
//! Readless reads, reset, and the rules of the register BAR.

use std::time::Duration;

use serde_json::json;
use vefa_model::names::{Opcode, ResetReason};
use vefa_model::rules::Rule;
use vefa_model::{ApiVersion, Config, GuestMemory};
use vefa_spec::regs;

use crate::driver::{gid, versions, Driver, ACQ, AENQ, AQ};

#[test]
fn a_device_may_be_silent_while_it_is_reset() {
    let mut driver = Driver::untouched(Config {
        reads_during_reset: false,
        ..Config::default()
    });
    driver.set_response_address();
    assert!(driver.read_register(regs::DEV_STS_OFF).is_some());
    driver.write_register(regs::DEV_CTL_OFF, 1);
    driver.set_response_address();
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), None);
    driver.write_register(regs::DEV_CTL_OFF, 0);
    let ready = Some(regs::DEV_STS_READY_MASK);
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), ready);
    assert_eq!(driver.broken(), []);
}

#[test]
fn version_register_tells_the_api_version() {
    for (config, expected) in versions().into_iter().zip([1, 2, 3]) {
        let mut driver = Driver::up(config);
        assert_eq!(driver.read_register(regs::VERSION_OFF), Some(expected));
        assert_eq!(driver.read_register(regs::CONTROLLER_VERSION_OFF), Some(1));
        assert_eq!(driver.broken(), []);
    }
}

#[test]
fn caps_register_tells_timeouts_and_address_width() {
    let mut driver = Driver::up(Config {
        reset_timeout: 7,
        admin_cmd_timeout: 9,
        dma_addr_width: 45,
        ..Config::default()
    });
    let caps = (7 << 1) | (45 << 8) | (9 << 16);
    assert_eq!(driver.read_register(regs::CAPS_OFF), Some(caps));
}

#[test]
fn register_reads_need_the_response_address() {
    let mut driver = Driver::untouched(Config::default());
    assert_eq!(driver.read_register(regs::VERSION_OFF), None);
    assert_eq!(driver.broken(), [Rule::RegisterReadWithoutAddress]);
}

#[test]
fn reset_clears_the_response_address() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::DEV_CTL_OFF, 1);
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), None);
    assert_eq!(driver.broken(), [Rule::RegisterReadWithoutAddress]);
}

#[test]
fn registers_cannot_be_read_directly() {
    let mut driver = Driver::default_up();
    let mut data = [0; 4];
    driver.model.bar_read(0, 0, &mut data);
    assert_eq!(data, [0xff; 4]);
    assert_eq!(driver.broken(), [Rule::RegisterDirectRead]);
}

#[test]
fn registers_are_written_in_aligned_words() {
    let mut driver = Driver::default_up();
    driver.model.bar_write(0, 0x4c, &[0; 8]);
    driver.model.bar_write(0, 0x4c, &[0; 2]);
    driver.model.bar_write(0, 0x4d, &[0; 4]);
    assert_eq!(driver.broken(), [Rule::RegisterWidth; 3]);
}

#[test]
fn unknown_registers_are_recorded() {
    let mut driver = Driver::default_up();
    driver.write_register(0x0c, 1);
    driver.write_register(0x3000, 1);
    assert_eq!(driver.read_register(0x100), Some(0xffff_ffff));
    assert_eq!(driver.broken(), [Rule::RegisterUnknown; 3]);
}

#[test]
fn read_only_registers_keep_their_value() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::VERSION_OFF, 0x100);
    driver.write_register(regs::DEV_STS_OFF, 0);
    assert_eq!(driver.read_register(regs::VERSION_OFF), Some(3));
    assert_eq!(driver.broken(), [Rule::RegisterReadOnly; 2]);
}

#[test]
fn reserved_register_bits_are_refused() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::INTR_MASK_OFF, 2);
    driver.write_register(regs::DEV_CTL_OFF, 2);
    driver.write_register(regs::EQ_DB_OFF, 1 << 16);
    assert_eq!(driver.broken(), [Rule::RegisterReservedBits; 3]);
}

#[test]
fn reset_in_progress_follows_dev_ctl_after_its_delay() {
    let mut driver = Driver::untouched(Config {
        reset_delay_ms: 20,
        ..Config::default()
    });
    let delay = Duration::from_millis(20);
    let ready = Some(regs::DEV_STS_READY_MASK);
    let in_progress = Some(regs::DEV_STS_READY_MASK | regs::DEV_STS_RESET_IN_PROGRESS_MASK);
    driver.write_register(regs::DEV_CTL_OFF, 1);
    driver.set_response_address();
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), ready);
    assert_eq!(driver.model.poll(driver.now), Some(delay));
    driver.pass(delay);
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), in_progress);
    driver.write_register(regs::DEV_CTL_OFF, 0);
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), in_progress);
    driver.pass(delay);
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), ready);
    assert_eq!(driver.broken(), []);
}

#[test]
fn reset_in_progress_is_awaited_before_dev_ctl_is_cleared() {
    let mut driver = Driver::untouched(Config {
        reset_delay_ms: 20,
        ..Config::default()
    });
    driver.write_register(regs::DEV_CTL_OFF, 1);
    driver.write_register(regs::DEV_CTL_OFF, 0);
    assert_eq!(driver.broken(), [Rule::ResetHandshake]);
}

#[test]
fn reset_needs_a_ready_device() {
    let mut driver = Driver::untouched(Config {
        ready: false,
        ..Config::default()
    });
    driver.set_response_address();
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), Some(0));
    driver.write_register(regs::DEV_CTL_OFF, 1);
    assert_eq!(driver.broken(), [Rule::ResetNotReady]);
    assert_eq!(driver.read_register(regs::DEV_STS_OFF), Some(0));
}

#[test]
fn reset_reasons_are_counted_and_logged() {
    let mut driver = Driver::default_up();
    driver.control(json!({"op": "reset_stats"}));
    for reason in ResetReason::ALL {
        driver.reset(*reason);
        assert_eq!(driver.counters().resets[reason.name()], 1);
    }
    let log = &driver.control(json!({"op": "log"}))["log"];
    let last = log.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["command"], "reset");
    assert_eq!(last["reason"], "generic");
    driver.write_register(regs::DEV_CTL_OFF, (0xf << 28) | 1);
    assert_eq!(driver.broken(), [Rule::ResetReasonUnknown]);
}

#[test]
fn other_registers_are_left_alone_during_a_reset() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::DEV_CTL_OFF, 1);
    driver.write_register(regs::AQ_BASE_LO_OFF, 0);
    driver.write_register(regs::AQ_PROD_DB_OFF, 1);
    assert_eq!(driver.broken(), [Rule::RegisterDuringReset; 2]);
}

#[test]
fn reset_destroys_all_objects_and_queues() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    driver.create_ah(pd, gid(1)).unwrap();
    driver.alloc_uar().unwrap();
    driver.create_eq(64, 1, 4).unwrap();
    driver.reset(ResetReason::AdminTimeout);
    for kind in ["pd", "ah", "uar", "eq"] {
        assert_eq!(driver.live(kind), 0, "{kind}");
    }
    driver.ring();
    assert_eq!(driver.broken(), [Rule::DoorbellWithoutQueue]);
}

#[test]
fn only_an_orderly_reset_with_live_objects_is_a_leak() {
    let mut driver = Driver::default_up();
    driver.alloc_pd().unwrap();
    assert_eq!(driver.model.leaks().live["pd"], 1);
    driver.reset(ResetReason::AdminTimeout);
    assert!(driver.model.leaks().is_empty());
    driver.set_up_queues();
    driver.alloc_pd().unwrap();
    driver.reset(ResetReason::Normal);
    assert_eq!(driver.model.leaks().at_reset["pd"], 1);
    assert!(driver.model.leaks().live.is_empty());
}

#[test]
fn function_reset_is_as_power_on_but_keeps_the_record() {
    let mut driver = Driver::default_up();
    driver.alloc_pd().unwrap();
    driver.model.function_reset();
    assert_eq!(driver.live("pd"), 0);
    assert_eq!(driver.counters().function_resets, 1);
    assert_eq!(driver.read_register(regs::VERSION_OFF), None);
    driver.model.set_bus_master(true);
    driver.bring_up();
    driver.alloc_pd().unwrap();
}

#[test]
fn without_bus_mastering_there_is_no_dma_and_no_interrupt() {
    let mut driver = Driver::default_up();
    driver.interrupts.take();
    driver.model.set_bus_master(false);
    assert_eq!(driver.read_register(regs::VERSION_OFF), None);
    let entry = driver.entry(Opcode::AllocPd.number(), 0, &[]);
    assert_eq!(driver.submit(&entry), None);
    assert!(driver.interrupts.take().is_empty());
    assert_eq!(driver.live("pd"), 0);
    assert_eq!(driver.broken(), [Rule::BusMasterOff; 2]);
}

#[test]
fn queue_depths_are_powers_of_two() {
    let mut driver = Driver::default_up();
    driver.write_register(regs::AQ_CAPS_OFF, (128 << 16) | 31);
    driver.write_register(regs::ACQ_CAPS_OFF, 64 << 16);
    driver.write_register(regs::AENQ_CAPS_OFF, (64 << 16) | 3);
    assert_eq!(driver.broken(), [Rule::QueueDepth; 3]);
    driver.ring();
    assert_eq!(driver.broken(), [Rule::DoorbellWithoutQueue]);
}

#[test]
fn a_queue_that_is_set_up_wrongly_is_no_longer_there() {
    let queues = [
        (regs::AQ_CAPS_OFF, regs::AQ_PROD_DB_OFF),
        (regs::ACQ_CAPS_OFF, regs::AQ_PROD_DB_OFF),
        (regs::AENQ_CAPS_OFF, regs::AENQ_CONS_DB_OFF),
    ];
    for (caps, doorbell) in queues {
        let mut driver = Driver::default_up();
        driver.write_register(caps, 0);
        driver.write_register(doorbell, 0);
        let broken = [Rule::QueueDepth, Rule::DoorbellWithoutQueue];
        assert_eq!(driver.broken(), broken);
    }
}

#[test]
fn queue_entry_sizes_are_those_of_the_version() {
    for config in versions() {
        let wrong = if config.api_version == ApiVersion::V0_3 {
            64
        } else {
            128
        };
        let mut driver = Driver::up(config);
        driver.write_register(regs::AQ_CAPS_OFF, (wrong << 16) | 32);
        driver.write_register(regs::ACQ_CAPS_OFF, (32 << 16) | 32);
        driver.write_register(regs::AENQ_CAPS_OFF, (16 << 16) | 16);
        assert_eq!(driver.broken(), [Rule::QueueEntrySize; 3]);
    }
}

#[test]
fn queue_vectors_exist() {
    let mut driver = Driver::up(Config {
        num_vectors: 3,
        ..Config::default()
    });
    driver.write_register(regs::ACQ_CAPS_OFF, (3 << 24) | (64 << 16) | 32);
    driver.write_register(regs::AENQ_CAPS_OFF, (3 << 24) | (64 << 16) | 16);
    assert_eq!(driver.broken(), [Rule::QueueVector; 2]);
}

#[test]
fn dma_stays_within_the_address_width() {
    let mut driver = Driver::up(Config {
        dma_addr_width: 32,
        ..Config::default()
    });
    driver.write_address(regs::AQ_BASE_LO_OFF, regs::AQ_BASE_HI_OFF, 1 << 32);
    driver.write_register(regs::AQ_CAPS_OFF, (128 << 16) | 32);
    driver.ring();
    driver.write_register(regs::AQ_PROD_DB_OFF, 1);
    assert_eq!(driver.broken(), [Rule::DmaAddressWidth]);
}

#[test]
fn dma_to_unmapped_memory_is_recorded() {
    let mut driver = Driver::default_up();
    driver.write_address(regs::ACQ_BASE_LO_OFF, regs::ACQ_BASE_HI_OFF, 0x10);
    driver.write_register(regs::ACQ_CAPS_OFF, (64 << 16) | 32);
    let entry = driver.entry(Opcode::AllocPd.number(), 0, &[]);
    assert_eq!(driver.submit(&entry), None);
    assert_eq!(driver.broken(), [Rule::DmaFault]);
    driver.write_address(regs::MMIO_RESP_LO_OFF, regs::MMIO_RESP_HI_OFF, u64::MAX - 3);
    assert_eq!(driver.read_register(regs::VERSION_OFF), None);
    assert_eq!(driver.broken(), [Rule::DmaAddressWidth]);
}

#[test]
fn doorbell_pages_need_an_owner() {
    let mut driver = Driver::default_up();
    driver.model.bar_write(4, 0, &1u32.to_le_bytes());
    assert_eq!(driver.broken(), [Rule::DoorbellUnowned]);
    driver.model.bar_write(2, 0, &[0; 64]);
    assert_eq!(driver.broken(), []);
}

#[test]
fn all_ones_in_unused_ring_memory_are_not_read_before_the_doorbell() {
    let mut driver = Driver::default_up();
    for queue in [AQ, ACQ, AENQ] {
        driver.memory.write(queue, &[0xff; 64]).unwrap();
    }
    driver.pass(Duration::from_secs(5));
    assert_eq!(driver.broken(), []);
    assert_eq!(
        driver.control(json!({"op": "log"}))["log"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
