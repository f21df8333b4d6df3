// SPDX-License-Identifier: GPL-2.0
//! Features and statistics.

use vefa_model::names::{Capability, Feature, Opcode, QpType, StatsType, Status};
use vefa_model::rules::Rule;
use vefa_model::{Config, GuestMemory};
use vefa_spec::entries::{CtrlBuffInfo, MemAddr};
use vefa_spec::features::{
    AenqConfig, DeviceAttr, EventQueueAttr, HostInfo, HwHints, NetworkAttr, QueueAttr1, QueueAttr2,
    SetFeatureCmd,
};
use vefa_spec::stats::GetStatsCmd;

use crate::driver::{feature_common, versions, Driver, BUFFER};
use crate::verbs::qp_command;

use serde_json::json;

#[test]
fn device_attr_lists_the_features_and_says_what_the_device_is() {
    for config in versions() {
        let expected = config.clone();
        let mut driver = Driver::up(config);
        let attr: DeviceAttr = driver.get_feature(1).unwrap();
        assert_eq!(attr.supported_features, 0b10_1111_1110 & !(1 << 8));
        assert_eq!(attr.admin_api_version, expected.api_version.minor());
        assert_eq!(attr.page_size_cap, expected.page_size_cap);
        assert_eq!(attr.db_bar, 4);
        assert_eq!(attr.guid.to_le_bytes(), expected.guid.to_be_bytes());
    }
}

#[test]
fn attributes_are_what_the_usual_test_suites_need() {
    let mut driver = Driver::default_up();
    let network: NetworkAttr = driver.get_feature(3).unwrap();
    assert_ne!(network.addr[8..], [0; 8]);
    assert!(network.mtu > 4096);
    let queues: QueueAttr1 = driver.get_feature(4).unwrap();
    assert!(queues.max_wr_send_sges >= 2 && queues.max_wr_recv_sges >= 2);
    assert!(queues.max_sq_depth >= 8 && queues.max_rq_depth >= 8);
    for limit in [
        queues.max_qp,
        queues.max_cq,
        queues.max_mr,
        queues.max_pd,
        queues.max_ah,
        queues.max_mr_pages,
        queues.max_llq_size,
        queues.max_cq_depth,
    ] {
        assert_ne!(limit, 0);
    }
    let events: EventQueueAttr = driver.get_feature(7).unwrap();
    assert_eq!((events.max_eq, events.event_bitmask), (32, 1));
    let more: QueueAttr2 = driver.get_feature(9).unwrap();
    assert_eq!((queues.inline_buf_size, more.inline_buf_size_ex), (32, 80));
}

#[test]
fn rdma_read_is_there_from_efa1_on_and_caps_override_it() {
    let caps = |config| {
        let mut driver = Driver::up(config);
        let attr: DeviceAttr = driver.get_feature(1).unwrap();
        attr.device_caps
    };
    for (device_id, expected) in [(0xefa0, 0), (0xefa1, 1), (0xefa2, 1), (0xefa4, 1)] {
        let config = Config {
            device_id,
            ..Config::default()
        };
        assert_eq!(caps(config) & 1, expected, "{device_id:#x}");
    }
    let config = Config {
        caps: Some(vec![Capability::RdmaWrite]),
        ..Config::default()
    };
    assert_eq!(caps(config), Capability::RdmaWrite.number());
}

#[test]
fn features_that_are_absent_are_unsupported_and_not_listed() {
    let mut driver = Driver::up(Config {
        features: vec![Feature::AenqConfig, Feature::QueueAttr1],
        ..Config::default()
    });
    let attr: DeviceAttr = driver.get_feature(1).unwrap();
    assert_eq!(attr.supported_features, 0b1_0110);
    for feature in [3, 5, 6, 7, 8, 9, 0, 200] {
        let outcome = driver.get_feature::<HwHints>(feature);
        assert_eq!(outcome, Err(Status::UnsupportedOpcode), "{feature}");
    }
}

#[test]
fn hints_are_those_of_the_configuration() {
    let mut driver = Driver::up(Config {
        mmio_read_timeout_ms: 1,
        driver_watchdog_timeout_ms: 2,
        admin_completion_timeout_ms: 3,
        poll_interval_ms: 4,
        ..Config::default()
    });
    let hints: HwHints = driver.get_feature(5).unwrap();
    assert_eq!(hints.encode(), [1, 0, 2, 0, 3, 0, 4, 0]);
}

#[test]
fn aenq_groups_beyond_the_supported_are_refused() {
    let mut driver = Driver::default_up();
    let groups: AenqConfig = driver.get_feature(2).unwrap();
    assert_eq!((groups.supported_groups, groups.enabled_groups), (0x1e, 0));
    driver.enable_groups(0x12).unwrap();
    let groups: AenqConfig = driver.get_feature(2).unwrap();
    assert_eq!(groups.enabled_groups, 0x12);
    assert_eq!(driver.enable_groups(0x22), Err(Status::IllegalParameter));
    assert_eq!(driver.broken(), [Rule::AenqGroupUnsupported]);
}

#[test]
fn only_two_features_can_be_set() {
    let mut driver = Driver::default_up();
    for feature in [1, 3, 4, 5, 7, 9, 77] {
        let command = SetFeatureCmd {
            feature_common: feature_common(feature),
            ..Default::default()
        };
        let outcome = driver.command(Opcode::SetFeature, &command.encode());
        assert_eq!(outcome, Err(Status::UnsupportedOpcode), "{feature}");
    }
}

fn set_host_info(driver: &mut Driver, flags: u8, length: u32, address: u64) -> Status {
    let command = SetFeatureCmd {
        control_buffer: CtrlBuffInfo {
            length,
            address: MemAddr {
                mem_addr_low: address as u32,
                mem_addr_high: (address >> 32) as u32,
            },
        },
        feature_common: feature_common(6),
        ..Default::default()
    };
    let entry = driver.entry(Opcode::SetFeature.number(), flags, &command.encode());
    driver.submit(&entry).unwrap().status
}

#[test]
fn host_info_is_read_from_its_control_buffer_and_logged() {
    let mut driver = Driver::default_up();
    let mut info = HostInfo {
        spec_ver: 0x0200,
        flags: 1,
        ..Default::default()
    };
    info.os_dist_str[..3].copy_from_slice(b"7.3");
    driver.memory.write(BUFFER, &info.encode()).unwrap();
    assert_eq!(set_host_info(&mut driver, 2, 180, BUFFER), Status::Success);
    let log = driver.control(json!({"op": "log"}));
    let entry = log["log"].as_array().unwrap().last().unwrap();
    assert_eq!(entry["feature"], "host_info");
    assert_eq!(entry["os_dist"], "7.3");
    assert_eq!(entry["spec_version"], 0x0200);
    assert_eq!(driver.broken(), []);
}

#[test]
fn host_info_needs_a_control_buffer_of_its_size() {
    let mut driver = Driver::default_up();
    let illegal = Status::IllegalParameter;
    assert_eq!(set_host_info(&mut driver, 0, 180, BUFFER), illegal);
    assert_eq!(set_host_info(&mut driver, 2, 179, BUFFER), illegal);
    assert_eq!(set_host_info(&mut driver, 2, 180, 0), illegal);
    let broken = [Rule::HostInfoBuffer, Rule::HostInfoBuffer, Rule::DmaFault];
    assert_eq!(driver.broken(), broken);
}

fn get_stats(
    driver: &mut Driver,
    stats_type: u8,
    scope: u8,
    scope_modifier: u16,
) -> Result<[u8; 64], Status> {
    let command = GetStatsCmd {
        stats_type,
        scope,
        scope_modifier,
        ..Default::default()
    };
    driver.command(Opcode::GetStats, &command.encode())
}

#[test]
fn statistics_without_traffic_are_zero() {
    let mut driver = Driver::default_up();
    for stats_type in 0..5 {
        let entry = get_stats(&mut driver, stats_type, 0, 0).unwrap();
        assert_eq!(entry[8..], [0; 56]);
    }
    let unsupported = Err(Status::UnsupportedOpcode);
    assert_eq!(get_stats(&mut driver, 5, 0, 0), unsupported);
    let illegal = Err(Status::IllegalParameter);
    assert_eq!(get_stats(&mut driver, 0, 2, 0), illegal);
    assert_eq!(driver.broken(), []);
}

#[test]
fn statistics_of_a_queue_are_those_of_a_live_qp() {
    let mut driver = Driver::default_up();
    let base = driver.base();
    let command = qp_command(QpType::Srd, base.pd, base.uar, base.cq);
    let qp = driver.create_qp(&command).unwrap();
    for stats_type in 0..5 {
        let entry = get_stats(&mut driver, stats_type, 1, qp.qp_num).unwrap();
        assert_eq!(entry[8..], [0; 56]);
    }
    assert_eq!(driver.broken(), []);
    let illegal = Err(Status::IllegalParameter);
    assert_eq!(get_stats(&mut driver, 0, 1, qp.qp_num + 1), illegal);
    assert_eq!(driver.broken(), [Rule::QpUnknown]);
}

#[test]
fn a_type_of_statistics_can_be_absent() {
    let mut driver = Driver::up(Config {
        stats: vec![StatsType::Basic],
        ..Config::default()
    });
    assert!(get_stats(&mut driver, 0, 0, 0).is_ok());
    let unsupported = Err(Status::UnsupportedOpcode);
    assert_eq!(get_stats(&mut driver, 4, 0, 0), unsupported);
}
