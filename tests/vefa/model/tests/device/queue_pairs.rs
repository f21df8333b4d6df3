// SPDX-License-Identifier: GPL-2.0
//! QPs: numbers, places, rings, states.

use std::collections::HashSet;

use serde_json::json;
use vefa_model::names::{Capability, QpState, QpType, Status};
use vefa_model::rules::Rule;
use vefa_model::Config;
use vefa_spec::commands::{CreateCqCmd, CreateQpCmd, CreateQpResp, ModifyQpCmd, QpAllocSize};

use crate::driver::{versions, Driver};
use crate::verbs::{cq_command, qp_command, to_state, Base};

const ILLEGAL: Status = Status::IllegalParameter;
const EXHAUSTED: Status = Status::ResourceAllocationFailure;

fn srd(base: &Base) -> CreateQpCmd {
    qp_command(QpType::Srd, base.pd, base.uar, base.cq)
}

#[test]
fn queue_pairs_come_and_go_in_every_version() {
    for config in versions() {
        let mut driver = Driver::up(config);
        let base = driver.base();
        for kind in QpType::ALL {
            let command = qp_command(*kind, base.pd, base.uar, base.cq);
            let qp = driver.create_qp(&command).unwrap();
            let pages = [qp.sq_db_offset / 4096, qp.rq_db_offset / 4096];
            assert_eq!(pages, [u32::from(base.uar); 2]);
            assert_ne!(qp.sq_db_offset, qp.rq_db_offset);
            assert_eq!(driver.live("qp"), 1);
            assert_eq!(driver.dealloc_pd(base.pd), Err(Status::ResourceBusy));
            driver.destroy_cq(base.cq).unwrap_err();
            assert_eq!(driver.dealloc_uar(base.uar), Err(Status::ResourceBusy));
            let busy = [Rule::PdBusy, Rule::CqBusy, Rule::UarBusy];
            assert_eq!(driver.broken(), busy);
            driver.destroy_qp(qp.qp_handle).unwrap();
            assert_eq!(driver.destroy_qp(qp.qp_handle), Err(ILLEGAL));
            assert_eq!(driver.broken(), [Rule::QpUnknown]);
        }
        driver.destroy_cq(base.cq).unwrap();
        driver.dealloc_uar(base.uar).unwrap();
        driver.dealloc_pd(base.pd).unwrap();
        assert!(driver.model.leaks().is_empty());
    }
}

#[test]
fn the_low_bits_of_live_numbers_differ_and_numbers_go_round() {
    let mut driver = Driver::up(Config {
        max_qp: 8,
        ..Config::default()
    });
    let base = driver.base();
    let mut live: Vec<CreateQpResp> = Vec::new();
    let mut numbers = HashSet::new();
    for round in 0..200 {
        let qp = driver.create_qp(&srd(&base)).unwrap();
        assert!(qp.qp_num > 1);
        assert!(numbers.insert(qp.qp_num), "{} came again", qp.qp_num);
        live.push(qp);
        let low: HashSet<_> = live.iter().map(|qp| qp.qp_num % 8).collect();
        assert_eq!(low.len(), live.len());
        if live.len() == 8 {
            assert_eq!(driver.create_qp(&srd(&base)), Err(EXHAUSTED));
            let gone = live.remove(round % 8);
            driver.destroy_qp(gone.qp_handle).unwrap();
        }
    }
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_handle_outlives_no_qp() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let qp = driver.create_qp(&srd(&base)).unwrap();
    assert_ne!(qp.qp_handle, u32::from(qp.qp_num));
    assert_eq!(driver.query_qp(qp.qp_num.into()), Err(ILLEGAL));
    driver.destroy_qp(qp.qp_handle).unwrap();
    assert_eq!(driver.query_qp(qp.qp_handle), Err(ILLEGAL));
    assert_eq!(driver.broken(), [Rule::QpUnknown; 2]);
}

#[test]
fn send_queues_share_no_page_of_llq_memory_and_start_where_the_device_says() {
    let mut driver = Driver::up(Config {
        llq_page_offset: 0x40,
        ..Config::default()
    });
    let base = driver.base();
    let mut offset = || {
        driver
            .create_qp(&srd(&base))
            .unwrap()
            .llq_descriptors_offset
    };
    assert_eq!([offset(), offset(), offset()], [0x40, 0x1040, 0x2040]);
}

#[test]
fn llq_memory_that_is_used_up_is_no_violation() {
    let mut driver = Driver::up(Config {
        llq_bar_size: 8192,
        ..Config::default()
    });
    let base = driver.base();
    let qps = [(); 2].map(|()| driver.create_qp(&srd(&base)).unwrap());
    assert_eq!(driver.create_qp(&srd(&base)), Err(EXHAUSTED));
    driver.destroy_qp(qps[0].qp_handle).unwrap();
    driver.create_qp(&srd(&base)).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_queue_without_a_ring_has_no_doorbell() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let mut command = srd(&base);
    command.qp_alloc_size.recv_queue_depth = 0;
    command.qp_alloc_size.recv_queue_ring_size = 0;
    command.rq_base_addr = 0;
    let qp = driver.create_qp(&command).unwrap();
    assert_eq!(qp.rq_db_offset, 0);
    let detail = driver.control(json!({"op": "objects", "detail": true}));
    let detail = detail["detail"].as_array().unwrap();
    let listed = detail.iter().find(|it| it["kind"] == "qp").unwrap();
    assert_eq!(listed["rq_base"], json!(null));
    assert_eq!(
        (&listed["sq_depth"], &listed["sq_entry_size"]),
        (&json!(32), &json!(64))
    );
}

/// Ring and depth of a send queue, and whether they fit each other.
const SEND_QUEUES: [(u32, u32, bool); 9] = [
    (32 * 64, 32, true),
    (32 * 128, 32, true),
    (64 * 64, 33, true),
    (64 * 128, 64, true),
    // The ring has 32 entries at least.
    (32 * 64, 1, true),
    (64, 1, false),
    (32 * 32, 32, false),
    (33 * 64, 33, false),
    (0, 32, false),
];

#[test]
fn a_send_ring_holds_its_depth_rounded_up_in_64_or_128_bytes_each() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    for (send_queue_ring_size, send_queue_depth, fits) in SEND_QUEUES {
        let mut command = srd(&base);
        command.qp_alloc_size = QpAllocSize {
            send_queue_ring_size,
            send_queue_depth,
            ..command.qp_alloc_size
        };
        let outcome = driver.create_qp(&command);
        assert_eq!(outcome.is_ok(), fits, "{send_queue_ring_size}");
    }
    assert_eq!(driver.broken(), []);
}

/// Ring and depth of a receive queue, and whether they fit each other.
const RECEIVE_QUEUES: [(u32, u32, bool); 6] = [
    (64 * 16, 21, true),
    (16, 1, true),
    (16, 2, false),
    (24, 1, false),
    (48, 3, false),
    (0, 1, false),
];

#[test]
fn a_receive_ring_has_a_power_of_two_of_descriptors_for_its_depth() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    for (recv_queue_ring_size, recv_queue_depth, fits) in RECEIVE_QUEUES {
        let mut command = srd(&base);
        command.qp_alloc_size = QpAllocSize {
            recv_queue_ring_size,
            recv_queue_depth,
            ..command.qp_alloc_size
        };
        let outcome = driver.create_qp(&command);
        assert_eq!(outcome.is_ok(), fits, "{recv_queue_ring_size}");
    }
    assert_eq!(driver.broken(), []);
}

#[test]
fn impossible_queue_pairs_are_refused() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let good = srd(&base);
    let size = |change: fn(&mut QpAllocSize)| {
        let mut command = good;
        change(&mut command.qp_alloc_size);
        command
    };
    let cases = [
        (
            CreateQpCmd {
                pd: base.pd + 1,
                ..good
            },
            Rule::PdUnknown,
        ),
        (
            CreateQpCmd {
                uar: base.uar + 1,
                ..good
            },
            Rule::UarUnknown,
        ),
        (
            CreateQpCmd {
                send_cq_idx: 1,
                ..good
            },
            Rule::CqUnknown,
        ),
        (
            CreateQpCmd {
                recv_cq_idx: 0x1_0000,
                ..good
            },
            Rule::CqUnknown,
        ),
        (CreateQpCmd { qp_type: 0, ..good }, Rule::QpType),
        (CreateQpCmd { qp_type: 3, ..good }, Rule::QpType),
        (
            CreateQpCmd {
                rq_base_addr: 0x10,
                ..good
            },
            Rule::DmaFault,
        ),
        (size(|size| size.send_queue_depth = 4097), Rule::QpDepth),
        (size(|size| size.recv_queue_depth = 32769), Rule::QpDepth),
        (
            size(|size| size.send_queue_ring_size = 0x8_0040),
            Rule::QpDepth,
        ),
    ];
    for (command, rule) in cases {
        assert_eq!(driver.create_qp(&command), Err(ILLEGAL), "{rule:?}");
        assert_eq!(driver.broken(), [rule]);
    }
    for command in [
        CreateQpCmd {
            flags: 1 << 4,
            ..good
        },
        CreateQpCmd {
            reserved: 1,
            ..good
        },
        CreateQpCmd {
            reserved2: 1,
            ..good
        },
    ] {
        assert_eq!(driver.create_qp(&command), Err(Status::MalformedRequest));
        assert_eq!(driver.broken(), [Rule::CommandReserved]);
    }
    // Rings in memory regions.
    for flags in [1, 2] {
        let command = CreateQpCmd { flags, ..good };
        assert_eq!(driver.create_qp(&command), Err(ILLEGAL));
    }
    assert_eq!((driver.broken(), driver.live("qp")), (vec![], 0));
}

#[test]
fn service_levels_are_those_of_the_configuration() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let levels = |driver: &mut Driver| {
        [0, 1, 8].map(|sl| driver.create_qp(&CreateQpCmd { sl, ..srd(&base) }).is_ok())
    };
    assert_eq!(levels(&mut driver), [true, false, true]);
    driver.control(json!({"op": "set", "service_levels": [0]}));
    assert_eq!(levels(&mut driver), [true, false, false]);
    assert_eq!(driver.broken(), []);
}

#[test]
fn flags_need_their_capability_and_64_bit_ids_a_cq_that_has_them() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let unsolicited = CreateQpCmd {
        flags: 4,
        ..srd(&base)
    };
    let wide = CreateQpCmd {
        flags: 8,
        ..srd(&base)
    };
    driver.create_qp(&unsolicited).unwrap();
    assert_eq!(driver.create_qp(&wide), Err(ILLEGAL));
    let wide_cq = CreateCqCmd {
        cq_caps_2: 4 | (1 << 6),
        ..cq_command(base.uar)
    };
    let send_cq_idx = driver.create_cq(&wide_cq).unwrap().cq_idx.into();
    driver
        .create_qp(&CreateQpCmd {
            send_cq_idx,
            ..wide
        })
        .unwrap();
    assert_eq!(driver.broken(), []);
    driver.control(json!({"op": "set", "caps": []}));
    for command in [
        unsolicited,
        CreateQpCmd {
            send_cq_idx,
            ..wide
        },
    ] {
        assert_eq!(driver.create_qp(&command), Err(ILLEGAL));
        assert_eq!(driver.broken(), [Rule::CapabilityAbsent]);
    }
}

/// Q-key, PSN, notification, retry: bits of a modify mask.
const QKEY: u32 = 4;
const PSN: u32 = 8;
const NOTIFY: u32 = 16;
const RNR: u32 = 32;

/// From, to, attributes that are needed, attributes that may be there.
const TRANSITIONS: [(u32, u32, u32, u32); 19] = [
    (0, 0, 0, 0),
    (0, 1, QKEY, 0),
    (1, 0, 0, 0),
    (1, 1, 0, QKEY),
    (1, 2, 0, QKEY),
    (1, 6, 0, 0),
    (2, 0, 0, 0),
    (2, 3, PSN, QKEY | RNR),
    (2, 6, 0, 0),
    (3, 0, 0, 0),
    (3, 3, 0, QKEY),
    (3, 4, 0, NOTIFY),
    (3, 6, 0, 0),
    (4, 0, 0, 0),
    (4, 3, 0, QKEY),
    (4, 4, 0, QKEY),
    (4, 6, 0, 0),
    (6, 0, 0, 0),
    (6, 6, 0, 0),
];

/// Leads a new QP to a state that commands can lead to.
fn qp_in_state(driver: &mut Driver, base: &Base, kind: QpType, state: u32) -> CreateQpResp {
    let command = qp_command(kind, base.pd, base.uar, base.cq);
    let qp = driver.create_qp(&command).unwrap();
    let path: &[u32] = match state {
        0 => &[0],
        6 => &[0, 1, 6],
        state => &[0, 1, 2, 3, 4][..=state as usize],
    };
    for step in path.windows(2) {
        let needed = [(1, QKEY), (3, PSN)].into_iter();
        let needed: u32 = needed.filter(|it| it.0 == step[1]).map(|it| it.1).sum();
        driver
            .modify_qp(&modify(&qp, step[0], step[1], needed))
            .unwrap();
    }
    qp
}

fn modify(qp: &CreateQpResp, from: u32, to: u32, attributes: u32) -> ModifyQpCmd {
    ModifyQpCmd {
        modify_mask: 3 | attributes,
        qp_handle: qp.qp_handle,
        qp_state: to,
        cur_qp_state: from,
        rnr_retry: 3,
        ..Default::default()
    }
}

#[test]
fn every_change_of_state_takes_what_it_needs_and_nothing_else() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    for kind in [QpType::Ud, QpType::Srd] {
        for (from, to) in (0..7).flat_map(|from| (0..7).map(move |to| (from, to))) {
            // No command leads to SQE.
            if from == 5 {
                continue;
            }
            let known = TRANSITIONS.iter().find(|it| (it.0, it.1) == (from, to));
            for attributes in (0..16_u32).map(|bits| bits << 2) {
                let qp = qp_in_state(&mut driver, &base, kind, from);
                let outcome = driver.modify_qp(&modify(&qp, from, to, attributes));
                let expected = match known {
                    None => Some(Rule::QpTransition),
                    Some((_, _, needs, may)) => {
                        let may = if kind == QpType::Ud { may & !RNR } else { *may };
                        let fits = attributes & needs == *needs && attributes & !(needs | may) == 0;
                        (!fits).then_some(Rule::QpAttributes)
                    }
                };
                let what = format!("{kind:?} {from} {to} {attributes:#x}");
                assert_eq!(outcome.is_err(), expected.is_some(), "{what}");
                assert_eq!(driver.broken(), Vec::from_iter(expected), "{what}");
                let state = driver.query_qp(qp.qp_handle).unwrap().qp_state;
                assert_eq!(state, if expected.is_none() { to } else { from }, "{what}");
                driver.destroy_qp(qp.qp_handle).unwrap();
            }
        }
    }
}

#[test]
fn what_was_set_is_what_a_query_returns() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let qp = qp_in_state(&mut driver, &base, QpType::Srd, 2);
    let command = ModifyQpCmd {
        qkey: 0x1111_2222,
        sq_psn: 0xabcdef,
        ..modify(&qp, 2, 3, QKEY | PSN | RNR)
    };
    driver.modify_qp(&command).unwrap();
    let now = driver.query_qp(qp.qp_handle).unwrap();
    assert_eq!((now.qp_state, now.qkey), (3, 0x1111_2222));
    assert_eq!((now.sq_psn, now.rnr_retry), (0xabcdef, 3));
    // Without a state, the attributes alone are set.
    let command = ModifyQpCmd {
        modify_mask: QKEY,
        qkey: 5,
        ..modify(&qp, 0, 0, 0)
    };
    driver.modify_qp(&command).unwrap();
    let now = driver.query_qp(qp.qp_handle).unwrap();
    assert_eq!((now.qp_state, now.qkey, now.sq_psn), (3, 5, 0xabcdef));
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_new_srd_qp_retries_without_limit() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    for (kind, retries) in [(QpType::Srd, 7), (QpType::Ud, 0)] {
        let qp = qp_in_state(&mut driver, &base, kind, 0);
        assert_eq!(driver.query_qp(qp.qp_handle).unwrap().rnr_retry, retries);
    }
}

#[test]
fn retries_beyond_seven_or_the_device_are_refused_without_a_violation() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let qp = qp_in_state(&mut driver, &base, QpType::Srd, 2);
    let mut command = modify(&qp, 2, 3, PSN | RNR);
    command.rnr_retry = 8;
    assert_eq!(driver.modify_qp(&command), Err(ILLEGAL));
    let caps: Vec<Capability> = vec![];
    driver.control(json!({"op": "set", "caps": caps}));
    command.rnr_retry = 1;
    assert_eq!(driver.modify_qp(&command), Err(ILLEGAL));
    assert_eq!(driver.broken(), []);
    assert_eq!(driver.query_qp(qp.qp_handle).unwrap().qp_state, 2);
}

#[test]
fn a_claimed_state_that_is_not_the_qps_is_refused() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let qp = qp_in_state(&mut driver, &base, QpType::Ud, 3);
    let claims = to_state(&qp, QpState::Sqd, QpState::Rts);
    assert_eq!(driver.modify_qp(&claims), Err(ILLEGAL));
    assert_eq!(driver.broken(), []);
    for (from, to) in [(7, 3), (3, 7)] {
        assert_eq!(driver.modify_qp(&modify(&qp, from, to, 0)), Err(ILLEGAL));
        assert_eq!(driver.broken(), [Rule::QpState]);
    }
    let reserved = modify(&qp, 3, 3, 1 << 6);
    assert_eq!(driver.modify_qp(&reserved), Err(Status::MalformedRequest));
    assert_eq!(driver.broken(), [Rule::CommandReserved]);
}

#[test]
fn a_qp_that_the_device_moved_may_be_claimed_where_it_was() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let qp = qp_in_state(&mut driver, &base, QpType::Srd, 6);
    let unaware = to_state(&qp, QpState::Rts, QpState::Sqd);
    assert_eq!(driver.modify_qp(&unaware), Err(ILLEGAL));
    driver
        .modify_qp(&to_state(&qp, QpState::Rts, QpState::Err))
        .unwrap();
    driver
        .modify_qp(&to_state(&qp, QpState::Rts, QpState::Reset))
        .unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn doorbells_of_a_past_session_are_nobodys() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let qp = driver.create_qp(&srd(&base)).unwrap();
    let ring = |driver: &mut Driver, offset: u32| {
        driver.model.bar_write(4, offset.into(), &[0; 4]);
        driver.broken()
    };
    for offset in [qp.sq_db_offset, qp.rq_db_offset] {
        assert_eq!(ring(&mut driver, offset), []);
    }
    driver.bring_up();
    driver.alloc_uar().unwrap();
    for offset in [qp.sq_db_offset, qp.rq_db_offset] {
        assert_eq!(ring(&mut driver, offset), [Rule::DoorbellUnowned]);
    }
}

#[test]
fn a_reset_ends_every_queue_pair_and_gives_its_places_back() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let before = driver.create_qp(&srd(&base)).unwrap();
    driver.bring_up();
    assert_eq!(driver.live("qp"), 0);
    let base = driver.base();
    let after = driver.create_qp(&srd(&base)).unwrap();
    assert_eq!(after.llq_descriptors_offset, before.llq_descriptors_offset);
    assert_eq!(after.sq_db_offset, before.sq_db_offset);
    assert_ne!(after.qp_num, before.qp_num);
    assert_ne!(after.qp_handle, before.qp_handle);
    assert_eq!(driver.query_qp(before.qp_handle), Err(ILLEGAL));
}
