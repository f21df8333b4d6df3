// SPDX-License-Identifier: GPL-2.0
//! CQs: sub-CQs, doorbells, events, and who uses whom.

use serde_json::json;
use vefa_model::names::{Feature, Opcode, QpType, Status};
use vefa_model::rules::Rule;
use vefa_model::Config;
use vefa_spec::commands::{CreateCqCmd, CreateEqCmd, CreateEqResp};

use crate::driver::{versions, Driver, BUFFER};
use crate::verbs::{address, cq_command, qp_command};

const ILLEGAL: Status = Status::IllegalParameter;

#[test]
fn completion_queues_come_and_go_in_every_version() {
    for config in versions() {
        let mut driver = Driver::up(config);
        let uar = driver.alloc_uar().unwrap();
        let cq = driver.create_cq(&cq_command(uar)).unwrap();
        assert_eq!((cq.sub_cq_actual_depth, cq.flags), (16, 1));
        assert_eq!(driver.live("cq"), 1);
        assert_eq!(driver.dealloc_uar(uar), Err(Status::ResourceBusy));
        assert_eq!(driver.broken(), [Rule::UarBusy]);
        driver.destroy_cq(cq.cq_idx).unwrap();
        assert_eq!(driver.destroy_cq(cq.cq_idx), Err(ILLEGAL));
        assert_eq!(driver.broken(), [Rule::CqUnknown]);
        driver.dealloc_uar(uar).unwrap();
        assert!(driver.model.leaks().is_empty());
    }
}

#[test]
fn a_doorbell_is_a_word_of_its_own_on_the_page_of_the_uar() {
    let mut driver = Driver::default_up();
    let (first, second) = (driver.alloc_uar().unwrap(), driver.alloc_uar().unwrap());
    let mut offset = |uar| driver.create_cq(&cq_command(uar)).unwrap().db_offset;
    let offsets = [offset(first), offset(first), offset(second)];
    assert_eq!(offsets.map(|offset| offset / 4096), [0, 0, 1]);
    assert_eq!(offsets.map(|offset| offset % 4), [0; 3]);
    assert_ne!(offsets[0], offsets[1]);
}

#[test]
fn doorbells_follow_what_else_is_in_their_bar() {
    for (db_bar, base) in [(0, 16 << 10), (2, 16 << 20), (4, 0)] {
        let mut driver = Driver::up(Config {
            db_bar,
            ..Config::default()
        });
        driver.alloc_uar().unwrap();
        let uar = driver.alloc_uar().unwrap();
        let cq = driver.create_cq(&cq_command(uar)).unwrap();
        assert_eq!(cq.db_offset & !0xfff, base + 4096, "{db_bar}");
    }
}

#[test]
fn a_full_doorbell_page_is_no_violation() {
    let mut driver = Driver::up(Config {
        max_cq: 2000,
        ..Config::default()
    });
    let uar = driver.alloc_uar().unwrap();
    for _ in 0..1024 {
        driver.create_cq(&cq_command(uar)).unwrap();
    }
    let exhausted = Err(Status::ResourceAllocationFailure);
    assert_eq!(driver.create_cq(&cq_command(uar)), exhausted);
    assert_eq!(driver.live("cq"), 1024);
    let other = driver.alloc_uar().unwrap();
    driver.create_cq(&cq_command(other)).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn a_device_without_events_has_no_cq_doorbell() {
    let mut driver = Driver::up(Config {
        features: vec![Feature::AenqConfig, Feature::QueueAttr1],
        ..Config::default()
    });
    let uar = driver.alloc_uar().unwrap();
    assert_eq!(driver.create_cq(&cq_command(uar)).unwrap().flags, 0);
}

#[test]
fn an_event_queue_outlives_the_cqs_that_report_to_it() {
    let mut driver = Driver::default_up();
    let uar = driver.alloc_uar().unwrap();
    let eqn = driver.create_eq(256, 1, 4).unwrap();
    let command = CreateCqCmd {
        cq_caps_1: 1 << 5,
        eqn,
        ..cq_command(uar)
    };
    let cq = driver.create_cq(&command).unwrap();
    assert_eq!(driver.destroy_eq(eqn), Err(Status::ResourceBusy));
    assert_eq!(driver.broken(), [Rule::EqBusy]);
    driver.destroy_cq(cq.cq_idx).unwrap();
    driver.destroy_eq(eqn).unwrap();
    assert_eq!(driver.create_cq(&command), Err(ILLEGAL));
    assert_eq!(driver.broken(), [Rule::EqUnknown]);
}

#[test]
fn a_cq_reports_to_an_event_queue_that_hears_of_completions() {
    let mut driver = Driver::default_up();
    let uar = driver.alloc_uar().unwrap();
    let deaf = CreateEqCmd {
        depth: 16,
        msix_vec: 1,
        caps: 4,
        ba: address(BUFFER),
        ..Default::default()
    };
    let entry = driver.command(Opcode::CreateEq, &deaf.encode()).unwrap();
    let command = CreateCqCmd {
        cq_caps_1: 1 << 5,
        eqn: CreateEqResp::parse(&entry).unwrap().eqn,
        ..cq_command(uar)
    };
    assert_eq!(driver.create_cq(&command), Err(ILLEGAL));
    assert_eq!(driver.broken(), [Rule::EqCompletions]);
}

#[test]
fn a_cq_outlives_the_qps_that_use_it() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let other = driver.create_cq(&cq_command(base.uar)).unwrap().cq_idx;
    let mut command = qp_command(QpType::Srd, base.pd, base.uar, base.cq);
    command.recv_cq_idx = other.into();
    let qp = driver.create_qp(&command).unwrap();
    for cq in [base.cq, other] {
        assert_eq!(driver.destroy_cq(cq), Err(Status::ResourceBusy));
        assert_eq!(driver.broken(), [Rule::CqBusy]);
    }
    driver.destroy_qp(qp.qp_handle).unwrap();
    driver.destroy_cq(base.cq).unwrap();
    driver.destroy_cq(other).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn impossible_completion_queues_are_refused() {
    let mut driver = Driver::default_up();
    let uar = driver.alloc_uar().unwrap();
    let good = cq_command(uar);
    let cases = [
        (
            CreateCqCmd {
                uar: uar + 1,
                ..good
            },
            Rule::UarUnknown,
        ),
        (
            CreateCqCmd {
                cq_caps_2: 5,
                ..good
            },
            Rule::CqEntrySize,
        ),
        (
            CreateCqCmd {
                cq_caps_2: 4 | (1 << 5),
                ..good
            },
            Rule::CqEntrySize,
        ),
        (
            CreateCqCmd {
                num_sub_cqs: 2,
                ..good
            },
            Rule::CqSubCqs,
        ),
        (
            CreateCqCmd {
                num_sub_cqs: 0,
                ..good
            },
            Rule::CqSubCqs,
        ),
    ];
    for (command, rule) in cases {
        assert_eq!(driver.create_cq(&command), Err(ILLEGAL));
        assert_eq!(driver.broken(), [rule]);
    }
    for command in [
        CreateCqCmd {
            cq_caps_1: 1,
            ..good
        },
        CreateCqCmd {
            cq_caps_2: 4 | (1 << 7),
            ..good
        },
        CreateCqCmd {
            reserved: 1,
            ..good
        },
    ] {
        assert_eq!(driver.create_cq(&command), Err(Status::MalformedRequest));
        assert_eq!(driver.broken(), [Rule::CommandReserved]);
    }
    driver
        .create_cq(&CreateCqCmd {
            cq_caps_2: 8 | (1 << 5),
            ..good
        })
        .unwrap();
}

#[test]
fn a_depth_is_a_power_of_two_within_its_limit() {
    let mut driver = Driver::up(Config {
        max_cq_depth: 64,
        ..Config::default()
    });
    let uar = driver.alloc_uar().unwrap();
    for (sub_cq_depth, broken) in [(0, vec![]), (17, vec![]), (128, vec![Rule::CqDepth])] {
        let command = CreateCqCmd {
            sub_cq_depth,
            ..cq_command(uar)
        };
        assert_eq!(driver.create_cq(&command), Err(ILLEGAL));
        assert_eq!(driver.broken(), broken);
    }
    assert_eq!(driver.live("cq"), 0);
}

#[test]
fn wide_request_ids_need_a_device_that_has_them() {
    let mut driver = Driver::up(Config {
        device_id: 0xefa1,
        ..Config::default()
    });
    let uar = driver.alloc_uar().unwrap();
    let command = CreateCqCmd {
        cq_caps_2: 4 | (1 << 6),
        ..cq_command(uar)
    };
    assert_eq!(driver.create_cq(&command), Err(ILLEGAL));
    assert_eq!(driver.broken(), []);
}

#[test]
fn sub_cqs_follow_each_other_and_qps_are_spread_over_them() {
    let mut driver = Driver::up(Config {
        sub_cqs_per_cq: 2,
        ..Config::default()
    });
    let (pd, uar) = (driver.alloc_pd().unwrap(), driver.alloc_uar().unwrap());
    let command = CreateCqCmd {
        num_sub_cqs: 2,
        ..cq_command(uar)
    };
    let cq = driver.create_cq(&command).unwrap().cq_idx;
    for _ in 0..4 {
        let command = qp_command(QpType::Srd, pd, uar, cq);
        let qp = driver.create_qp(&command).unwrap();
        assert_eq!(qp.send_sub_cq_idx, qp.qp_num % 2);
        assert_eq!(qp.recv_sub_cq_idx, 1 - qp.qp_num % 2);
    }
    let detail = driver.control(json!({"op": "objects", "detail": true}));
    let detail = detail["detail"].as_array().unwrap();
    let listed = detail.iter().find(|it| it["kind"] == "cq").unwrap();
    assert_eq!(
        (&listed["sub_cqs"], &listed["base"]),
        (&json!(2), &json!(BUFFER))
    );
}

#[test]
fn a_ring_beyond_the_address_width_is_refused() {
    let mut driver = Driver::default_up();
    let uar = driver.alloc_uar().unwrap();
    let mut command = cq_command(uar);
    command.cq_ba.mem_addr_high = 0xffff_ffff;
    assert_eq!(driver.create_cq(&command), Err(ILLEGAL));
    assert_eq!(driver.broken(), [Rule::DmaAddressWidth]);
}
