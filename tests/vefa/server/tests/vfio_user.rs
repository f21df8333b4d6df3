// SPDX-License-Identifier: GPL-2.0
//! The server as a well-behaved vfio-user client sees it.

mod common;

use common::*;
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use vefa_model::Config;
use vefa_server::vfio_user::{Command, Header};

const LLQ_BAR: u32 = 2;
const IRQ_MSIX: u32 = 2;
const DATA_NONE: u32 = 1 << 0;
const DATA_BOOL: u32 = 1 << 1;
const DATA_EVENTFD: u32 = 1 << 2;
const TRIGGER: u32 = 1 << 5;

fn region_info(room: u32, index: u32) -> Vec<u8> {
    words(&[room, 0, index, 0, 0, 0, 0, 0])
}

fn set_irqs(flags: u32, start: u32, count: u32) -> Vec<u8> {
    words(&[20, flags, IRQ_MSIX, start, count])
}

#[test]
fn version_reply_is_0_0_with_capabilities() {
    let server = start(Config::default());
    let mut client = server.new_client();
    let proposal = [
        &[0, 0, 0, 0][..],
        br#"{"capabilities":{"max_msg_fds":8}}"#,
        &[0],
    ]
    .concat();
    let reply = client.ok(Command::Version, &proposal);
    assert_eq!(reply[..4], [0; 4]);
    assert_eq!(reply.last(), Some(&0));
    let json: serde_json::Value = serde_json::from_slice(&reply[4..reply.len() - 1]).unwrap();
    assert_eq!(json["capabilities"]["max_msg_fds"], 16);
    server.stop();
}

#[test]
fn device_is_pci_and_can_reset() {
    let server = start(Config::default());
    let info = server
        .client()
        .ok(Command::DeviceGetInfo, &words(&[16, 0, 0, 0]));
    assert_eq!(info, words(&[16, 3, 9, 3]));
    server.stop();
}

#[test]
fn regions_have_the_sizes_of_the_configuration() {
    let config = Config::default();
    let server = start(config.clone());
    let mut client = server.client();
    for index in 0..9 {
        let info = client.ok(Command::DeviceGetRegionInfo, &region_info(32, index));
        let expected = match index {
            0..=5 => config.bar_size(index as u8).unwrap_or(0),
            CONFIG_REGION => 4096,
            _ => 0,
        };
        assert_eq!(long(&info, 16), expected, "region {index}");
        assert_eq!(word(&info, 1) & 3 == 3, expected > 0, "region {index}");
    }
    let refused = client.errno(Command::DeviceGetRegionInfo, &region_info(32, 9), &[]);
    assert_eq!(refused, Errno::INVAL.raw_os_error());
    server.stop();
}

#[test]
fn an_absent_bar_is_a_region_of_size_zero() {
    let server = start(Config {
        has_bar2: false,
        has_db_bar: false,
        ..Config::default()
    });
    let mut client = server.client();
    for index in [LLQ_BAR, 4] {
        let info = client.ok(Command::DeviceGetRegionInfo, &region_info(64, index));
        assert_eq!((word(&info, 1), long(&info, 16)), (0, 0));
    }
    server.stop();
}

#[test]
fn the_llq_bar_comes_with_an_fd_once_the_client_has_room() {
    let server = start(Config::default());
    let mut client = server.client();
    let short = client.ok_with(Command::DeviceGetRegionInfo, &region_info(32, LLQ_BAR), &[]);
    assert_eq!(
        (
            word(&short.payload, 0),
            short.payload.len(),
            short.fds.len()
        ),
        (64, 32, 0)
    );

    let full = client.ok_with(Command::DeviceGetRegionInfo, &region_info(64, LLQ_BAR), &[]);
    assert_eq!((full.payload.len(), full.fds.len()), (64, 1));
    let (flags, capability) = (word(&full.payload, 1), word(&full.payload, 3));
    assert_eq!((flags, capability), (0xf, 32));
    // One sparse area that is the whole BAR.
    assert_eq!(full.payload[32..36], [1, 0, 1, 0]);
    assert_eq!((word(&full.payload, 10), long(&full.payload, 48)), (1, 0));
    assert_eq!(long(&full.payload, 56), Config::default().llq_bar_size);
    server.stop();
}

#[test]
fn llq_memory_is_the_same_by_fd_and_by_message() {
    let server = start(Config::default());
    let mut client = server.client();
    let info = client.ok_with(Command::DeviceGetRegionInfo, &region_info(64, LLQ_BAR), &[]);
    let file = std::fs::File::from(info.fds.into_iter().next().unwrap());
    file.write_all_at(b"descriptor", 4096).unwrap();
    assert_eq!(client.read(LLQ_BAR, 4096, 10), b"descriptor");

    client.write(LLQ_BAR, 64, b"by message");
    let mut bytes = [0; 10];
    file.read_exact_at(&mut bytes, 64).unwrap();
    assert_eq!(&bytes, b"by message");
    server.stop();
}

#[test]
fn doorbells_behind_llq_memory_are_not_shared_with_it() {
    let server = start(Config {
        db_bar: 2,
        ..Config::default()
    });
    let mut client = server.client();
    let llq_size = Config::default().llq_bar_size;
    let info = client.ok_with(Command::DeviceGetRegionInfo, &region_info(64, LLQ_BAR), &[]);
    assert_eq!((word(&info.payload, 1), info.fds.len()), (0xf, 1));
    assert_eq!(long(&info.payload, 16), 2 * llq_size, "the BAR");
    assert_eq!(long(&info.payload, 56), llq_size, "what is shared of it");
    let file = std::fs::File::from(info.fds.into_iter().next().unwrap());
    assert_eq!(file.metadata().unwrap().len(), llq_size);

    client.write(LLQ_BAR, llq_size - 4, b"last");
    assert_eq!(server.violations(), [""; 0]);
    client.write(LLQ_BAR, llq_size, &[0; 4]);
    assert_eq!(server.violations(), ["doorbell-unowned"]);
    let across = access(LLQ_BAR, llq_size - 4, 8);
    let errno = client.errno(Command::RegionRead, &across, &[]);
    assert_eq!(errno, Errno::INVAL.raw_os_error());
    server.stop();
}

#[test]
fn llq_memory_keeps_its_length() {
    let server = start(Config::default());
    let mut client = server.client();
    let info = client.ok_with(Command::DeviceGetRegionInfo, &region_info(64, LLQ_BAR), &[]);
    for length in [0, Config::default().llq_bar_size * 2] {
        let errno = rustix::fs::ftruncate(&info.fds[0], length);
        assert_eq!(errno, Err(Errno::PERM), "{length}");
    }
    server.stop();
}

#[test]
fn config_space_is_that_of_the_device() {
    let server = start(Config {
        device_id: 0xefa1,
        subsystem_device_id: 0xefa3,
        ..Config::default()
    });
    let mut client = server.client();
    assert_eq!(client.read(CONFIG_REGION, 0, 4), [0x0f, 0x1d, 0xa1, 0xef]);
    assert_eq!(client.read(CONFIG_REGION, 0x2e, 2), [0xa3, 0xef]);
    assert_eq!(client.read(CONFIG_REGION, 0, 4096).len(), 4096);
    server.stop();
}

#[test]
fn an_access_beyond_a_region_is_refused() {
    let server = start(Config::default());
    let mut client = server.client();
    for (region, offset, count) in [
        (0, 16 << 10, 4),
        (0, (16 << 10) - 2, 4),
        (0, u64::MAX, 4),
        (1, 0, 4),
        (LLQ_BAR, 16 << 20, 1),
        (CONFIG_REGION, 4095, 2),
        (6, 0, 1),
        (9, 0, 1),
        (u32::MAX, 0, 1),
        (0, 0, 0),
        (0, 0, 3),
        (0, 0, 16),
        (0, 0, u32::MAX),
    ] {
        let fields = access(region, offset, count);
        let errno = client.errno(Command::RegionRead, &fields, &[]);
        assert_eq!(
            errno,
            Errno::INVAL.raw_os_error(),
            "{region} {offset} {count}"
        );
        let data = vec![0; count.min(64) as usize];
        let errno = client.errno(Command::RegionWrite, &[fields, data].concat(), &[]);
        assert_eq!(
            errno,
            Errno::INVAL.raw_os_error(),
            "{region} {offset} {count}"
        );
    }
    server.stop();
}

#[test]
fn msix_has_the_vectors_of_the_configuration() {
    let server = start(Config {
        num_vectors: 5,
        ..Config::default()
    });
    let mut client = server.client();
    for (index, expected) in [
        (0, [16, 0, 0, 0]),
        (IRQ_MSIX, [16, 1, 2, 5]),
        (1, [16, 0, 1, 0]),
    ] {
        let info = client.ok(Command::DeviceGetIrqInfo, &words(&[16, 0, index, 0]));
        assert_eq!(info, words(&expected));
    }
    let errno = client.errno(Command::DeviceGetIrqInfo, &words(&[16, 0, 3, 0]), &[]);
    assert_eq!(errno, Errno::INVAL.raw_os_error());
    server.stop();
}

#[test]
fn an_interrupt_goes_to_the_eventfd_of_its_vector() {
    let server = start(Config::default());
    let mut client = server.client();
    client.enable();
    let (first, second) = (interrupt(), interrupt());
    let fds = [first.as_fd(), second.as_fd()];
    client.ok_with(
        Command::DeviceSetIrqs,
        &set_irqs(DATA_EVENTFD | TRIGGER, 3, 2),
        &fds,
    );
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 4, 1));
    assert_eq!((count(&first), count(&second)), (0, 1));
    let chosen = [set_irqs(DATA_BOOL | TRIGGER, 3, 2), vec![1, 0]].concat();
    client.ok(Command::DeviceSetIrqs, &chosen);
    assert_eq!((count(&first), count(&second)), (1, 0));
    server.stop();
}

#[test]
fn an_interrupt_without_an_eventfd_is_latched_and_delivered_once() {
    let server = start(Config::default());
    let mut client = server.client();
    client.enable();
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 0, 1));
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 0, 1));
    let first = interrupt();
    let connect = set_irqs(DATA_EVENTFD | TRIGGER, 0, 1);
    client.ok_with(Command::DeviceSetIrqs, &connect, &[first.as_fd()]);
    assert_eq!(count(&first), 1);

    client.ok(Command::DeviceSetIrqs, &connect);
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 0, 1));
    assert_eq!(count(&first), 0);
    let second = interrupt();
    client.ok_with(Command::DeviceSetIrqs, &connect, &[second.as_fd()]);
    assert_eq!((count(&first), count(&second)), (0, 1));
    server.stop();
}

#[test]
fn without_bus_mastering_or_msix_no_interrupt_is_delivered() {
    let server = start(Config::default());
    let mut client = server.client();
    let vector = interrupt();
    let connect = set_irqs(DATA_EVENTFD | TRIGGER, 0, 1);
    client.ok_with(Command::DeviceSetIrqs, &connect, &[vector.as_fd()]);
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 0, 1));
    assert_eq!(count(&vector), 0);
    client.write(CONFIG_REGION, vefa_pci::regs::COMMAND as u64, &[4, 0]);
    assert_eq!(count(&vector), 0);
    client.enable();
    assert_eq!(count(&vector), 1);

    client.write(CONFIG_REGION, vefa_pci::regs::COMMAND as u64, &[0, 0]);
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 0, 1));
    assert_eq!(count(&vector), 0);
    client.write(CONFIG_REGION, vefa_pci::regs::COMMAND as u64, &[4, 0]);
    assert_eq!(count(&vector), 1);
    server.stop();
}

#[test]
fn a_reset_drops_latched_interrupts_and_bus_mastering_but_keeps_eventfds() {
    let server = start(Config::default());
    let mut client = server.client();
    client.enable();
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 0, 1));
    client.ok(Command::DeviceReset, &[]);
    assert_eq!(
        client.read(CONFIG_REGION, vefa_pci::regs::COMMAND as u64, 2),
        [0, 0]
    );
    client.enable();
    let vector = interrupt();
    let connect = set_irqs(DATA_EVENTFD | TRIGGER, 0, 1);
    client.ok_with(Command::DeviceSetIrqs, &connect, &[vector.as_fd()]);
    assert_eq!(count(&vector), 0);

    client.ok(Command::DeviceReset, &[]);
    client.enable();
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 0, 1));
    assert_eq!(count(&vector), 1);
    server.stop();
}

#[test]
fn interrupts_that_do_not_exist_are_refused() {
    let server = start(Config::default());
    let mut client = server.client();
    let vector = interrupt();
    let one = [vector.as_fd()];
    let refused = [
        (set_irqs(DATA_EVENTFD | TRIGGER, 33, 1), &one[..]),
        (set_irqs(DATA_EVENTFD | TRIGGER, u32::MAX, 1), &one),
        (set_irqs(DATA_EVENTFD | TRIGGER, 0, 2), &one),
        (set_irqs(DATA_EVENTFD | TRIGGER, 30, 4), &[]),
        (set_irqs(DATA_NONE | TRIGGER, 0, u32::MAX), &[]),
        (set_irqs(DATA_BOOL | TRIGGER, 0, 2), &[]),
        (set_irqs(DATA_NONE, 0, 1), &[]),
        (set_irqs(DATA_NONE | DATA_BOOL | TRIGGER, 0, 1), &[]),
        (words(&[20, DATA_EVENTFD | TRIGGER, 0, 0, 1]), &one),
        (words(&[20, DATA_NONE | TRIGGER, 3, 0, 0]), &[]),
    ];
    for (payload, fds) in refused {
        let errno = client.errno(Command::DeviceSetIrqs, &payload, fds);
        assert_eq!(errno, Errno::INVAL.raw_os_error(), "{payload:?}");
    }
    server.stop();
}

#[test]
fn disabling_all_interrupts_is_accepted_for_each_type() {
    let server = start(Config::default());
    let mut client = server.client();
    for index in 0..3 {
        client.ok(
            Command::DeviceSetIrqs,
            &words(&[20, DATA_NONE | TRIGGER, index, 0, 0]),
        );
    }
    server.stop();
}

#[test]
fn a_command_that_wants_no_reply_gets_none_and_is_carried_out() {
    const NO_REPLY: u32 = 1 << 4;
    let server = start(Config::default());
    let mut client = server.client();
    let payload = [access(LLQ_BAR, 0, 4), b"data".to_vec()].concat();
    let mut header = Header::command(77, Command::RegionWrite, payload.len());
    header.flags |= NO_REPLY;
    client.send(&[header.to_bytes(), payload].concat(), &[]);
    assert_eq!(client.read(LLQ_BAR, 0, 4), b"data");
    server.stop();
}

#[test]
fn commands_may_come_together_and_in_pieces() {
    let server = start(Config::default());
    let mut client = server.client();
    let fields = access(CONFIG_REGION, 0, 2);
    let header = Header::command(9, Command::RegionRead, fields.len()).to_bytes();
    let one = [header, fields].concat();
    client.send(&[one.clone(), one.clone()].concat(), &[]);
    for _ in 0..2 {
        assert_eq!(client.receive().unwrap().payload[16..], [0x0f, 0x1d]);
    }
    for byte in &one {
        client.send(&[*byte], &[]);
    }
    assert_eq!(client.receive().unwrap().payload[16..], [0x0f, 0x1d]);
    server.stop();
}

#[test]
fn file_descriptors_stay_with_their_message() {
    let server = start(Config::default());
    let mut client = server.client();
    client.enable();
    let vectors: Vec<_> = (0..8).map(|_| interrupt()).collect();
    for (vector, eventfd) in vectors.iter().enumerate() {
        let payload = set_irqs(DATA_EVENTFD | TRIGGER, vector as u32, 1);
        let header = Header::command(1, Command::DeviceSetIrqs, payload.len()).to_bytes();
        client.send(&[header, payload].concat(), &[eventfd.as_fd()]);
    }
    for _ in &vectors {
        assert!(!client.receive().unwrap().header.is_error());
    }
    client.ok(Command::DeviceSetIrqs, &set_irqs(DATA_NONE | TRIGGER, 5, 1));
    let counts: Vec<u64> = vectors.iter().map(count).collect();
    assert_eq!(counts, [0, 0, 0, 0, 0, 1, 0, 0]);
    server.stop();
}
