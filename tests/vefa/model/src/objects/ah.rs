// SPDX-License-Identifier: GPL-2.0
//! Address handles. Their numbers go round, so that a stale one is not
//! mistaken for a new one.

use std::collections::{BTreeMap, HashMap};

use super::numbers::next_free;
use crate::gid::Gid;

/// Not 0, which looks like "none handed out".
const FIRST: u32 = 1;
/// Not 0xffff, which stands for "unknown" in completions.
const LAST: u32 = 0xfffe;

/// A live address handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ah {
    pub pd: u16,
    pub gid: Gid,
}

/// All live address handles.
#[derive(Debug, Default)]
pub(crate) struct AddressHandles {
    live: BTreeMap<u16, Ah>,
    by_key: HashMap<(u16, Gid), u16>,
    last: u16,
}

impl AddressHandles {
    pub fn get(&self, number: u16) -> Option<Ah> {
        self.live.get(&number).copied()
    }

    /// The live AH for this key.
    pub fn find(&self, ah: Ah) -> Option<u16> {
        self.by_key.get(&(ah.pd, ah.gid)).copied()
    }

    /// A new AH; `None` at the limit, or where the key has one.
    pub fn create(&mut self, max: u32, ah: Ah) -> Option<u16> {
        if self.live.len() as u64 >= u64::from(max) || self.find(ah).is_some() {
            return None;
        }
        let number = next_free(FIRST..=LAST, u32::from(self.last), |number| {
            u16::try_from(number).is_ok_and(|number| !self.live.contains_key(&number))
        })?;
        let number = u16::try_from(number).ok()?;
        self.live.insert(number, ah);
        self.by_key.insert((ah.pd, ah.gid), number);
        self.last = number;
        Some(number)
    }

    pub fn destroy(&mut self, number: u16) {
        if let Some(ah) = self.live.remove(&number) {
            self.by_key.remove(&(ah.pd, ah.gid));
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u16, Ah)> + '_ {
        self.live.iter().map(|(number, ah)| (*number, *ah))
    }

    /// Destroys all; numbers go on where they were.
    pub fn clear(&mut self) {
        self.live.clear();
        self.by_key.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ah(pd: u16, n: u32) -> Ah {
        let mut gid = [0; 16];
        gid[12..].copy_from_slice(&n.to_be_bytes());
        Ah { pd, gid: Gid(gid) }
    }

    #[test]
    fn ah_numbers_go_round_without_ever_being_reserved_ones() {
        let mut ahs = AddressHandles::default();
        let kept = ahs.create(10, ah(0, u32::MAX)).unwrap();
        let mut last = 0;
        for n in 0..140_000 {
            let number = ahs.create(10, ah(0, n)).unwrap();
            assert!(number != 0 && number != 0xffff && number != kept);
            assert_ne!(number, last);
            ahs.destroy(number);
            last = number;
        }
        assert_eq!(ahs.iter().len(), 1);
    }

    #[test]
    fn a_key_has_one_ah() {
        let mut ahs = AddressHandles::default();
        assert!(ahs.create(10, ah(0, 1)).is_some());
        assert_eq!(ahs.create(10, ah(0, 1)), None);
        assert!(ahs.create(10, ah(1, 1)).is_some());
        assert_eq!(ahs.iter().len(), 2);
    }

    #[test]
    fn as_many_ahs_as_there_are_numbers_can_live() {
        let mut ahs = AddressHandles::default();
        for n in 0..0xfffe {
            assert!(ahs.create(u32::MAX, ah(0, n)).is_some());
        }
        assert_eq!(ahs.create(u32::MAX, ah(0, 0xfffe)), None);
    }
}
