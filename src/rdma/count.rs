// SPDX-License-Identifier: GPL-2.0

//! A count of holders that cannot come back from zero by accident.
//!
//! The kernel crate's `Refcount` has no increment-unless-zero, which is what makes
//! lookups without a lock sound: zero means that somebody is already taking the
//! thing down.

use kernel::sync::atomic::{
    ordering::{Acquire, Full, Relaxed, Release},
    Atomic, //
};

/// A saturating count of holders.
///
/// A count that has exceeded `i32::MAX` stays below zero, where it means that there are holders for
/// good: what it counts is then leaked, never freed too early.
pub struct Count(Atomic<i32>);

/// As far from zero as from where a count saturates, so that it stays saturated when many threads
/// change it at once, which each set it back here.
const SATURATED: i32 = i32::MIN / 2;

impl Count {
    /// A count of `holders`.
    pub fn new(holders: i32) -> Self {
        Count(Atomic::new(holders))
    }

    /// Adds a holder unless there is none; returns whether it did.
    ///
    /// What the first holder's thread wrote before it became one is visible after success.
    #[inline]
    pub fn inc_unless_zero(&self) -> bool {
        let mut n = self.0.load(Relaxed);
        loop {
            if n == 0 {
                return false;
            }
            let more = n.checked_add(1).unwrap_or(SATURATED);
            match self.0.cmpxchg(n, more, Acquire) {
                Ok(_) => return true,
                Err(now) => n = now,
            }
        }
    }

    /// Adds a holder; returns whether it is the first one.
    ///
    /// What the first holder's thread wrote before is visible to those who come after it.
    pub fn inc(&self) -> bool {
        let before = self.0.fetch_add(1, Full);
        if before < 0 || before == i32::MAX {
            self.0.store(SATURATED, Relaxed);
        }
        before == 0
    }

    /// Takes a holder away unless it is the last one; returns whether it did.
    #[inline]
    pub fn dec_unless_one(&self) -> bool {
        let mut n = self.0.load(Relaxed);
        loop {
            match n {
                ..0 => return true,
                0 | 1 => return false,
                _ => {}
            }
            match self.0.cmpxchg(n, n.wrapping_sub(1), Release) {
                Ok(_) => return true,
                Err(now) => n = now,
            }
        }
    }

    /// Takes a holder away; returns whether it was the last one.
    ///
    /// What other holders did before they left is visible to the last one.
    #[inline]
    pub fn dec_and_test(&self) -> bool {
        let before = self.0.fetch_sub(1, Full);
        if before < 1 {
            kernel::warn_on!(before == 0);
            self.0.store(SATURATED, Relaxed);
        }
        before == 1
    }

    /// The number of holders, which may have changed by the time it is looked at: `i32::MAX` where
    /// it has exceeded that.
    #[inline]
    pub fn read(&self) -> i32 {
        match self.0.load(Relaxed) {
            ..0 => i32::MAX,
            n => n,
        }
    }
}

#[cfg(CONFIG_KUNIT = "y")]
#[kernel::macros::kunit_tests(rdma_count)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_never_left_by_increment() {
        let count = Count::new(0);
        assert!(!count.inc_unless_zero());
        assert_eq!(count.read(), 0);
    }

    #[test]
    fn the_first_holder_is_told() {
        let count = Count::new(0);
        assert!(count.inc());
        assert!(!count.inc());
        assert_eq!(count.read(), 2);
    }

    #[test]
    fn the_last_holder_is_told() {
        let count = Count::new(1);
        assert!(count.inc_unless_zero());
        assert!(count.dec_unless_one());
        assert!(!count.dec_unless_one());
        assert!(count.dec_and_test());
        assert_eq!(count.read(), 0);
    }

    #[test]
    fn a_saturated_count_stays() {
        let count = Count::new(i32::MAX - 1);
        assert!(count.inc_unless_zero());
        assert!(count.inc_unless_zero());
        assert!(count.dec_unless_one());
        assert!(!count.dec_and_test());
        assert_eq!(count.read(), i32::MAX);
    }
}
