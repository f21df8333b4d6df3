// SPDX-License-Identifier: GPL-2.0
//! The data path: doorbells, work requests, packets, completions.
//!
//! Commands on objects call the functions here when an object that work
//! requests use goes away, or a queue pair leaves the states that work.

#![allow(dead_code)]

pub(crate) mod doorbell;
mod packet;
pub(crate) mod traffic;
pub(crate) mod work;

use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::EfaModel;
pub use packet::Packet;
use traffic::Traffic;

/// The device's part of the data path that belongs to no object.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// Traffic of all queue pairs since the last reset.
    pub traffic: Traffic,
    /// Packets that nobody has taken yet.
    outgoing: Vec<Packet>,
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Takes the packets that the device has sent since the last call.
    pub fn take_packets(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.data.outgoing)
    }

    /// A packet for this device arrives.
    pub fn deliver(&mut self, _packet: Packet) {}

    /// Address handle `ah` was destroyed: its outstanding work requests fail.
    pub(crate) fn ah_destroyed(&mut self, _ah: u16) {}

    /// Queue pair `qp` has a new state: it starts to work, or what is
    /// outstanding is flushed or dropped.
    pub(crate) fn qp_moved(&mut self, _qp: u16) {}

    /// Queue pair `qp` is about to be destroyed, and is still there: what is
    /// outstanding is flushed.
    pub(crate) fn qp_destroyed(&mut self, _qp: u16) {}
}
