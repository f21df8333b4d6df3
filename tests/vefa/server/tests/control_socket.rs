// SPDX-License-Identifier: GPL-2.0
//! The control socket.

mod common;

use common::*;
use std::io::Write;
use std::net::Shutdown;
use vefa_model::Config;
use vefa_server::control::MAX_LINE;

const COUNTERS: &str = r#"{"op":"counters"}"#;

#[test]
fn each_request_gets_one_answer_in_order() {
    let server = start(Config::default());
    let mut control = server.control();
    for line in [COUNTERS, r#"{"op":"objects"}"#, r#"{"op":"violations"}"#] {
        control.send(line);
    }
    for key in ["counters", "objects", "violations"] {
        let answer = control.answer().unwrap();
        assert_eq!(answer["ok"], true);
        assert!(answer.get(key).is_some(), "{answer}");
    }
    server.stop();
}

#[test]
fn malformed_requests_are_answered_and_the_next_is_served() {
    let server = start(Config::default());
    let mut control = server.control();
    for line in [
        "nonsense",
        "{",
        "[1]",
        "null",
        "{}",
        r#"{"op":7}"#,
        r#"{"op":"fly"}"#,
        "\u{1}\u{ff}",
    ] {
        let answer = control.request(line);
        assert_eq!(answer["ok"], false, "{line}");
        assert!(answer["error"].is_string(), "{line}");
    }
    control.socket.write_all(b"\xff\xfe\n").unwrap();
    assert_eq!(control.answer().unwrap()["ok"], false);
    let deep = "[".repeat(MAX_LINE);
    assert_eq!(control.request(&deep)["ok"], false);
    assert_eq!(control.request(COUNTERS)["ok"], true);
    server.stop();
}

#[test]
fn a_line_too_long_is_answered_and_the_next_is_served() {
    let server = start(Config::default());
    let mut control = server.control();
    let answer = control.request(&"x".repeat(4 * MAX_LINE));
    assert_eq!(answer["ok"], false);
    assert_eq!(control.request(COUNTERS)["ok"], true);
    server.stop();
}

#[test]
fn several_clients_are_served_at_once() {
    let server = start(Config::default());
    let mut clients: Vec<_> = (0..8).map(|_| server.control()).collect();
    // One that never ends its line holds up nobody.
    clients[0].socket.write_all(b"{\"op\":").unwrap();
    for client in clients.iter_mut().skip(1) {
        assert_eq!(client.request(COUNTERS)["ok"], true);
    }
    assert_eq!(clients[0].request("\"counters\"}")["ok"], true);
    server.stop();
}

#[test]
fn more_clients_than_places_wait_their_turn() {
    let server = start(Config::default());
    let mut clients: Vec<_> = (0..40).map(|_| server.control()).collect();
    for client in &mut clients {
        client.send(COUNTERS);
    }
    for mut client in clients {
        assert_eq!(client.answer().unwrap()["ok"], true);
    }
    server.stop();
}

#[test]
fn a_client_that_ends_its_side_still_gets_its_answer() {
    let server = start(Config::default());
    let mut control = server.control();
    control.socket.write_all(COUNTERS.as_bytes()).unwrap();
    control.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(control.answer().unwrap()["ok"], true);
    assert!(control.answer().is_none());
    server.stop();
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let server = start(Config::default());
    let mut deaf = server.control();
    deaf.socket.set_nonblocking(true).unwrap();
    let line = format!("{COUNTERS}\n");
    while deaf.socket.write_all(line.as_bytes()).is_ok() {}
    assert_eq!(server.control().request(COUNTERS)["ok"], true);
    server.stop();
}

#[test]
fn quit_answers_what_leaked_and_ends_the_server() {
    let server = start(Config::default());
    let (socket, control_socket) = (server.socket(), server.control_socket());
    let answer = server.control().request(r#"{"op":"quit"}"#);
    assert_eq!(answer["ok"], true);
    let report = server.join().remove(0);
    assert_eq!(answer["leaks"], report);
    for kind in ["live", "at_reset", "at_disconnect"] {
        assert_eq!(report[kind], serde_json::json!({}), "{kind}");
    }
    assert!(!socket.exists() && !control_socket.exists());
}
