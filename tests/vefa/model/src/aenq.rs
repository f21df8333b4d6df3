// SPDX-License-Identifier: GPL-2.0
//! Asynchronous events: the queue, and the periodic keep-alive.

use std::time::Duration;

use vefa_spec::entries::{AenqCommonDesc, AenqEntry};

use crate::answers::Mask;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::AenqGroup;
use crate::ring::Ring;
use crate::rules::{Breach, Rule};
use crate::EfaModel;

/// The asynchronous event notification queue.
#[derive(Debug)]
pub(crate) struct Aenq {
    ring: Ring,
    vector: u16,
    /// What the driver has consumed; `None` until it first says so, which is
    /// what gives the entries to the device.
    consumed: Option<u32>,
    /// Bit n: group n is reported.
    pub enabled_groups: u32,
    next_keep_alive: Option<Duration>,
}

impl Aenq {
    pub fn new(ring: Ring, vector: u16) -> Self {
        Self {
            ring,
            vector,
            consumed: None,
            enabled_groups: 0,
            next_keep_alive: None,
        }
    }

    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    fn has_room(&self) -> bool {
        self.consumed.is_some_and(|consumed| {
            self.ring.index.wrapping_sub(consumed) < u32::from(self.ring.depth())
        })
    }
}

/// The bit of `group` in group masks.
pub(crate) fn group_bit(group: AenqGroup) -> u32 {
    1 << group.number()
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// The driver says how many events it has consumed in all.
    pub(crate) fn aenq_consumed(&mut self, value: u32) -> Result<(), Breach> {
        let Some(aenq) = &mut self.queues.aenq else {
            let text = "AENQ doorbell without an AENQ";
            return Err(Breach::new(Rule::DoorbellWithoutQueue, text));
        };
        let before = aenq.consumed.unwrap_or(0);
        let produced = aenq.ring.index;
        if value.wrapping_sub(before) > produced.wrapping_sub(before) {
            let text = format!(
                "AENQ doorbell {value}: {produced} events were written, {before} consumed before"
            );
            return Err(Breach::new(Rule::AenqConsumerAhead, text));
        }
        aenq.consumed = Some(value);
        Ok(())
    }

    /// Enables the groups of `mask`, which the caller has checked.
    pub(crate) fn enable_groups(&mut self, mask: u32) {
        let next = self.keep_alive_after(self.journal.now);
        if let Some(aenq) = &mut self.queues.aenq {
            aenq.enabled_groups = mask;
            let reports = mask & group_bit(AenqGroup::KeepAlive) != 0;
            aenq.next_keep_alive = reports.then_some(next);
        }
    }

    /// When the next keep-alive event is due.
    pub(crate) fn keep_alive_due(&self) -> Option<Duration> {
        self.queues.aenq.as_ref()?.next_keep_alive
    }

    /// Sends the keep-alive event if it is due.
    pub(crate) fn keep_alive(&mut self) {
        let now = self.journal.now;
        if self.keep_alive_due().is_none_or(|due| due > now) {
            return;
        }
        let next = self.keep_alive_after(now);
        if let Some(aenq) = &mut self.queues.aenq {
            aenq.next_keep_alive = Some(next);
        }
        if self.sends_keep_alive && !self.muted && self.event(AenqGroup::KeepAlive, 0).is_ok() {
            self.journal.counters.keep_alives += 1;
        }
    }

    /// Writes an event.
    ///
    /// # Errors
    /// Says why the driver does not get it.
    pub(crate) fn event(&mut self, group: AenqGroup, syndrome: u16) -> Result<(), String> {
        let Some(aenq) = &mut self.queues.aenq else {
            return Err("the driver has set up no AENQ".to_owned());
        };
        if aenq.enabled_groups & group_bit(group) == 0 {
            return Err(format!("the driver has not enabled {}", group.name()));
        }
        if !self.bus.master || !aenq.has_room() {
            self.journal.counters.aenq_dropped += 1;
            return Err("no room in the AENQ, or no bus mastering".to_owned());
        }
        let time_us = self.journal.time_us();
        let entry = AenqEntry {
            aenq_common_desc: AenqCommonDesc {
                group: group.number(),
                syndrome,
                flags: aenq.ring.phase(),
                timestamp_low: time_us as u32,
                timestamp_high: (time_us >> 32) as u32,
                ..AenqCommonDesc::default()
            },
            ..AenqEntry::default()
        };
        let (address, vector) = (aenq.ring.address(), aenq.vector);
        aenq.ring.advance();
        let mut entry = entry.encode();
        self.shape(&mut entry, &Mask::of_async_event());
        let width = self.config.dma_addr_width;
        if let Err(breach) = self.bus.write_entry(width, address, &entry) {
            let text = breach.text.clone();
            self.journal.breach(breach);
            return Err(text);
        }
        let name = group.name().to_owned();
        *self.journal.counters.aenq_events.entry(name).or_default() += 1;
        self.raise_management(vector);
        Ok(())
    }

    fn keep_alive_after(&self, now: Duration) -> Duration {
        now.saturating_add(Duration::from_millis(self.config.keep_alive_ms))
    }
}
