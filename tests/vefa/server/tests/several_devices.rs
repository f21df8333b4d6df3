// SPDX-License-Identifier: GPL-2.0
//! Several devices in one server: each has its own client, its own state, and harms no other.

mod common;

use common::*;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use vefa_model::{Config, Gid};
use vefa_server::vfio_user::Command;

fn two() -> Running {
    let second = Config {
        device_id: 0xefa1,
        gid: Gid([1; 16]),
        ..Config::default()
    };
    start_all(vec![Config::default(), second])
}

#[test]
fn each_device_has_a_client_of_its_own() {
    let server = two();
    let (mut first, mut second) = (server.client_of(0), server.client_of(1));
    assert_eq!(first.read(CONFIG_REGION, 2, 2), [0xa2, 0xef]);
    assert_eq!(second.read(CONFIG_REGION, 2, 2), [0xa1, 0xef]);
    assert_eq!(first.read(CONFIG_REGION, 2, 2), [0xa2, 0xef]);
    server.stop();
}

#[test]
fn each_control_socket_speaks_of_its_device() {
    let server = two();
    let mut client = server.client_of(1);
    client.read(0, 0, 4);
    let violations = |device| {
        let answer = server.control_of(device).request(r#"{"op":"violations"}"#);
        answer["violations"].as_array().unwrap().len()
    };
    assert_eq!((violations(0), violations(1)), (0, 1));
    let status = |device| server.control_of(device).request(r#"{"op":"status"}"#);
    assert_eq!(status(0)["attached"], false);
    assert_eq!(status(1)["attached"], true);
    server.stop();
}

#[test]
fn a_client_that_breaks_the_protocol_disturbs_no_other_device() {
    let server = two();
    let mut bystander = server.client_of(1);
    bystander.enable();
    let mut hostile = server.client_of(0);
    hostile.send(&[0xff; 64], &[]);
    while hostile.receive().is_some() {}
    let command = vefa_pci::regs::COMMAND as u64;
    let bus_master = vefa_pci::regs::COMMAND_BUS_MASTER.to_le_bytes();
    assert_eq!(bystander.read(CONFIG_REGION, command, 2), bus_master);
    assert_eq!(server.client_of(0).read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
    server.stop();
}

#[test]
fn a_client_that_floods_leaves_others_their_turn() {
    let server = two();
    let flood = server.client_of(0);
    let mut other = server.client_of(1);
    let fields = access(CONFIG_REGION, 0, 2);
    let header = vefa_server::vfio_user::Header::command(1, Command::RegionRead, fields.len());
    let messages = [header.to_bytes(), fields].concat().repeat(1000);
    flood.send(&messages, &[]);
    assert_eq!(other.read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
    let mut fds = [PollFd::new(&flood.socket, PollFlags::IN)];
    let patience = Timespec {
        tv_sec: 10,
        tv_nsec: 0,
    };
    assert_eq!(poll(&mut fds, Some(&patience)), Ok(1));
    server.stop();
}

#[test]
fn one_device_asked_to_quit_ends_all() {
    let server = two();
    let answer = server.control_of(1).request(r#"{"op":"quit"}"#);
    assert_eq!(answer["ok"], true);
    assert_eq!(server.join().len(), 2);
}
