// SPDX-License-Identifier: GPL-2.0
//! Queue pairs. Their numbers go round, since user space mistakes late
//! completions of a destroyed QP for those of a new one with its number.

use std::collections::{BTreeMap, HashSet};

use super::counter::Attachment;
use super::numbers::next_free;
use crate::data::work::Work;
use crate::names::{QpState, QpType};

/// Numbers 0 and 1 mean something else to InfiniBand software.
const NUMBERS: std::ops::RangeInclusive<u32> = 2..=0xffff;

/// Where a queue's completions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubCq {
    pub cq: u16,
    /// Index of the sub-CQ.
    pub sub: u16,
}

/// A send queue, in LLQ memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SendQueue {
    /// Offset of the ring in LLQ memory.
    pub offset: u64,
    /// Descriptors in the ring, a power of two.
    pub entries: u32,
    /// Whether descriptors have 128 bytes and not 64.
    pub wide: bool,
    /// Work requests that may be outstanding, as the driver asked.
    pub depth: u32,
}

impl SendQueue {
    /// Bytes of a descriptor.
    pub fn entry_size(&self) -> u32 {
        if self.wide {
            128
        } else {
            64
        }
    }
}

/// A receive queue, in host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceiveQueue {
    /// Bus address of the ring.
    pub base: u64,
    /// Descriptors of 16 bytes in the ring, a power of two.
    pub entries: u32,
    /// Work requests that may be outstanding, as the driver asked.
    pub depth: u32,
}

/// A live queue pair.
#[derive(Debug)]
pub(crate) struct Qp {
    pub number: u16,
    /// What admin commands name it by.
    pub handle: u32,
    pub pd: u16,
    pub uar: u16,
    pub kind: QpType,
    pub state: QpState,
    pub qkey: u32,
    pub sq_psn: u32,
    /// SRD: retries when the receiver has no buffer; 7 stands for no limit.
    pub rnr_retry: u8,
    /// Whether the driver wants to hear when the send queue is drained.
    pub notify_drained: bool,
    /// Service level.
    pub sl: u8,
    pub send: Option<SendQueue>,
    pub receive: Option<ReceiveQueue>,
    pub send_cq: SubCq,
    pub receive_cq: SubCq,
    /// Whether an incoming write with immediate takes no receive buffer.
    pub unsolicited_write_recv: bool,
    /// Whether the send queue uses 64-bit request ids.
    pub wide_req_id: bool,
    /// Event counters that count its events.
    pub counters: Vec<Attachment>,
    /// What the data path keeps of it.
    pub work: Work,
}

impl Qp {
    /// Whether the send queue was told to drain, and has not.
    pub fn is_draining(&self) -> bool {
        self.state == QpState::Sqd && !self.work.messages.is_empty()
    }
}

/// All live queue pairs, by number.
#[derive(Debug, Default)]
pub(crate) struct QueuePairs {
    live: BTreeMap<u16, Qp>,
    last: u16,
    created: u16,
}

impl QueuePairs {
    /// Number and handle for a new QP; `None` at the limit. The low bits of
    /// the number, as many as `max` needs, are no other live QP's.
    pub fn next(&mut self, max: u32) -> Option<(u16, u32)> {
        if self.live.len() as u64 >= u64::from(max) {
            return None;
        }
        let mask = max.checked_next_power_of_two().unwrap_or(0).wrapping_sub(1);
        let live = self.live.keys().map(|number| u32::from(*number) & mask);
        let taken: HashSet<_> = live.collect();
        let number = next_free(NUMBERS, u32::from(self.last), |number| {
            !taken.contains(&(number & mask))
        })?;
        let number = u16::try_from(number).ok()?;
        self.created = self.created.wrapping_add(1).max(1);
        Some((number, (u32::from(self.created) << 16) | u32::from(number)))
    }

    pub fn insert(&mut self, qp: Qp) {
        self.last = qp.number;
        self.live.insert(qp.number, qp);
    }

    /// Takes a QP out.
    pub fn remove(&mut self, number: u16) -> Option<Qp> {
        self.live.remove(&number)
    }

    pub fn get(&self, number: u16) -> Option<&Qp> {
        self.live.get(&number)
    }

    pub fn get_mut(&mut self, number: u16) -> Option<&mut Qp> {
        self.live.get_mut(&number)
    }

    /// The QP that admin commands name by `handle`.
    pub fn by_handle(&mut self, handle: u32) -> Option<&mut Qp> {
        let qp = self.live.get_mut(&(handle as u16))?;
        (qp.handle == handle).then_some(qp)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Qp> {
        self.live.values()
    }

    /// Destroys all; numbers go on where they were.
    pub fn clear(&mut self) {
        self.live.clear();
    }
}
