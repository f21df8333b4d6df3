// SPDX-License-Identifier: GPL-2.0
//! One client's socket: cuts the byte stream into messages and keeps file descriptors with the message
//! that carried them. Never blocks.

use super::message::{Header, Request, HEADER_SIZE, MAX_FDS, MAX_MESSAGE};
use crate::outbox::{Outbox, OutboxError};
use rustix::io::Errno;
use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use thiserror::Error;

/// Why a connection cannot go on. The stream has no marks to find the next message by, so every framing
/// error is final.
#[derive(Debug, Error)]
pub enum ConnectionError {
    #[error("the client closed the connection")]
    Closed,
    #[error("the client closed the connection inside a message")]
    Truncated,
    #[error("message size {0} is not within {HEADER_SIZE} to {MAX_MESSAGE}")]
    Size(u32),
    #[error("message with type and flags {0:#x} is not a command")]
    NotACommand(u32),
    #[error("message with more than {MAX_FDS} file descriptors")]
    TooManyFds,
    #[error("{0}")]
    Refused(&'static str),
    #[error("receive")]
    Receive(#[source] Errno),
    #[error(transparent)]
    Send(#[from] OutboxError),
}

/// The socket of a client, with what has been received of the next message and what is still to be sent.
pub struct Connection {
    socket: UnixStream,
    /// The bytes received of the message.
    buffer: Vec<u8>,
    fds: Vec<OwnedFd>,
    outbox: Outbox,
}

impl Connection {
    /// Takes over `socket`.
    ///
    /// # Errors
    ///
    /// When the socket cannot be made non-blocking.
    pub fn new(socket: UnixStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Connection {
            socket,
            buffer: Vec::new(),
            fds: Vec::new(),
            outbox: Outbox::default(),
        })
    }

    /// The next complete message, or `None` when it has not arrived yet.
    ///
    /// # Errors
    ///
    /// [`ConnectionError`]; the connection is then of no more use.
    pub fn receive(&mut self) -> Result<Option<Request>, ConnectionError> {
        loop {
            let wanted = self.wanted()?;
            if self.buffer.len() == wanted {
                return Ok(self.take_request());
            }
            if !self.receive_up_to(wanted)? {
                return Ok(None);
            }
        }
    }

    /// Queues a message with the file descriptor that goes with it, and sends what the socket takes.
    ///
    /// # Errors
    ///
    /// [`ConnectionError::Send`] when the client is gone or does not read.
    pub fn send(&mut self, message: Vec<u8>, fd: Option<OwnedFd>) -> Result<(), ConnectionError> {
        self.outbox.push(message, fd)?;
        self.flush()
    }

    /// Sends what the socket takes of what is queued.
    ///
    /// # Errors
    ///
    /// As [`Connection::send`].
    pub fn flush(&mut self) -> Result<(), ConnectionError> {
        Ok(self.outbox.flush(self.socket.as_fd())?)
    }

    /// Whether messages wait until the socket can take them.
    pub fn has_output(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Bytes that the buffer has to hold next: the header first, then the whole message. Reading exactly
    /// so much is what keeps file descriptors apart: the socket gives them with the first byte of the
    /// message they were sent with.
    fn wanted(&self) -> Result<usize, ConnectionError> {
        let Some(header) = self.header() else {
            return Ok(HEADER_SIZE);
        };
        if !header.is_command() {
            return Err(ConnectionError::NotACommand(header.flags));
        }
        match usize::try_from(header.size) {
            Ok(size) if (HEADER_SIZE..=MAX_MESSAGE).contains(&size) => Ok(size),
            _ => Err(ConnectionError::Size(header.size)),
        }
    }

    fn header(&self) -> Option<Header> {
        self.buffer.first_chunk().map(Header::from_bytes)
    }

    /// Receives until the buffer holds at most `wanted` bytes. `false` when there is nothing to receive.
    fn receive_up_to(&mut self, wanted: usize) -> Result<bool, ConnectionError> {
        let old_len = self.buffer.len();
        self.buffer.resize(wanted, 0);
        let space = self.buffer.get_mut(old_len..).unwrap_or_default();
        let received = receive(&self.socket, space, &mut self.fds);
        let new_bytes = *received.as_ref().unwrap_or(&0);
        self.buffer.truncate(old_len + new_bytes);
        match received {
            Ok(0) if self.buffer.is_empty() => Err(ConnectionError::Closed),
            Ok(0) => Err(ConnectionError::Truncated),
            Ok(_) => Ok(true),
            Err(ConnectionError::Receive(Errno::AGAIN | Errno::INTR)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn take_request(&mut self) -> Option<Request> {
        let header = self.header()?;
        let payload = self.buffer.split_off(HEADER_SIZE);
        self.buffer.clear();
        Some(Request {
            header,
            payload,
            fds: std::mem::take(&mut self.fds),
        })
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Receives into `space`, appending file descriptors to `fds`. Returns the number of bytes.
fn receive(
    socket: &UnixStream,
    space: &mut [u8],
    fds: &mut Vec<OwnedFd>,
) -> Result<usize, ConnectionError> {
    let mut ancillary = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut ancillary);
    let mut space = [IoSliceMut::new(space)];
    let message = recvmsg(socket, &mut space, &mut control, RecvFlags::CMSG_CLOEXEC)
        .map_err(ConnectionError::Receive)?;
    for item in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = item {
            fds.extend(received);
        }
    }
    if message.flags.contains(ReturnFlags::CTRUNC) || fds.len() > MAX_FDS {
        return Err(ConnectionError::TooManyFds);
    }
    Ok(message.bytes)
}
