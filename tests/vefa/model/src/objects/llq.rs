// SPDX-License-Identifier: GPL-2.0
//! LLQ memory: who has which part of BAR 2.

use std::collections::BTreeMap;

/// What a driver maps at once; two QPs never share one.
const PAGE_SIZE: u64 = 4096;

/// The parts of LLQ memory that are in use.
#[derive(Debug, Default)]
pub(crate) struct LlqSpace {
    /// Lengths in whole pages, by offset.
    used: BTreeMap<u64, u64>,
}

impl LlqSpace {
    /// `len` bytes, `offset` bytes into a page of their own, of memory that
    /// has `total` bytes: where they start; `None` where they do not fit.
    pub fn alloc(&mut self, total: u64, offset: u64, len: u64) -> Option<u64> {
        let span = len
            .checked_add(offset)?
            .checked_next_multiple_of(PAGE_SIZE)?;
        let mut start = 0;
        for (taken, taken_len) in &self.used {
            if taken.saturating_sub(start) >= span {
                break;
            }
            start = taken.saturating_add(*taken_len);
        }
        if start.checked_add(span)? > total {
            return None;
        }
        self.used.insert(start, span);
        start.checked_add(offset)
    }

    /// Gives back what starts at `start`.
    pub fn free(&mut self, start: u64) {
        self.used.remove(&(start - start % PAGE_SIZE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_never_share_a_page_and_gaps_are_filled() {
        let mut llq = LlqSpace::default();
        assert_eq!(llq.alloc(0x4000, 0x40, 0x1000), Some(0x40));
        assert_eq!(llq.alloc(0x4000, 0, 0x800), Some(0x2000));
        assert_eq!(llq.alloc(0x4000, 0, 0x1001), None);
        assert_eq!(llq.alloc(0x4000, 0x40, 0x800), Some(0x3040));
        assert_eq!(llq.alloc(0x4000, 0, 1), None);
        llq.free(0x40);
        assert_eq!(llq.alloc(0x4000, 0, 0x2000), Some(0));
        llq.free(0x3040);
        assert_eq!(llq.alloc(0x4000, 0, u64::MAX), None);
        assert_eq!(llq.alloc(0x4000, 0, 1), Some(0x3000));
    }
}
