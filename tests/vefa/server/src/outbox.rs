// SPDX-License-Identifier: GPL-2.0
//! Messages that wait until a non-blocking socket takes them, so that a client that does not read can
//! never hold up the device.

use rustix::io::Errno;
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use thiserror::Error;

/// Most bytes that may wait for one client.
const MAX_QUEUED: usize = 16 << 20;

/// Why nothing more can be sent to a client.
#[derive(Debug, Error)]
pub enum OutboxError {
    #[error("the client does not read its answers")]
    Full,
    #[error("send")]
    Send(#[from] Errno),
}

/// Queue of messages to one socket.
#[derive(Default)]
pub struct Outbox {
    queue: VecDeque<Message>,
    /// Bytes of all messages in the queue.
    queued: usize,
}

struct Message {
    bytes: Vec<u8>,
    /// How many of the bytes have been sent.
    sent: usize,
    /// Passed with the first byte.
    fd: Option<OwnedFd>,
}

impl Outbox {
    /// Adds a message and the file descriptor that goes with it.
    ///
    /// # Errors
    ///
    /// [`OutboxError::Full`] when too much waits already.
    pub fn push(&mut self, bytes: Vec<u8>, fd: Option<OwnedFd>) -> Result<(), OutboxError> {
        if self.queued + bytes.len() > MAX_QUEUED {
            return Err(OutboxError::Full);
        }
        self.queued += bytes.len();
        let sent = 0;
        self.queue.push_back(Message { bytes, sent, fd });
        Ok(())
    }

    /// Sends until the queue is empty or the socket takes no more.
    ///
    /// # Errors
    ///
    /// [`OutboxError::Send`] when the socket is closed or broken.
    pub fn flush(&mut self, socket: BorrowedFd<'_>) -> Result<(), OutboxError> {
        while let Some(message) = self.queue.front_mut() {
            match message.send(socket) {
                Ok(()) => (),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            if message.sent == message.bytes.len() {
                self.queued -= message.bytes.len();
                self.queue.pop_front();
            }
        }
        Ok(())
    }

    /// Whether everything has been sent.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl Message {
    fn send(&mut self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let fd = self.fd.as_ref().map(|fd| [fd.as_fd()]);
        let mut control = SendAncillaryBuffer::new(&mut space);
        if let Some(fd) = &fd {
            control.push(SendAncillaryMessage::ScmRights(fd));
        }
        let unsent = self.bytes.get(self.sent..).unwrap_or_default();
        let flags = SendFlags::NOSIGNAL;
        self.sent += sendmsg(socket, &[IoSlice::new(unsent)], &mut control, flags)?;
        self.fd = None;
        Ok(())
    }
}
