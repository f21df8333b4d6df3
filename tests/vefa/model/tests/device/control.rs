// SPDX-License-Identifier: GPL-2.0
//! Requests of the control socket.

use serde_json::json;
use vefa_model::names::Status;
use vefa_model::rules::Rule;
use vefa_model::ControlRequest;
use vefa_spec::features::NetworkAttr;

use crate::driver::{gid, Driver};

#[test]
fn a_refused_gid_fails_until_it_is_accepted() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let text = gid(1).to_string();
    driver.control(json!({"op": "refuse", "gid": text}));
    assert_eq!(driver.create_ah(pd, gid(1)), Err(Status::IllegalParameter));
    driver.create_ah(pd, gid(2)).unwrap();
    driver.control(json!({"op": "refuse", "gid": text, "status": "resource_busy"}));
    assert_eq!(driver.create_ah(pd, gid(1)), Err(Status::ResourceBusy));
    driver.control(json!({"op": "accept", "gid": text}));
    driver.create_ah(pd, gid(1)).unwrap();
    assert_eq!(driver.broken(), []);
}

#[test]
fn the_log_tells_commands_with_their_fields_in_order() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let ah = driver.create_ah(pd, gid(9)).unwrap();
    driver.destroy_ah(pd, ah).unwrap();
    let log = driver.control(json!({"op": "log", "since": 2}));
    assert_eq!(log["next"], 5);
    let log = log["log"].as_array().unwrap();
    let names: Vec<_> = log.iter().map(|e| e["command"].as_str().unwrap()).collect();
    assert_eq!(names, ["alloc_pd", "create_ah", "destroy_ah"]);
    let create = &log[1];
    assert_eq!(create["seq"], 3);
    assert_eq!(create["id"], 1);
    assert_eq!(create["status"], "success");
    assert_eq!(create["pd"], pd);
    assert_eq!(create["ah"], ah);
    assert_eq!(create["gid"], "fe80:0000:0000:0000:0000:0000:0000:0009");
    assert_eq!(log[2]["gid"], create["gid"]);
}

#[test]
fn violations_name_their_rule_and_stay_until_cleared() {
    let mut driver = Driver::default_up();
    let _ = driver.dealloc_pd(3);
    for clear in [false, true] {
        let list = driver.control(json!({"op": "violations", "clear": clear}));
        assert_eq!(list["violations"][0]["rule"], "pd-unknown");
        assert_eq!(list["violations"][0]["seq"], 1);
    }
    assert_eq!(driver.broken(), []);
    assert_eq!(driver.counters().violations, 1);
}

#[test]
fn violations_are_bounded_and_say_what_they_dropped() {
    let mut driver = Driver::default_up();
    for _ in 0..5000 {
        driver.write_register(0x200, 0);
    }
    let list = driver.control(json!({"op": "violations"}));
    assert_eq!(list["violations"].as_array().unwrap().len(), 4096);
    assert_eq!(list["dropped"], 904);
    assert_eq!(driver.counters().violations, 5000);
}

#[test]
fn objects_are_listed_with_their_owner() {
    let mut driver = Driver::default_up();
    let pd = driver.alloc_pd().unwrap();
    let ah = driver.create_ah(pd, gid(4)).unwrap();
    let uar = driver.alloc_uar().unwrap();
    let reply = driver.control(json!({"op": "objects", "detail": true}));
    assert_eq!(
        reply["objects"],
        json!({
            "ah": 1, "cq": 0, "eq": 0, "event_counter": 0, "mr": 0, "pd": 1, "qp": 0, "uar": 1
        })
    );
    assert_eq!(
        reply["detail"],
        json!([
            {"kind": "pd", "id": pd},
            {"kind": "uar", "id": uar},
            {"kind": "ah", "id": ah, "pd": pd, "gid": gid(4).to_string()}
        ])
    );
}

#[test]
fn keys_can_be_set_while_the_device_runs() {
    let mut driver = Driver::default_up();
    driver.control(json!({"op": "set", "max_pd": 1, "mtu": 4200}));
    driver.alloc_pd().unwrap();
    assert_eq!(driver.alloc_pd(), Err(Status::ResourceAllocationFailure));
    let network: NetworkAttr = driver.get_feature(3).unwrap();
    assert_eq!(network.mtu, 4200);
}

#[test]
fn keys_that_are_wrong_or_fixed_are_refused_by_name() {
    let mut driver = Driver::default_up();
    for (request, named) in [
        (json!({"op": "set"}), "no key is given"),
        (
            json!({"op": "set", "max_pds": 1}),
            "there is no key max_pds",
        ),
        (
            json!({"op": "set", "max_pd": "many"}),
            "max_pd cannot be \"many\" (it is 256)",
        ),
        (json!({"op": "set", "max_ah": 65535}), "max_ah"),
        (json!({"op": "set", "num_vectors": 2}), "num_vectors"),
        (json!({"op": "set", "db_bar": 0}), "db_bar"),
    ] {
        let reply = driver.try_control(request);
        assert!(!reply.ok);
        let error = reply.error.unwrap();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn counters_start_again_after_reset_stats() {
    let mut driver = Driver::default_up();
    driver.alloc_pd().unwrap();
    assert_eq!(driver.counters().commands["alloc_pd"].ok, 1);
    driver.control(json!({"op": "reset_stats"}));
    let counters = driver.counters();
    assert_eq!(counters.commands["alloc_pd"].seen, 0);
    assert_eq!(counters.register_reads, 0);
    assert_eq!(driver.live("pd"), 1);
}

#[test]
fn requests_with_unknown_operations_or_fields_do_not_parse() {
    for request in [
        json!({"op": "explode"}),
        json!({"op": "log", "until": 3}),
        json!({"op": "counters", "all": true}),
        json!({"op": "fault", "command": "*", "action": "mute", "when": 1}),
        json!({"op": "refuse", "gid": "not a gid"}),
        json!({"op": "event", "group": "party"}),
        json!({}),
    ] {
        let parsed = serde_json::from_value::<ControlRequest>(request.clone());
        assert!(parsed.is_err(), "{request}");
    }
    for op in ["counters", "objects", "log", "violations", "faults", "quit"] {
        serde_json::from_value::<ControlRequest>(json!({"op": op})).unwrap();
    }
}

#[test]
fn rule_names_are_distinct_kebab_case() {
    let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    for name in &names {
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Rule::ALL.len());
}
