// SPDX-License-Identifier: GPL-2.0
//! Message header, commands, and the reading and writing of payload fields.
//!
//! All numbers are in the byte order of the host, since both ends run on it.

use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Bytes of the header that precedes each message.
pub const HEADER_SIZE: usize = 16;
/// Most bytes that one region access may carry.
pub const MAX_DATA: usize = 1 << 20;
/// Most bytes of a message: header, the fields of a region write, and its data.
pub const MAX_MESSAGE: usize = HEADER_SIZE + 16 + MAX_DATA;
/// Most file descriptors of one message.
pub const MAX_FDS: usize = 16;

const TYPE_MASK: u32 = 0xf;
const TYPE_COMMAND: u32 = 0;
const TYPE_REPLY: u32 = 1;
const NO_REPLY: u32 = 1 << 4;
const ERROR: u32 = 1 << 5;

/// The commands that a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Command {
    Version = 1,
    DmaMap = 2,
    DmaUnmap = 3,
    DeviceGetInfo = 4,
    DeviceGetRegionInfo = 5,
    DeviceGetIrqInfo = 7,
    DeviceSetIrqs = 8,
    RegionRead = 9,
    RegionWrite = 10,
    DeviceReset = 13,
}

impl Command {
    /// The command with that number.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` when there is none, or the device does not serve it.
    pub fn from_number(number: u16) -> Result<Self, Errno> {
        Ok(match number {
            1 => Command::Version,
            2 => Command::DmaMap,
            3 => Command::DmaUnmap,
            4 => Command::DeviceGetInfo,
            5 => Command::DeviceGetRegionInfo,
            7 => Command::DeviceGetIrqInfo,
            8 => Command::DeviceSetIrqs,
            9 => Command::RegionRead,
            10 => Command::RegionWrite,
            13 => Command::DeviceReset,
            _ => return Err(Errno::OPNOTSUPP),
        })
    }
}

/// Message header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Chosen by the sender of a command and repeated in the reply.
    pub id: u16,
    /// Number of the command.
    pub command: u16,
    /// Bytes of the whole message, header included.
    pub size: u32,
    pub flags: u32,
    /// errno, in a reply that reports an error.
    pub error: u32,
}

impl Header {
    /// A command that wants a reply, with `payload_len` bytes after the header.
    pub fn command(id: u16, command: Command, payload_len: usize) -> Self {
        Header {
            id,
            command: command as u16,
            size: total_size(payload_len),
            flags: TYPE_COMMAND,
            error: 0,
        }
    }

    /// The header in `bytes`.
    pub fn from_bytes(bytes: &[u8; HEADER_SIZE]) -> Self {
        let [i0, i1, c0, c1, s0, s1, s2, s3, f0, f1, f2, f3, e0, e1, e2, e3] = *bytes;
        Header {
            id: u16::from_ne_bytes([i0, i1]),
            command: u16::from_ne_bytes([c0, c1]),
            size: u32::from_ne_bytes([s0, s1, s2, s3]),
            flags: u32::from_ne_bytes([f0, f1, f2, f3]),
            error: u32::from_ne_bytes([e0, e1, e2, e3]),
        }
    }

    /// The header as it is sent.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut fields = FieldWriter::default();
        fields.u16(self.id).u16(self.command).u32(self.size);
        fields.u32(self.flags).u32(self.error);
        fields.finish()
    }

    pub fn is_command(&self) -> bool {
        self.flags & TYPE_MASK == TYPE_COMMAND
    }

    pub fn wants_reply(&self) -> bool {
        self.flags & NO_REPLY == 0
    }

    pub fn is_error(&self) -> bool {
        self.flags & ERROR != 0
    }

    /// The successful reply to this command, complete with its payload.
    pub fn reply(&self, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            size: total_size(payload.len()),
            flags: TYPE_REPLY,
            error: 0,
            ..*self
        };
        let mut message = header.to_bytes();
        message.extend_from_slice(payload);
        message
    }

    /// The reply that reports `error`; it has no payload.
    pub fn error_reply(&self, error: Errno) -> Vec<u8> {
        let header = Header {
            size: total_size(0),
            flags: TYPE_REPLY | ERROR,
            error: error.raw_os_error().unsigned_abs(),
            ..*self
        };
        header.to_bytes()
    }
}

fn total_size(payload_len: usize) -> u32 {
    u32::try_from(HEADER_SIZE + payload_len).unwrap_or(u32::MAX)
}

/// A complete message from the client.
#[derive(Debug)]
pub struct Request {
    pub header: Header,
    /// What follows the header: `header.size` less the header's size.
    pub payload: Vec<u8>,
    /// The file descriptors that came with it.
    pub fds: Vec<OwnedFd>,
}

/// Takes fields from a payload, front to back.
pub struct FieldReader<'a>(&'a [u8]);

impl<'a> FieldReader<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        FieldReader(payload)
    }

    /// # Errors
    ///
    /// `EINVAL` when the payload is too short, as for the others.
    pub fn u16(&mut self) -> Result<u16, Errno> {
        self.take().map(u16::from_ne_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Errno> {
        self.take().map(u32::from_ne_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Errno> {
        self.take().map(u64::from_ne_bytes)
    }

    /// What has not been taken.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(*field)
    }
}

/// Puts fields into a payload, front to back.
#[derive(Default)]
pub struct FieldWriter(Vec<u8>);

impl FieldWriter {
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The payload.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}
