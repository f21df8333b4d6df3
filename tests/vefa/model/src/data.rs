// SPDX-License-Identifier: GPL-2.0
//! The data path: from a doorbell through work requests and packets to
//! completions and events.
//!
//! Nothing here waits: a doorbell queues packets, [`EfaModel::take_packets`]
//! hands some of them out, and what arrives through [`EfaModel::deliver`] is
//! carried out at once. Commands on objects call the functions here when an
//! object that work requests use goes away, or a queue pair gets a new state.

mod access;
pub(crate) mod completion;
pub(crate) mod descriptor;
pub(crate) mod doorbell;
pub mod faults;
mod initiator;
mod message;
pub mod network;
pub mod packet;
mod receive;
mod remembered;
mod responder;
mod send;
pub(crate) mod traffic;
pub(crate) mod work;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::gid::Gid;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::QpState;
use crate::EfaModel;
use completion::Held;
use faults::WorkFaults;
use network::Network;
pub use packet::Packet;
use packet::{Body, Part};
use remembered::Remembered;
use traffic::Traffic;

/// What one call of [`EfaModel::take_packets`] hands out at most, so that no
/// access of a guest waits for long.
const BURST_PACKETS: usize = 256;
const BURST_BYTES: usize = 64 << 10;

/// The device's part of the data path that belongs to no object.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// Traffic of all queue pairs since the last reset.
    pub traffic: Traffic,
    pub faults: WorkFaults,
    pub network: Network,
    held: Held,
    outgoing: VecDeque<Outgoing>,
    /// When the wait of a message of a QP ends; some of them have ended
    /// meanwhile.
    timers: BTreeSet<(Duration, u16, u64)>,
    /// Devices that have answered.
    responsive: BTreeSet<Gid>,
    carried_out: Remembered,
    /// Number of the last message. A reset does not set it back: peers know
    /// messages by it.
    last_message: u64,
}

/// A packet that is to go out.
#[derive(Debug)]
enum Outgoing {
    Packet(Packet),
    /// A part of a message, whose bytes are read when it goes out.
    Part {
        qp: u16,
        part: Part,
    },
    /// A request to read, which is carried out when the answer goes out.
    Read(Packet),
}

impl Data {
    /// Drops what a reset ends. Scripts stay, and so does what is on its way
    /// to other devices.
    pub fn reset(&mut self) {
        self.traffic = Traffic::default();
        self.held.clear();
        self.outgoing.clear();
        self.timers.clear();
        self.responsive.clear();
        self.carried_out = Remembered::default();
    }

    /// Sets back all scripts of the data path but for held completions.
    pub fn clear_scripts(&mut self) {
        self.faults.clear();
        self.network.set(network::NetworkScript::default());
    }

    fn set_timer(&mut self, due: Duration, qp: u16, message: u64) {
        self.timers.insert((due, qp, message));
    }

    /// Takes a message whose wait ended at `now`.
    fn take_timer(&mut self, now: Duration) -> Option<(u16, u64)> {
        let (due, qp, message) = *self.timers.first()?;
        if due > now {
            return None;
        }
        self.timers.pop_first();
        Some((qp, message))
    }
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Takes packets that the device sends: a bounded number of them, as long
    /// as there are any; [`poll`](Self::poll) says when to call again.
    pub fn take_packets(&mut self) -> Vec<Packet> {
        let now = self.journal.now;
        let mut bytes = 0;
        for _ in 0..BURST_PACKETS {
            if bytes >= BURST_BYTES || !self.works() {
                break;
            }
            let Some(outgoing) = self.data.outgoing.pop_front() else {
                break;
            };
            let packet = match outgoing {
                Outgoing::Packet(packet) => Some(packet),
                Outgoing::Part { qp, part } => self.make_packet(qp, part),
                Outgoing::Read(packet) => self.answer_read(&packet),
            };
            if let Some(packet) = packet {
                bytes += packet.payload();
                self.data.network.send(packet, now);
            }
        }
        self.data.network.take(now, BURST_BYTES)
    }

    /// A packet for this device arrives.
    pub fn deliver(&mut self, packet: Packet) {
        if packet.destination != self.config.gid || !self.works() {
            return;
        }
        match &packet.body {
            Body::Datagram { .. } => self.receive_datagram(&packet),
            Body::Request { .. } => self.receive_request(packet),
            Body::Answer { part, outcome } => {
                let outcome = outcome.as_deref().map_err(|status| *status);
                self.answered(&packet, *part, outcome);
            }
        }
    }

    /// When the data path has work to do.
    pub(crate) fn data_due(&self) -> Option<Duration> {
        let outgoing = !self.data.outgoing.is_empty() && self.works();
        let outgoing = outgoing.then_some(self.journal.now);
        let timer = self.data.timers.first().map(|(due, _, _)| *due);
        let due = outgoing.into_iter().chain(timer);
        due.chain(self.data.network.due()).min()
    }

    /// Address handle `ah` was destroyed: its outstanding work requests fail.
    pub(crate) fn ah_destroyed(&mut self, ah: u16) {
        self.end_messages_of(ah);
    }

    /// Queue pair `qp` has a new state: it starts to work, or what is
    /// outstanding is flushed or dropped.
    pub(crate) fn qp_moved(&mut self, qp: u16) {
        let Some(moved) = self.objects.qps.get_mut(qp) else {
            return;
        };
        match moved.state {
            QpState::Reset => moved.work.restart(),
            QpState::Rts => self.fetch(qp),
            QpState::Err => self.flush(qp),
            _ => (),
        }
    }

    /// Queue pair `qp` is about to be destroyed, and is still there: what is
    /// outstanding is flushed.
    pub(crate) fn qp_destroyed(&mut self, qp: u16) {
        if self.config.flush_on_destroy {
            self.flush(qp);
        }
    }

    /// Whether the device does anything of itself.
    fn works(&self) -> bool {
        self.bus.master && !self.muted
    }
}
