// SPDX-License-Identifier: GPL-2.0
//! Serves virtual EFA devices: to QEMU over vfio-user, to people and tests over a control socket.
//!
//! One thread waits for everything: messages of the client, requests of the control clients, due work of
//! the devices, the signal to stop. So nothing is locked, and what the device does before a reply is sent is
//! visible to the guest when its access returns.

#![forbid(unsafe_code)]

pub mod control;
pub mod ctl;
pub mod device;
pub mod interrupts;
pub mod llq;
mod log;
pub mod memory;
pub mod options;
mod outbox;
pub mod server;
pub mod settings;
pub mod slot;
pub mod socket;
pub mod vfio_user;
