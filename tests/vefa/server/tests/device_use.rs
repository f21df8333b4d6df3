// SPDX-License-Identifier: GPL-2.0
//! What a driver does with the device, through the server: DMA, interrupts, work that comes due.

mod common;

use common::guest::*;
use common::*;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use vefa_model::{ApiVersion, Config};
use vefa_server::vfio_user::Command;
use vefa_spec::{constants, regs};

/// Bit of the keep-alive group in the masks of AENQ_CONFIG.
const KEEP_ALIVE_GROUP: u32 = 1 << 4;

fn enable_keep_alive(guest: &mut Guest) {
    let mut payload = [0; 60];
    payload[13] = constants::AENQ_CONFIG as u8;
    payload[20..24].copy_from_slice(&KEEP_ALIVE_GROUP.to_le_bytes());
    guest.command(constants::SET_FEATURE, &payload);
}

#[test]
fn a_register_is_read_through_guest_memory() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    guest.set_response_address(BASE + RESPONSE);
    assert_eq!(guest.get(regs::VERSION_OFF), [1, 0, 0, 0, 3, 0, 0, 0]);
    assert_eq!(guest.get(regs::DEV_STS_OFF)[..4], [2, 0, 0x58, 0]);
    server.stop();
}

#[test]
fn without_bus_mastering_nothing_is_written_to_guest_memory() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    guest.set_response_address(BASE + RESPONSE);
    let command = vefa_pci::regs::COMMAND as u64;
    guest.client.write(CONFIG_REGION, command, &[0, 0]);
    assert_eq!(guest.get(regs::VERSION_OFF), [0; 8]);
    server.stop();
}

#[test]
fn after_an_unmap_nothing_is_written_to_guest_memory() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    guest.set_response_address(BASE + RESPONSE);
    guest
        .client
        .ok(Command::DmaUnmap, &dma_unmap(0, BASE, SIZE));
    assert_eq!(guest.get(regs::VERSION_OFF), [0; 8]);
    server.stop();
}

#[test]
fn a_window_that_is_read_only_is_not_written() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    let window = dma_map(READ, 0, BASE + SIZE, 0x1000);
    let fd = guest.memory.try_clone().unwrap();
    guest
        .client
        .ok_with(Command::DmaMap, &window, &[fd.as_fd()]);
    guest.set_response_address(BASE + SIZE);
    assert_eq!(guest.get(regs::VERSION_OFF), [0; 8]);
    server.stop();
}

#[test]
fn an_access_may_span_windows() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    let window = dma_map(READ | WRITE, 0x5000, BASE + SIZE, 0x1000);
    let fd = guest.memory.try_clone().unwrap();
    guest
        .client
        .ok_with(Command::DmaMap, &window, &[fd.as_fd()]);
    guest.set_response_address(BASE + SIZE - 4);
    guest.get(regs::VERSION_OFF);
    assert_eq!(guest.bytes(SIZE - 4), [1, 0, 0, 0]);
    assert_eq!(guest.bytes(0x5000), [3, 0, 0, 0]);
    server.stop();
}

#[test]
fn a_reset_of_the_function_forgets_what_the_driver_set() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    guest.set_response_address(BASE + RESPONSE);
    guest.client.ok(Command::DeviceReset, &[]);
    guest.client.enable();
    assert_eq!(guest.get(regs::VERSION_OFF), [0; 8]);
    server.stop();
}

#[test]
fn keep_alive_events_come_without_the_guest_doing_anything() {
    let period = Duration::from_millis(20);
    let server = start(Config {
        api_version: ApiVersion::V0_1,
        keep_alive_ms: period.as_millis() as u64,
        ..Config::default()
    });
    let mut guest = Guest::new(&server);
    let vector = interrupt();
    let connect = words(&[20, EVENTFD_TRIGGER, 2, 0, 1]);
    guest
        .client
        .ok_with(Command::DeviceSetIrqs, &connect, &[vector.as_fd()]);
    guest.set_up_queues();
    enable_keep_alive(&mut guest);
    count(&vector);

    let started = Instant::now();
    let mut events = 0;
    while events < 3 {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{events} events"
        );
        std::thread::sleep(Duration::from_millis(1));
        events += count(&vector);
    }
    assert!(started.elapsed() >= 2 * period);
    server.stop();
}

#[test]
fn objects_and_counters_survive_on_the_control_socket_when_the_client_leaves() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    guest.set_response_address(BASE + RESPONSE);
    guest.get(regs::VERSION_OFF);
    drop(guest);
    // The next client is served only once the one before has been dealt with.
    server.client();
    let answer = server.control().request(r#"{"op":"counters"}"#);
    assert_eq!(answer["counters"]["register_reads"], 1);
    server.stop();
}

#[test]
fn the_next_client_gets_a_device_after_power_on() {
    let server = start(Config::default());
    let mut guest = Guest::new(&server);
    guest.set_response_address(BASE + RESPONSE);
    guest.client.write(LLQ_BAR, 0x1000, b"left");
    drop(guest);
    let mut next = server.client();
    let command = vefa_pci::regs::COMMAND as u64;
    assert_eq!(next.read(CONFIG_REGION, command, 2), [0, 0]);
    assert_eq!(next.read(LLQ_BAR, 0x1000, 4), [0; 4]);
    // The memory of the client before is gone: its place is free.
    next.ok(Command::DmaMap, &dma_map(READ, 0, BASE, SIZE));
    server.stop();
}

#[test]
fn a_second_client_waits_until_the_first_has_gone() {
    let server = start(Config::default());
    let mut first = server.client();
    let mut second = server.new_client();
    second.send(&version_command(), &[]);
    assert_eq!(first.read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
    second.socket.set_nonblocking(true).unwrap();
    assert!(
        second.socket.read(&mut [0]).is_err(),
        "served while the first is there"
    );
    second.socket.set_nonblocking(false).unwrap();
    drop(first);
    assert!(!second.receive().unwrap().header.is_error());
    assert_eq!(second.read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
    server.stop();
}

#[test]
fn status_says_what_the_client_has_set_up() {
    let server = start(Config::default());
    let mut control = server.control();
    let mut status = || control.request(r#"{"op":"status"}"#);
    assert_eq!(status()["attached"], false);
    let mut guest = Guest::new(&server);
    let connect = words(&[20, EVENTFD_TRIGGER, 2, 0, 1]);
    guest
        .client
        .ok_with(Command::DeviceSetIrqs, &connect, &[interrupt().as_fd()]);
    let answer = status();
    assert_eq!(answer["attached"], true);
    assert_eq!(
        (&answer["dma_windows"], &answer["vectors_connected"]),
        (&1.into(), &1.into())
    );
    drop(guest);
    let answer = status();
    assert_eq!(answer["attached"], false);
    assert_eq!(
        (&answer["dma_windows"], &answer["vectors_connected"]),
        (&0.into(), &0.into())
    );
    server.stop();
}

#[test]
fn what_is_alive_when_the_client_leaves_is_in_the_report() {
    let server = start(Config {
        api_version: ApiVersion::V0_1,
        ..Config::default()
    });
    let mut guest = Guest::new(&server);
    guest.set_up_queues();
    guest.command(constants::ALLOC_PD, &[]);
    drop(guest);
    assert_eq!(
        server.control().request(r#"{"op":"objects"}"#)["objects"]["pd"],
        0
    );
    assert_eq!(server.stop()["at_disconnect"], serde_json::json!({"pd": 1}));
}
