// SPDX-License-Identifier: GPL-2.0
//! What goes from one device to another.

use crate::data::descriptor::Remote;
use crate::gid::Gid;
use crate::names::WorkStatus;

/// A packet between two devices, or from a device to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// GID of the device that sent it.
    pub source: Gid,
    /// GID of the device that it is for.
    pub destination: Gid,
    /// Number of the QP that sent it.
    pub source_qp: u16,
    /// Number of the QP that it is for.
    pub destination_qp: u16,
    /// What it carries.
    pub body: Body,
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// An unreliable datagram.
    Datagram {
        /// Must be the receiver's.
        qkey: u32,
        /// Immediate data.
        immediate: Option<u32>,
        /// The message.
        data: Vec<u8>,
    },
    /// A part of an SRD message, which is answered.
    Request {
        /// Which part of which message.
        part: Part,
        /// Must be the receiver's.
        qkey: u32,
        /// What is asked for.
        request: Request,
    },
    /// The answer to a request: the bytes read, if any, or how it failed.
    Answer {
        /// Which part of which message.
        part: Part,
        /// What became of it.
        outcome: Result<Vec<u8>, WorkStatus>,
    },
}

/// A part of a message, which is a packet each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// Number of the message; its sender has no other of this number.
    pub message: u64,
    /// Number of the part, from 0.
    pub index: u32,
}

/// What an SRD packet asks of its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Put the message into a receive buffer.
    Send {
        /// Immediate data.
        immediate: Option<u32>,
        /// The message.
        data: Vec<u8>,
    },
    /// Write to memory.
    Write {
        /// Where the whole message goes.
        remote: Remote,
        /// Where in the message this part begins.
        offset: u64,
        /// The part.
        data: Vec<u8>,
        /// Whether all other parts have been written.
        last: bool,
        /// Immediate data, with the last part.
        immediate: Option<u32>,
    },
    /// Read from memory.
    Read {
        /// Where the whole message comes from.
        remote: Remote,
        /// Where in the message this part begins.
        offset: u64,
        /// Bytes of the part.
        len: u32,
        /// Whether all other parts have been read.
        last: bool,
    },
}

impl Packet {
    /// Bytes of messages that it carries.
    pub fn payload(&self) -> usize {
        match &self.body {
            Body::Datagram { data, .. } => data.len(),
            Body::Request { request, .. } => match request {
                Request::Send { data, .. } | Request::Write { data, .. } => data.len(),
                Request::Read { .. } => 0,
            },
            Body::Answer { outcome, .. } => outcome.as_ref().map_or(0, Vec::len),
        }
    }
}
