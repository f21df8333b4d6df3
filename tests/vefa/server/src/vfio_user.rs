// SPDX-License-Identifier: GPL-2.0
//! The vfio-user protocol, version 0.0, as far as a PCI device needs it: one request, one reply, over a
//! stream socket that also passes file descriptors.
//!
//! Not implemented: access to guest memory by messages (the client has to share it by file descriptor),
//! I/O event file descriptors, coalesced writes, migration.

mod connection;
mod message;
mod session;

pub use connection::{Connection, ConnectionError};
pub use message::{Command, Header, Request, HEADER_SIZE, MAX_DATA, MAX_FDS, MAX_MESSAGE};
pub use session::{Outcome, Session};
