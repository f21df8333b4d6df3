// SPDX-License-Identifier: GPL-2.0

//! Whether the interrupt of a completion is late or lost.
//!
//! A waiter that finds a completion before its interrupt gives that some time to come after all: on
//! a busy host it is late, and only one that is lost says something of the device or the machine.
//! Where the last one was lost, too, and none has come since, it is not waited for.

use kernel::{
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    }, //
};

/// How long an interrupt is waited for whose completion is there.
const GRACE: Delta = Delta::from_millis(900);

/// The pause between two looks whether it came.
const GRACE_STEP: Delta = Delta::from_millis(10);

/// The interrupts for completions.
pub(crate) struct Interrupts {
    /// How many there were so far.
    count: Atomic<u64>,
    /// How many of them there had been when one was lost.
    lost_after: Atomic<u64>,
}

impl Interrupts {
    /// There was none so far.
    pub(crate) const fn new() -> Self {
        Self {
            count: Atomic::new(0),
            lost_after: Atomic::new(u64::MAX),
        }
    }

    /// How many there were so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// One came.
    pub(crate) fn came(&self) {
        self.count.fetch_add(1, Relaxed);
    }

    /// Waits for an interrupt after the first `before`. Says whether it came.
    pub(crate) fn wait_after(&self, before: u64) -> bool {
        let start = Instant::<Monotonic>::now();
        if self.lost_after.load(Relaxed) != before {
            while self.count() == before && start.elapsed() < GRACE {
                fsleep(GRACE_STEP);
            }
        }
        self.count() != before
    }

    /// The one after the first `before` is lost.
    pub(crate) fn lost_after(&self, before: u64) {
        self.lost_after.store(before, Relaxed);
    }
}

#[kernel::macros::kunit_tests(efa_admin_interrupts)]
mod tests {
    use super::*;

    #[test]
    fn one_that_came_is_not_waited_for() {
        let interrupts = Interrupts::new();
        interrupts.came();
        let start = Instant::<Monotonic>::now();
        assert!(interrupts.wait_after(0));
        assert!(start.elapsed() < GRACE);
    }

    #[test]
    fn none_is_waited_for_after_one_that_is_lost() {
        let interrupts = Interrupts::new();
        let start = Instant::<Monotonic>::now();
        assert!(!interrupts.wait_after(0));
        assert!(start.elapsed() >= GRACE);
        interrupts.lost_after(0);
        let start = Instant::<Monotonic>::now();
        assert!(!interrupts.wait_after(0));
        assert!(start.elapsed() < GRACE);
    }

    #[test]
    fn the_next_one_is_waited_for_again_once_one_came() {
        let interrupts = Interrupts::new();
        interrupts.lost_after(0);
        interrupts.came();
        let start = Instant::<Monotonic>::now();
        assert!(!interrupts.wait_after(1));
        assert!(start.elapsed() >= GRACE);
    }
}
