// SPDX-License-Identifier: GPL-2.0
//! Doorbells: one word each, on the page of the UAR that owns them.

use std::collections::BTreeMap;

use crate::config::DOORBELL_PAGE_SIZE;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::rules::{Breach, Rule};
use crate::EfaModel;

/// Bytes of a doorbell.
const SIZE: u64 = 4;

/// What a doorbell starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doorbell {
    /// New work requests in the send queue of this queue pair.
    Send(u16),
    /// New buffers in the receive queue of this queue pair.
    Receive(u16),
    /// The consumer of this completion queue went on, or arms it.
    Completion(u16),
}

/// The doorbells of one UAR.
#[derive(Debug, Default)]
pub(crate) struct Page(BTreeMap<u64, Doorbell>);

impl Page {
    /// Puts `doorbell` on the page and returns its offset there; `None` where
    /// the page is full.
    pub fn add(&mut self, doorbell: Doorbell) -> Option<u64> {
        let offsets = (0..DOORBELL_PAGE_SIZE).step_by(SIZE as usize);
        let offset = offsets
            .into_iter()
            .find(|offset| !self.0.contains_key(offset))?;
        self.0.insert(offset, doorbell);
        Some(offset)
    }

    /// Takes `doorbell` off the page.
    pub fn remove(&mut self, doorbell: Doorbell) {
        self.0.retain(|_, live| *live != doorbell);
    }

    /// The doorbell at `offset`.
    pub fn at(&self, offset: u64) -> Option<Doorbell> {
        self.0.get(&offset).copied()
    }
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// A write of `data` at `offset` of the doorbell BAR.
    ///
    /// # Errors
    /// A breach where there is no doorbell.
    pub(crate) fn ring_doorbell(&mut self, offset: u64, data: &[u8]) -> Result<(), Breach> {
        let place = offset.checked_sub(self.config.doorbell_base());
        let doorbell = place.and_then(|place| {
            let uar = u16::try_from(place / DOORBELL_PAGE_SIZE).ok()?;
            let page = &self.objects.uars.get(&uar)?.page;
            page.at(place % DOORBELL_PAGE_SIZE)
        });
        let (Some(doorbell), Ok(value)) = (doorbell, <[u8; SIZE as usize]>::try_from(data)) else {
            let text = format!("write of {} bytes to doorbells at {offset:#x}", data.len());
            return Err(Breach::new(Rule::DoorbellUnowned, text));
        };
        let value = u32::from_le_bytes(value);
        self.journal.counters.doorbells += 1;
        // Without bus mastering it is the next one that counts.
        if self.works() {
            match doorbell {
                Doorbell::Send(qp) => self.send_doorbell(qp, value),
                Doorbell::Receive(qp) => self.receive_doorbell(qp, value),
                Doorbell::Completion(cq) => self.completion_doorbell(cq, value),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_a_doorbell_for_each_word() {
        let mut page = Page::default();
        for n in 0..1024 {
            assert_eq!(page.add(Doorbell::Send(n)), Some(u64::from(n) * 4));
        }
        assert_eq!(page.add(Doorbell::Send(1024)), None);
        page.remove(Doorbell::Send(7));
        assert_eq!(page.at(28), None);
        assert_eq!(page.add(Doorbell::Completion(1)), Some(28));
        assert_eq!(page.at(28), Some(Doorbell::Completion(1)));
        assert_eq!(page.at(30), None);
    }
}
