// SPDX-License-Identifier: GPL-2.0
//! The device's live resources, and who owns them.

mod ah;
mod counter;
mod cq;
mod detail;
mod eq;
mod llq;
mod mr;
mod numbers;
mod qp;
mod uar;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use ah::{AddressHandles, Ah};
pub(crate) use counter::{Attachment, EventCounter, EventCounters};
pub(crate) use cq::Cq;
pub use detail::ObjectDetail;
pub(crate) use eq::EventQueue;
pub(crate) use llq::LlqSpace;
pub(crate) use mr::{remote_key, Access, MemoryRegions, Mr};
use numbers::lowest_free;
pub(crate) use qp::{Qp, QueuePairs, ReceiveQueue, SendQueue, SubCq};
pub(crate) use uar::Uar;

/// All live objects.
///
/// PD, UAR, EQ and CQ numbers are reused at once, lowest first, so that a
/// driver that forgets too late is found. The others go round: work requests
/// and completions of their own name them.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub pds: BTreeSet<u16>,
    pub uars: BTreeMap<u16, Uar>,
    pub eqs: BTreeMap<u16, EventQueue>,
    pub cqs: BTreeMap<u16, Cq>,
    pub ahs: AddressHandles,
    pub mrs: MemoryRegions,
    pub qps: QueuePairs,
    pub counters: EventCounters,
    pub llq: LlqSpace,
}

impl Objects {
    /// A new PD; `None` at the limit.
    pub fn alloc_pd(&mut self, max: u32) -> Option<u16> {
        let pd = lowest_free(self.pds.iter(), max)?;
        self.pds.insert(pd);
        Some(pd)
    }

    /// A new UAR; `None` at the limit.
    pub fn alloc_uar(&mut self, max: u32) -> Option<u16> {
        let uar = lowest_free(self.uars.keys(), max)?;
        self.uars.insert(uar, Uar::default());
        Some(uar)
    }

    /// A new event queue; `None` at the limit.
    pub fn create_eq(&mut self, max: u32, eq: EventQueue) -> Option<u16> {
        let eqn = lowest_free(self.eqs.keys(), max)?;
        self.eqs.insert(eqn, eq);
        Some(eqn)
    }

    /// The number that a new CQ gets; `None` at the limit.
    pub fn next_cq(&self, max: u32) -> Option<u16> {
        lowest_free(self.cqs.keys(), max)
    }

    /// Live counts by kind.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("pd", self.pds.len() as u64),
            ("ah", self.ahs.iter().len() as u64),
            ("uar", self.uars.len() as u64),
            ("eq", self.eqs.len() as u64),
            ("cq", self.cqs.len() as u64),
            ("qp", self.qps.iter().len() as u64),
            ("mr", self.mrs.iter().len() as u64),
            ("event_counter", self.counters.iter().len() as u64),
        ])
    }

    /// Live counts without the kinds that have none.
    pub fn live(&self) -> BTreeMap<String, u64> {
        self.counts()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect()
    }

    /// Destroys everything; numbers that go round go on where they were.
    pub fn clear(&mut self) {
        self.pds.clear();
        self.uars.clear();
        self.eqs.clear();
        self.cqs.clear();
        self.ahs.clear();
        self.mrs.clear();
        self.qps.clear();
        self.counters.clear();
        self.llq = LlqSpace::default();
    }
}
