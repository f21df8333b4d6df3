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
/// A count that ever reaches `i32::MAX` stays there: what it counts is then leaked,
/// never freed too early.
pub struct Count(Atomic<i32>);

/// The value that a count never leaves again.
const SATURATED: i32 = i32::MAX;

impl Count {
    /// A count of `holders`.
    pub fn new(holders: i32) -> Self {
        Count(Atomic::new(holders))
    }

    /// Adds a holder unless there is none; returns whether it did.
    ///
    /// What the thread that called [`Count::publish`] wrote before is visible after success.
    #[inline]
    pub fn inc_unless_zero(&self) -> bool {
        let mut n = self.0.load(Relaxed);
        loop {
            if n == 0 {
                return false;
            }
            match self.0.cmpxchg(n, n.saturating_add(1), Acquire) {
                Ok(_) => return true,
                Err(now) => n = now,
            }
        }
    }

    /// Makes a count of zero a count of one, for all to see.
    ///
    /// Only whoever has the exclusive right to revive the thing may call this, and only while
    /// the count is zero.
    #[inline]
    pub fn publish(&self) {
        self.0.store(1, Release);
    }

    /// Takes a holder away unless it is the last one; returns whether it did.
    #[inline]
    pub fn dec_unless_one(&self) -> bool {
        let mut n = self.0.load(Relaxed);
        loop {
            match n {
                SATURATED => return true,
                n if n <= 1 => return false,
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
        let mut n = self.0.load(Relaxed);
        loop {
            if n == SATURATED || kernel::warn_on!(n <= 0) {
                return false;
            }
            match self.0.cmpxchg(n, n.wrapping_sub(1), Full) {
                Ok(_) => return n == 1,
                Err(now) => n = now,
            }
        }
    }

    /// The number of holders, which may have changed by the time it is looked at.
    #[inline]
    pub fn read(&self) -> i32 {
        self.0.load(Relaxed)
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
