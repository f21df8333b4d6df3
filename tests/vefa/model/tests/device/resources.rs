// SPDX-License-Identifier: GPL-2.0
//! PDs, AHs, UARs and event queues: numbers, owners, limits.

use serde_json::json;
use vefa_model::names::{Opcode, Status};
use vefa_model::rules::Rule;
use vefa_model::{Config, Gid};
use vefa_spec::regs;

use crate::driver::{gid, versions, Driver};

#[test]
fn resources_come_and_go_in_every_version() {
    for config in versions() {
        let mut driver = Driver::up(config);
        let uar = driver.alloc_uar().unwrap();
        let eq = driver.create_eq(256, 1, 4).unwrap();
        let pd = driver.alloc_pd().unwrap();
        let ah = driver.create_ah(pd, gid(1)).unwrap();
        for kind in ["pd", "ah", "uar", "eq"] {
            assert_eq!(driver.live(kind), 1, "{kind}");
        }
        driver.destroy_ah(pd, ah).unwrap();
        driver.dealloc_pd(pd).unwrap();
        driver.destroy_eq(eq).unwrap();
        driver.dealloc_uar(uar).unwrap();
        assert!(driver.model.leaks().is_empty());
        assert_eq!(driver.broken(), []);
    }
}

#[test]
fn a_second_create_ah_for_one_pd_and_gid_is_refused() {
    let mut driver = Driver::default_up();
    let (pd, other) = (driver.alloc_pd().unwrap(), driver.alloc_pd().unwrap());
    let ah = driver.create_ah(pd, gid(1)).unwrap();
    assert_eq!(driver.create_ah(pd, gid(1)), Err(Status::IllegalParameter));
    assert_eq!(driver.broken(), [Rule::AhDuplicate]);
    driver.create_ah(pd, gid(2)).unwrap();
    driver.create_ah(other, gid(1)).unwrap();
    driver.destroy_ah(pd, ah).unwrap();
    driver.create_ah(pd, gid(1)).unwrap();
    assert_eq!(driver.broken(), []);
    assert_eq!(driver.live("ah"), 3);
}

#[test]
fn a_pd_with_live_ahs_is_not_freed() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let ah = driver.create_ah(pd, gid(1)).unwrap();
    assert_eq!(driver.dealloc_pd(pd), Err(Status::ResourceBusy));
    assert_eq!(driver.broken(), [Rule::PdBusy]);
    driver.destroy_ah(pd, ah).unwrap();
    driver.dealloc_pd(pd).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn an_ah_to_nobody_or_to_a_group_is_refused() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let mut group = [0; 16];
    group[0] = 0xff;
    for bytes in [[0; 16], group] {
        let refused = driver.create_ah(pd, Gid(bytes));
        assert_eq!(refused, Err(Status::IllegalParameter));
    }
    assert_eq!(driver.live("ah"), 0);
    assert_eq!(driver.broken(), []);
}

#[test]
fn ahs_are_destroyed_once_and_by_their_pd() {
    let mut driver = Driver::default_up();
    let (pd, other) = (driver.alloc_pd().unwrap(), driver.alloc_pd().unwrap());
    let ah = driver.create_ah(pd, gid(1)).unwrap();
    assert_eq!(driver.destroy_ah(other, ah), Err(Status::IllegalParameter));
    assert_eq!(driver.broken(), [Rule::AhWrongPd]);
    driver.destroy_ah(pd, ah).unwrap();
    assert_eq!(driver.destroy_ah(pd, ah), Err(Status::IllegalParameter));
    assert_eq!(driver.broken(), [Rule::AhUnknown]);
}

#[test]
fn unknown_numbers_are_refused() {
    let mut driver = Driver::default_up();
    let illegal = Err(Status::IllegalParameter);
    assert_eq!(driver.dealloc_pd(7), illegal);
    assert_eq!(driver.create_ah(7, gid(1)).map(drop), illegal);
    assert_eq!(driver.dealloc_uar(7), illegal);
    assert_eq!(driver.destroy_eq(7), illegal);
    driver.write_register(regs::EQ_DB_OFF, regs::EQ_DB_ARM_MASK | 7);
    assert_eq!(
        driver.broken(),
        [
            Rule::PdUnknown,
            Rule::PdUnknown,
            Rule::UarUnknown,
            Rule::EqUnknown,
            Rule::EqDoorbell
        ]
    );
}

#[test]
fn pd_numbers_are_reused_at_once_and_ah_numbers_are_not() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let first = driver.create_ah(pd, gid(1)).unwrap();
    assert_ne!(first, 0);
    driver.destroy_ah(pd, first).unwrap();
    let second = driver.create_ah(pd, gid(1)).unwrap();
    assert_ne!(first, second);
    driver.destroy_ah(pd, second).unwrap();
    driver.dealloc_pd(pd).unwrap();
    assert_eq!(driver.alloc_pd(), Ok(pd));
}

#[test]
fn at_a_limit_allocation_fails_and_works_again_after_a_release() {
    let mut driver = Driver::up(Config {
        max_pd: 2,
        max_ah: 2,
        max_uar: 2,
        max_eq: 2,
        ..Config::default()
    });
    let full = Status::ResourceAllocationFailure;
    let pd = driver.alloc_pd().unwrap();
    driver.alloc_pd().unwrap();
    assert_eq!(driver.alloc_pd(), Err(full));
    let ah = driver.create_ah(pd, gid(1)).unwrap();
    driver.create_ah(pd, gid(2)).unwrap();
    assert_eq!(driver.create_ah(pd, gid(3)), Err(full));
    driver.destroy_ah(pd, ah).unwrap();
    driver.create_ah(pd, gid(3)).unwrap();
    let uar = driver.alloc_uar().unwrap();
    driver.alloc_uar().unwrap();
    assert_eq!(driver.alloc_uar(), Err(full));
    driver.dealloc_uar(uar).unwrap();
    assert_eq!(driver.alloc_uar(), Ok(uar));
    let eq = driver.create_eq(64, 1, 4).unwrap();
    driver.create_eq(64, 2, 4).unwrap();
    assert_eq!(driver.create_eq(64, 3, 4), Err(full));
    driver.destroy_eq(eq).unwrap();
    driver.create_eq(64, 3, 4).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn event_queues_have_a_sound_depth_size_and_vector() {
    let mut driver = Driver::up(Config {
        num_vectors: 4,
        max_eq_depth: 256,
        ..Config::default()
    });
    let cases = [
        (0, 1, 4, Rule::EqDepth),
        (100, 1, 4, Rule::EqDepth),
        (512, 1, 4, Rule::EqDepth),
        (64, 0, 4, Rule::EqVector),
        (64, 4, 4, Rule::EqVector),
        (64, 1, 8, Rule::EqEntrySize),
    ];
    for (depth, vector, words, rule) in cases {
        let outcome = driver.create_eq(depth, vector, words);
        assert_eq!(outcome, Err(Status::IllegalParameter));
        assert_eq!(driver.broken(), [rule]);
    }
    assert_eq!(driver.live("eq"), 0);
}

#[test]
fn event_queues_keep_their_vector_and_are_armed_by_doorbell() {
    let mut driver = Driver::default_up();
    let eq = driver.create_eq(128, 5, 4).unwrap();
    driver.write_register(regs::EQ_DB_OFF, regs::EQ_DB_ARM_MASK | u32::from(eq));
    let detail = driver.control(json!({"op": "objects", "detail": true}));
    let queue = &detail["detail"][0];
    assert_eq!((&queue["kind"], &queue["id"]), (&json!("eq"), &json!(eq)));
    assert_eq!(queue["vector"], 5);
    assert_eq!(queue["depth"], 128);
    assert_eq!(queue["armed"], true);
    assert_eq!(driver.counters().eq_arms, 1);
}

#[test]
fn must_be_zero_bytes_of_commands_are_zero() {
    // Offset in the command, and reserved bits there.
    let cases = [
        (Opcode::CreateAh, 18, 0x01),
        (Opcode::DeallocPd, 3, 0x80),
        (Opcode::DeallocUar, 2, 0x01),
        (Opcode::CreateEq, 3, 0x20),
        (Opcode::CreateEq, 12, 0x02),
        (Opcode::CreateEq, 19, 0x01),
        (Opcode::DestroyEq, 2, 0x01),
        (Opcode::GetFeature, 12, 0x01),
        (Opcode::SetFeature, 15, 0x80),
    ];
    for (opcode, at, bits) in cases {
        let mut payload = [0; 20];
        payload[at] = bits;
        let mut driver = Driver::default_up();
        let outcome = driver.command(opcode, &payload);
        assert_eq!(outcome, Err(Status::MalformedRequest), "{opcode:?}");
        assert_eq!(driver.broken(), [Rule::CommandReserved], "{opcode:?}");
    }
}
