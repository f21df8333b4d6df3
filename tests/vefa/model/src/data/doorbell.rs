// SPDX-License-Identifier: GPL-2.0
//! Doorbells: one word each, on the page of the UAR that owns them.

use std::collections::BTreeMap;

use crate::config::DOORBELL_PAGE_SIZE;

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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
