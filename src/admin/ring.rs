// SPDX-License-Identifier: GPL-2.0

//! Positions in a ring of entries with a phase bit.
//!
//! The writer of an entry sets its phase bit to 1 in its first pass over the ring, to 0 in the
//! second, and so on; the reader knows new entries by it.

/// A producer's or consumer's position.
///
/// # Invariants
///
/// `mask` is a power of two less one.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    /// Entries passed so far; wraps around.
    count: u32,
    mask: u32,
}

impl Cursor {
    /// The first position in a ring of `depth` entries, rounded up to a power of two.
    pub(crate) const fn new(depth: u16) -> Self {
        // INVARIANT: At most 2^16, less one. CAST: `u16` to `u32` loses nothing.
        Self {
            count: 0,
            mask: (depth as u32).next_power_of_two() - 1,
        }
    }

    /// The index of the entry here.
    pub(crate) fn index(&self) -> usize {
        // CAST: At most 2^16.
        (self.count & self.mask) as usize
    }

    /// The phase bit of an entry here that is new.
    pub(crate) fn phase(&self) -> bool {
        self.count & self.mask.wrapping_add(1) == 0
    }

    /// How many entries were passed so far, modulo 2^32.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The position after this one.
    pub(crate) fn next(&self) -> Self {
        Self {
            count: self.count.wrapping_add(1),
            mask: self.mask,
        }
    }

    /// Goes to the next position.
    pub(crate) fn advance(&mut self) {
        *self = self.next();
    }
}

#[kernel::macros::kunit_tests(efa_admin_ring)]
mod tests {
    use super::*;

    #[test]
    fn index_wraps_and_phase_flips_at_each_pass() {
        let mut cursor = Cursor::new(4);
        for pass in 0..5 {
            for index in 0..4 {
                assert_eq!(cursor.index(), index);
                assert_eq!(cursor.phase(), pass % 2 == 0);
                cursor.advance();
            }
        }
        assert_eq!(cursor.count(), 20);
    }

    #[test]
    fn the_count_wraps_without_a_seam() {
        let mut cursor = Cursor {
            count: u32::MAX,
            ..Cursor::new(4)
        };
        assert_eq!(cursor.index(), 3);
        assert!(!cursor.phase());
        cursor.advance();
        assert_eq!(cursor.index(), 0);
        assert!(cursor.phase());
    }

    #[test]
    fn the_largest_depth_has_a_phase_too() {
        let mut cursor = Cursor::new(1 << 15);
        for _ in 0..1 << 15 {
            assert!(cursor.phase());
            cursor.advance();
        }
        assert!(!cursor.phase());
        assert_eq!(cursor.index(), 0);
    }
}
