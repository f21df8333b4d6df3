// SPDX-License-Identifier: GPL-2.0
//! Memory regions: keys, permissions, and where their bytes are on the bus.

use std::collections::BTreeMap;

use super::numbers::next_free;

/// Descriptors have 24 bits for a local key.
const KEYS: std::ops::RangeInclusive<u32> = 1..=0xff_ffff;
/// Makes a remote key differ from the local one of the same region.
const REMOTE_KEY: u32 = 0xa500_0000;

/// What may be done with a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub local_write: bool,
    pub remote_write: bool,
    pub remote_read: bool,
}

/// A live memory region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mr {
    pub pd: u16,
    /// Its first address, as work requests name it.
    pub iova: u64,
    /// In bytes.
    pub len: u64,
    pub access: Access,
    /// Its pages have 2^n bytes.
    pub page_shift: u8,
    /// Bus addresses of its pages; the first holds `iova`.
    pub pages: Vec<u64>,
}

impl Mr {
    /// Where the `len` bytes at `address` are: bus addresses and lengths, in
    /// order, as few as can be; `None` where they are not all in the region.
    pub fn segments(&self, address: u64, len: u64) -> Option<Segments<'_>> {
        let start = address.checked_sub(self.iova)?;
        let end = start.checked_add(len)?;
        (end <= self.len).then(|| Segments {
            mr: self,
            // In pages: the region starts inside its first one.
            offset: start.wrapping_add(self.iova & self.page_mask()),
            left: len,
        })
    }

    /// The region's part of each of its pages: bus addresses and lengths.
    pub fn page_parts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut left = self.len;
        let mut in_page = self.iova & self.page_mask();
        self.pages.iter().map(move |page| {
            let len = left.min((self.page_mask() - in_page).saturating_add(1));
            let part = (page.wrapping_add(in_page), len);
            left -= len;
            in_page = 0;
            part
        })
    }

    fn page_mask(&self) -> u64 {
        (1_u64 << self.page_shift.min(63)) - 1
    }

    /// Bus address of the byte at `offset` of the pages, and how many follow
    /// it in its page.
    fn locate(&self, offset: u64) -> Option<(u64, u64)> {
        let index = usize::try_from(offset >> self.page_shift.min(63)).ok()?;
        let in_page = offset & self.page_mask();
        let page = self.pages.get(index)?;
        let len = (self.page_mask() - in_page).saturating_add(1);
        Some((page.wrapping_add(in_page), len))
    }
}

/// The pieces of a range of a region: see [`Mr::segments`].
#[derive(Debug, Clone)]
pub(crate) struct Segments<'a> {
    mr: &'a Mr,
    offset: u64,
    left: u64,
}

impl Iterator for Segments<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let (address, mut len) = self.mr.locate(self.offset)?;
        while len < self.left {
            match self.mr.locate(self.offset.wrapping_add(len)) {
                Some((next, more)) if next == address.wrapping_add(len) => len += more,
                _ => break,
            }
        }
        let len = len.min(self.left);
        self.offset = self.offset.wrapping_add(len);
        self.left -= len;
        Some((address, len))
    }
}

/// All live memory regions, by local key. Keys go round, so that a stale one
/// is not mistaken for a new one.
#[derive(Debug, Default)]
pub(crate) struct MemoryRegions {
    live: BTreeMap<u32, Mr>,
    last: u32,
}

impl MemoryRegions {
    /// A new region: its local key; `None` at the limit.
    pub fn create(&mut self, max: u32, mr: Mr) -> Option<u32> {
        if self.live.len() as u64 >= u64::from(max) {
            return None;
        }
        let lkey = next_free(KEYS, self.last, |key| !self.live.contains_key(&key))?;
        self.live.insert(lkey, mr);
        self.last = lkey;
        Some(lkey)
    }

    pub fn destroy(&mut self, lkey: u32) -> Option<Mr> {
        self.live.remove(&lkey)
    }

    pub fn by_lkey(&self, lkey: u32) -> Option<&Mr> {
        self.live.get(&lkey)
    }

    pub fn by_rkey(&self, rkey: u32) -> Option<&Mr> {
        self.live.get(&(rkey ^ REMOTE_KEY))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &Mr)> {
        self.live.iter().map(|(lkey, mr)| (*lkey, mr))
    }

    /// Destroys all; keys go on where they were.
    pub fn clear(&mut self) {
        self.live.clear();
    }
}

/// The remote key of the region with this local key.
pub(crate) fn remote_key(lkey: u32) -> u32 {
    lkey ^ REMOTE_KEY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mr(iova: u64, len: u64, pages: &[u64]) -> Mr {
        Mr {
            pd: 0,
            iova,
            len,
            access: Access::default(),
            page_shift: 12,
            pages: pages.to_vec(),
        }
    }

    fn pieces(mr: &Mr, address: u64, len: u64) -> Option<Vec<(u64, u64)>> {
        mr.segments(address, len).map(Iterator::collect)
    }

    #[test]
    fn ranges_are_cut_where_pages_do_not_follow_each_other() {
        let mr = mr(0x7000_0f00, 0x2200, &[0x3000, 0x9000, 0xa000]);
        assert_eq!(pieces(&mr, 0x7000_0f00, 0x80), Some(vec![(0x3f00, 0x80)]));
        let all = vec![(0x3f00, 0x100), (0x9000, 0x2000)];
        assert_eq!(pieces(&mr, 0x7000_0f00, 0x2100), Some(all));
        assert_eq!(pieces(&mr, 0x7000_2000, 8), Some(vec![(0xa000, 8)]));
    }

    #[test]
    fn ranges_that_are_not_all_inside_have_no_segments() {
        let mr = mr(0x1000, 0x800, &[0x5000]);
        assert_eq!(pieces(&mr, 0xfff, 2), None);
        assert_eq!(pieces(&mr, 0x1000, 0x801), None);
        assert_eq!(pieces(&mr, 0x1800, 1), None);
        assert_eq!(pieces(&mr, 0x1001, u64::MAX), None);
        assert_eq!(pieces(&mr, 0x1800, 0), Some(vec![]));
        assert_eq!(pieces(&mr, 0x1000, 0x800), Some(vec![(0x5000, 0x800)]));
    }

    #[test]
    fn a_remote_key_is_not_a_local_one_and_keys_are_not_reused_at_once() {
        let mut regions = MemoryRegions::default();
        let first = regions.create(9, mr(0, 1, &[0])).unwrap();
        assert_ne!(first, remote_key(first));
        assert!(regions.by_lkey(first).is_some());
        assert!(regions.by_lkey(remote_key(first)).is_none());
        assert!(regions.by_rkey(first).is_none());
        assert!(regions.by_rkey(remote_key(first)).is_some());
        regions.destroy(first);
        assert_ne!(regions.create(9, mr(0, 1, &[0])), Some(first));
    }
}
