// SPDX-License-Identifier: GPL-2.0
//! What the data path keeps of each queue pair.

use std::collections::BTreeMap;

use crate::data::message::Message;
use crate::data::traffic::Traffic;

/// A queue pair's work: how far its queues have come, and what is outstanding.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Traffic of this queue pair since it was created.
    pub traffic: Traffic,
    pub send: Cursor,
    pub receive: Cursor,
    /// Work requests of the send queue that have not ended, in their order.
    pub messages: BTreeMap<u64, Message>,
}

impl Work {
    /// Back to the start of both queues, with nothing outstanding.
    pub fn restart(&mut self) {
        *self = Self {
            traffic: self.traffic,
            ..Self::default()
        };
    }
}

/// How far a queue has come, in descriptors; counters of 16 bits, as doorbells
/// write them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    produced: u16,
    consumed: u16,
}

impl Cursor {
    /// The doorbell says how many descriptors have been produced in all.
    /// Returns how many of them are new, and `None`, with no change, where they
    /// cannot all be in a ring of `entries`.
    pub fn produce(&mut self, value: u32, entries: u32) -> Option<u32> {
        let produced = value as u16;
        let new = produced.wrapping_sub(self.produced);
        let fits = u32::from(self.waiting()) + u32::from(new) <= entries;
        fits.then(|| {
            self.produced = produced;
            u32::from(new)
        })
    }

    /// Descriptors that the device has not taken.
    pub fn waiting(&self) -> u16 {
        self.produced.wrapping_sub(self.consumed)
    }

    /// Slot and phase bit of the descriptor `ahead` of the next one. The first
    /// lap's phase is 0.
    pub fn slot(&self, ahead: u16, entries: u32) -> (u32, u8) {
        let index = u32::from(self.consumed.wrapping_add(ahead));
        let entries = entries.max(1);
        (index % entries, ((index / entries) % 2) as u8)
    }

    pub fn consume(&mut self, count: u16) {
        self.consumed = self.consumed.wrapping_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_never_holds_more_than_its_ring() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.produce(4, 4), Some(4));
        assert_eq!(cursor.produce(5, 4), None);
        cursor.consume(2);
        assert_eq!(cursor.produce(5, 4), Some(1));
        assert_eq!(cursor.produce(4, 4), None);
        assert_eq!(cursor.waiting(), 3);
    }

    #[test]
    fn slots_and_phases_go_on_where_the_counters_wrap() {
        let mut cursor = Cursor::default();
        assert_eq!((cursor.slot(0, 4), cursor.slot(5, 4)), ((0, 0), (1, 1)));
        cursor.consume(u16::MAX);
        assert_eq!((cursor.slot(0, 4), cursor.slot(1, 4)), ((3, 1), (0, 0)));
        assert_eq!(cursor.slot(0, 32768), (32767, 1));
        assert_eq!(cursor.slot(1, 32768), (0, 0));
    }
}
