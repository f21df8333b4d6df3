// SPDX-License-Identifier: GPL-2.0
//! A server in a thread, and the client's side of both its sockets.

#![allow(dead_code, reason = "each test program uses its part")]

pub mod guest;
pub mod objects;

use rustix::event::{eventfd, EventfdFlags};
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use vefa_model::Config;
use vefa_server::device::Device;
use vefa_server::server::Server;
use vefa_server::slot::Slot;
use vefa_server::socket::Listener;
use vefa_server::vfio_user::{Command, Header, HEADER_SIZE};

/// Long enough for any answer; a server that does not answer fails the test.
const PATIENCE: Duration = Duration::from_secs(10);

pub const CONFIG_REGION: u32 = 7;

/// A server that runs until it is stopped.
pub struct Running {
    pub dir: tempfile::TempDir,
    stop: UnixStream,
    thread: JoinHandle<anyhow::Result<Vec<Value>>>,
}

/// A server with one device.
pub fn start(config: Config) -> Running {
    start_all(vec![config])
}

/// A server with several devices. What is said of "the" device below is said of the first one.
pub fn start_all(configs: Vec<Config>) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let listener = |kind, number| Listener::bind(&socket(dir.path(), kind, number)).unwrap();
    let listeners = (0..configs.len()).map(|n| (listener("vfio", n), listener("control", n)));
    let listeners: Vec<_> = listeners.collect();
    let (stop, stopped) = UnixStream::pair().unwrap();
    let thread = std::thread::spawn(move || {
        let slots = configs.into_iter().zip(listeners);
        let slots = slots.map(|(config, (listener, control))| {
            Ok(Slot::new(Device::new(config)?, listener, control))
        });
        Server::new(slots.collect::<anyhow::Result<_>>()?)?.run(stopped)
    });
    Running { dir, stop, thread }
}

fn socket(dir: &Path, kind: &str, number: usize) -> PathBuf {
    dir.join(format!("{kind}{number}"))
}

impl Running {
    pub fn socket(&self) -> PathBuf {
        socket(self.dir.path(), "vfio", 0)
    }

    pub fn control_socket(&self) -> PathBuf {
        socket(self.dir.path(), "control", 0)
    }

    pub fn client(&self) -> Client {
        self.client_of(0)
    }

    pub fn new_client(&self) -> Client {
        self.new_client_of(0)
    }

    pub fn new_client_of(&self, device: usize) -> Client {
        let socket = UnixStream::connect(socket(self.dir.path(), "vfio", device)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { socket, next_id: 1 }
    }

    /// A client of that device that has agreed on the version.
    pub fn client_of(&self, device: usize) -> Client {
        let mut client = self.new_client_of(device);
        client.ok(Command::Version, &[0; 4]);
        client
    }

    pub fn control(&self) -> Control {
        self.control_of(0)
    }

    pub fn control_of(&self, device: usize) -> Control {
        let socket = UnixStream::connect(socket(self.dir.path(), "control", device)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Control {
            answers: BufReader::new(socket.try_clone().unwrap()),
            socket,
        }
    }

    /// The rules that were broken, in order.
    pub fn violations(&self) -> Vec<String> {
        let answer = self.control().request(r#"{"op":"violations"}"#);
        let violations = answer["violations"].as_array().unwrap().iter();
        violations
            .map(|violation| violation["rule"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Stops the server and gives the device's report.
    pub fn stop(self) -> Value {
        self.stop_all().remove(0)
    }

    /// Stops the server and gives the report of each device.
    pub fn stop_all(mut self) -> Vec<Value> {
        self.stop.write_all(b"x").unwrap();
        self.join()
    }

    /// Waits until the server ends by itself.
    pub fn join(self) -> Vec<Value> {
        self.thread.join().unwrap().unwrap()
    }
}

pub struct Reply {
    pub header: Header,
    pub payload: Vec<u8>,
    pub fds: Vec<OwnedFd>,
}

/// What QEMU is to the server.
pub struct Client {
    pub socket: UnixStream,
    next_id: u16,
}

impl Client {
    pub fn request(&mut self, command: Command, payload: &[u8], fds: &[BorrowedFd<'_>]) -> Reply {
        let header = Header::command(self.next_id, command, payload.len());
        self.next_id += 1;
        self.send(&[&header.to_bytes(), payload].concat(), fds);
        let reply = self.receive().expect("a reply");
        assert_eq!(reply.header.id, header.id);
        assert_eq!(reply.header.command, header.command);
        assert!(!reply.header.is_command());
        reply
    }

    /// The payload and file descriptors of a request that succeeds.
    pub fn ok_with(&mut self, command: Command, payload: &[u8], fds: &[BorrowedFd<'_>]) -> Reply {
        let reply = self.request(command, payload, fds);
        assert!(
            !reply.header.is_error(),
            "{command:?}: errno {}",
            reply.header.error
        );
        reply
    }

    pub fn ok(&mut self, command: Command, payload: &[u8]) -> Vec<u8> {
        self.ok_with(command, payload, &[]).payload
    }

    /// The errno of a request that fails.
    pub fn errno(&mut self, command: Command, payload: &[u8], fds: &[BorrowedFd<'_>]) -> i32 {
        let reply = self.request(command, payload, fds);
        assert!(reply.header.is_error(), "{command:?} was not refused");
        assert!(reply.payload.is_empty());
        reply.header.error as i32
    }

    pub fn read(&mut self, region: u32, offset: u64, count: u32) -> Vec<u8> {
        let fields = access(region, offset, count);
        let reply = self.ok(Command::RegionRead, &fields);
        let (repeated, data) = reply.split_at(fields.len());
        assert_eq!(repeated, fields);
        assert_eq!(data.len(), count as usize);
        data.to_vec()
    }

    pub fn write(&mut self, region: u32, offset: u64, data: &[u8]) {
        let fields = access(region, offset, data.len() as u32);
        let reply = self.ok(Command::RegionWrite, &[&fields, data].concat());
        assert_eq!(reply, fields);
    }

    /// Bus mastering and MSI-X on, as a driver does it.
    pub fn enable(&mut self) {
        let bus_master = vefa_pci::regs::COMMAND_BUS_MASTER.to_le_bytes();
        self.write(CONFIG_REGION, vefa_pci::regs::COMMAND as u64, &bus_master);
        let enable = vefa_pci::regs::MSIX_CONTROL_ENABLE.to_le_bytes();
        self.write(CONFIG_REGION, vefa_pci::regs::MSIX_CONTROL as u64, &enable);
    }

    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(fds)));
        }
        let flags = SendFlags::NOSIGNAL;
        let sent = sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, flags).unwrap();
        assert_eq!(sent, bytes.len());
    }

    /// The next message, or `None` when the server has closed the connection.
    pub fn receive(&mut self) -> Option<Reply> {
        let mut header = [0; HEADER_SIZE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut buffer = [IoSliceMut::new(&mut header)];
        let received = recvmsg(&self.socket, &mut buffer, &mut control, RecvFlags::empty());
        match received.map(|message| message.bytes) {
            Ok(0) | Err(rustix::io::Errno::CONNRESET) => return None,
            received => assert_eq!(received, Ok(HEADER_SIZE)),
        }
        let mut fds = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(passed) = message {
                fds.extend(passed);
            }
        }
        let header = Header::from_bytes(&header);
        let mut payload = vec![0; header.size as usize - HEADER_SIZE];
        self.socket.read_exact(&mut payload).unwrap();
        Some(Reply {
            header,
            payload,
            fds,
        })
    }
}

/// A client of the control socket.
pub struct Control {
    pub socket: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Control {
    pub fn request(&mut self, line: &str) -> Value {
        self.send(line);
        self.answer().expect("an answer")
    }

    pub fn send(&mut self, line: &str) {
        self.socket.write_all(line.as_bytes()).unwrap();
        self.socket.write_all(b"\n").unwrap();
    }

    pub fn answer(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }
}

/// The message that begins a session.
pub fn version_command() -> Vec<u8> {
    let payload = [0; 4];
    let header = Header::command(1, Command::Version, payload.len());
    [&header.to_bytes()[..], &payload].concat()
}

/// Fields of a region access.
pub fn access(region: u32, offset: u64, count: u32) -> Vec<u8> {
    [
        &offset.to_ne_bytes()[..],
        &region.to_ne_bytes(),
        &count.to_ne_bytes(),
    ]
    .concat()
}

pub fn words(values: &[u32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect()
}

pub fn word(payload: &[u8], index: usize) -> u32 {
    u32::from_ne_bytes(payload[index * 4..][..4].try_into().unwrap())
}

pub fn long(payload: &[u8], offset: usize) -> u64 {
    u64::from_ne_bytes(payload[offset..][..8].try_into().unwrap())
}

pub const READ: u32 = 1;
pub const WRITE: u32 = 2;

pub fn dma_map(flags: u32, offset: u64, iova: u64, size: u64) -> Vec<u8> {
    let longs = [offset, iova, size].map(u64::to_ne_bytes).concat();
    [words(&[32, flags]), longs].concat()
}

pub fn dma_unmap(flags: u32, iova: u64, size: u64) -> Vec<u8> {
    let longs = [iova, size].map(u64::to_ne_bytes).concat();
    [words(&[24, flags]), longs].concat()
}

pub fn guest_memory(size: u64) -> File {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("guest", flags).unwrap();
    ftruncate(&file, size).unwrap();
    file.into()
}

pub fn interrupt() -> OwnedFd {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap()
}

/// How often an eventfd was signalled since it was last asked.
pub fn count(eventfd: impl AsFd) -> u64 {
    let mut bytes = [0; 8];
    match rustix::io::read(eventfd, &mut bytes) {
        Ok(_) => u64::from_ne_bytes(bytes),
        Err(rustix::io::Errno::AGAIN) => 0,
        Err(error) => panic!("{error}"),
    }
}
