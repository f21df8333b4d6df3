// SPDX-License-Identifier: GPL-2.0
//! Whatever comes over the vfio-user socket, the answer is an error or the end of the connection, and the
//! next client is served.

mod common;

use common::*;
use rustix::io::Errno;
use std::os::fd::AsFd;
use vefa_model::Config;
use vefa_server::vfio_user::{Command, Header, HEADER_SIZE, MAX_FDS, MAX_MESSAGE};

/// The server is alive and serves.
fn check_alive(server: &Running) {
    let mut client = server.client();
    assert_eq!(client.read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
}

fn message(command: u16, size: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        id: 1,
        command,
        size,
        flags,
        error: 0,
    };
    [&header.to_bytes(), payload].concat()
}

#[test]
fn a_message_that_breaks_the_framing_ends_the_connection() {
    let server = start(Config::default());
    let broken = [
        message(4, 0, 0, &[]),
        message(4, HEADER_SIZE as u32 - 1, 0, &[]),
        message(4, MAX_MESSAGE as u32 + 1, 0, &[]),
        message(4, u32::MAX, 0, &[]),
        message(4, HEADER_SIZE as u32, 1, &[]),
        message(4, HEADER_SIZE as u32, 0xf, &[]),
        vec![0xff; HEADER_SIZE],
        vec![0; HEADER_SIZE],
    ];
    for bytes in broken {
        let mut client = server.client();
        client.send(&bytes, &[]);
        assert!(client.receive().is_none(), "{bytes:?}");
    }
    check_alive(&server);
    server.stop();
}

#[test]
fn a_client_that_leaves_inside_a_message_is_forgotten() {
    let server = start(Config::default());
    for length in [1, HEADER_SIZE - 1, HEADER_SIZE, HEADER_SIZE + 1] {
        let client = server.client();
        let whole = message(4, 32, 0, &[0; 16]);
        client.send(&whole[..length], &[]);
        drop(client);
        check_alive(&server);
    }
    server.stop();
}

#[test]
fn without_an_agreed_version_the_connection_ends() {
    let server = start(Config::default());
    let proposals: [&[u8]; 7] = [
        &[],
        &[0],
        &[0, 0, 0],
        &[1, 0, 0, 0],
        b"\0\0\0\0{",
        b"\0\0\0\0[]\0",
        b"\0\0\0\0\xff\xfe\0",
    ];
    for proposal in proposals {
        let mut client = server.new_client();
        let errno = client.errno(Command::Version, proposal, &[]);
        assert_eq!(errno, Errno::INVAL.raw_os_error(), "{proposal:?}");
        assert!(client.receive().is_none(), "{proposal:?}");
    }
    let mut client = server.new_client();
    client.errno(Command::DeviceGetInfo, &words(&[16, 0, 0, 0]), &[]);
    assert!(client.receive().is_none());
    check_alive(&server);
    server.stop();
}

#[test]
fn a_second_version_is_refused_and_the_session_goes_on() {
    let server = start(Config::default());
    let mut client = server.client();
    let errno = client.errno(Command::Version, &[0; 4], &[]);
    assert_eq!(errno, Errno::INVAL.raw_os_error());
    assert_eq!(client.read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
    server.stop();
}

#[test]
fn unknown_commands_are_refused_and_their_payload_is_consumed() {
    let server = start(Config::default());
    let mut client = server.client();
    for command in [0, 6, 11, 12, 14, 15, 16, 255, u16::MAX] {
        let size = HEADER_SIZE as u32 + 100;
        client.send(&message(command, size, 0, &[0xaa; 100]), &[]);
        let reply = client.receive().unwrap();
        assert!(reply.header.is_error());
        assert_eq!(reply.header.error, Errno::OPNOTSUPP.raw_os_error() as u32);
    }
    assert_eq!(client.read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
    server.stop();
}

#[test]
fn every_payload_that_is_too_short_is_refused() {
    let server = start(Config::default());
    let mut client = server.client();
    let least = [
        (Command::DmaMap, 32),
        (Command::DmaUnmap, 24),
        (Command::DeviceGetInfo, 4),
        (Command::DeviceGetRegionInfo, 12),
        (Command::DeviceGetIrqInfo, 12),
        (Command::DeviceSetIrqs, 20),
        (Command::RegionRead, 16),
        (Command::RegionWrite, 17),
    ];
    for (command, least) in least {
        for length in 0..least {
            let errno = client.errno(command, &vec![1; length], &[]);
            assert_eq!(errno, Errno::INVAL.raw_os_error(), "{command:?} {length}");
        }
    }
    server.stop();
}

#[test]
fn a_client_without_room_for_the_reply_is_refused() {
    let server = start(Config::default());
    let mut client = server.client();
    let requests = [
        (Command::DeviceGetInfo, 15),
        (Command::DeviceGetRegionInfo, 31),
        (Command::DeviceGetIrqInfo, 15),
    ];
    for (command, room) in requests {
        let errno = client.errno(command, &words(&[room, 0, 0, 0, 0, 0, 0, 0]), &[]);
        assert_eq!(errno, Errno::INVAL.raw_os_error(), "{command:?}");
    }
    server.stop();
}

#[test]
fn file_descriptors_with_a_command_that_takes_none_are_refused() {
    let server = start(Config::default());
    let mut client = server.client();
    let fd = interrupt();
    let fields = access(CONFIG_REGION, 0, 4);
    let errno = client.errno(Command::RegionRead, &fields, &[fd.as_fd()]);
    assert_eq!(errno, Errno::INVAL.raw_os_error());
    server.stop();
}

#[test]
fn more_file_descriptors_than_agreed_end_the_connection() {
    let server = start(Config::default());
    let mut client = server.client();
    let fd = interrupt();
    let fds = vec![fd.as_fd(); MAX_FDS + 1];
    client.send(&message(8, 36, 0, &words(&[20, 0x24, 2, 0, 17])), &fds);
    assert!(client.receive().is_none());
    check_alive(&server);
    server.stop();
}

#[test]
fn a_pipe_that_is_full_does_not_hold_up_the_device() {
    let server = start(Config::default());
    let mut client = server.client();
    client.enable();
    let (_reader, writer) = rustix::pipe::pipe().unwrap();
    let connect = words(&[20, 0x24, 2, 0, 1]);
    client.ok_with(Command::DeviceSetIrqs, &connect, &[writer.as_fd()]);
    for _ in 0..20_000 {
        client.ok(Command::DeviceSetIrqs, &words(&[20, 0x21, 2, 0, 1]));
    }
    server.stop();
}

#[test]
fn a_client_that_does_not_read_is_dropped_and_the_next_is_served() {
    let server = start(Config::default());
    let client = server.client();
    client.socket.set_nonblocking(true).unwrap();
    let fields = access(2, 0, 1 << 20);
    let request = message(9, HEADER_SIZE as u32 + 16, 0, &fields);
    // Each asks for 1 MiB; the server keeps 16 of them for the client.
    for _ in 0..64 {
        client.send(&request, &[]);
    }
    check_alive(&server);
    server.stop();
}

#[test]
fn random_messages_never_stop_the_server() {
    let server = start(Config::default());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..200 {
        let mut client = server.client();
        for _ in 0..50 {
            let payload: Vec<u8> = (0..random.below(48)).map(|_| random.byte()).collect();
            let command = random.below(18) as u16;
            let size = (HEADER_SIZE + payload.len()) as u32;
            let fds: Vec<_> = (0..random.below(3)).map(|_| interrupt()).collect();
            let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
            client.send(&message(command, size, 0, &payload), &fds);
            if client.receive().is_none() {
                break;
            }
        }
    }
    check_alive(&server);
    server.stop();
}

/// Numbers that look random and are the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> usize {
        (self.next() % limit) as usize
    }

    /// Small values are likely, so that many messages get past the first checks.
    fn byte(&mut self) -> u8 {
        match self.next() % 4 {
            0 => (self.next() % 256) as u8,
            1 => (self.next() % 16) as u8,
            _ => 0,
        }
    }
}
