// SPDX-License-Identifier: GPL-2.0

//! When the device is asked again for what it refused to take back.
//!
//! No call waits for that: a thread of the kernel asks, a bounded number of times at once, and less
//! often the longer the device refuses.

use kernel::{
    prelude::*,
    sync::atomic::{
        ordering::Relaxed,
        Atomic, //
    },
    time::Msecs, //
};
use rdma::deferred::Work;

/// How long after a refusal the device is asked again, in milliseconds.
const FIRST_DELAY_MS: Msecs = 100;

/// How long after a refusal it is asked again at the latest.
const LAST_DELAY_MS: Msecs = 10_000;

/// What asking again came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing waits any more.
    AllGone,
    /// The device let go of something, and of all that it was asked for. There is more.
    GoesOn,
    /// The device let go of something, then it refused.
    Slowed,
    /// The device let go of nothing.
    Stuck,
}

/// The retries of one device.
pub(crate) struct Retries {
    work: Work,
    /// How long to wait after the next refusal.
    delay_ms: Atomic<Msecs>,
}

impl Retries {
    /// Nothing is to be tried.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            work: Work::new()?,
            delay_ms: Atomic::new(FIRST_DELAY_MS),
        })
    }

    /// The work of asking again.
    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    /// Has the device asked again soon, since something new waits, or can go now.
    pub(crate) fn begin(&self) {
        self.delay_ms.store(FIRST_DELAY_MS, Relaxed);
        self.work.kick_within(self.next_delay_ms());
    }

    /// After asking came to `outcome`: in how many milliseconds to ask again, if at all.
    pub(crate) fn after(&self, outcome: Outcome) -> Option<Msecs> {
        if outcome != Outcome::Stuck {
            self.delay_ms.store(FIRST_DELAY_MS, Relaxed);
        }
        match outcome {
            Outcome::AllGone => None,
            Outcome::GoesOn => Some(0),
            Outcome::Slowed | Outcome::Stuck => Some(self.next_delay_ms()),
        }
    }

    /// How long to wait now. The time after that is longer.
    fn next_delay_ms(&self) -> Msecs {
        let delay = self.delay_ms.load(Relaxed);
        let next = delay.saturating_mul(2).min(LAST_DELAY_MS);
        self.delay_ms.store(next, Relaxed);
        delay
    }
}

#[kernel::macros::kunit_tests(efa_retries)]
mod tests {
    use super::*;

    fn delays(retries: &Retries, outcomes: &[Outcome]) -> Result<KVec<Option<Msecs>>> {
        let mut delays = KVec::new();
        for &outcome in outcomes {
            delays.push(retries.after(outcome), GFP_KERNEL)?;
        }
        Ok(delays)
    }

    #[test]
    fn a_device_that_refuses_is_asked_less_and_less_often() -> Result {
        let delays = delays(&Retries::new()?, &[Outcome::Stuck; 10])?;
        let expected = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000];
        assert!(delays.iter().eq(expected.map(Some).iter()));
        Ok(())
    }

    #[test]
    fn a_success_and_a_new_refusal_start_anew() -> Result {
        for outcome in [Outcome::AllGone, Outcome::GoesOn, Outcome::Slowed] {
            let retries = Retries::new()?;
            delays(&retries, &[Outcome::Stuck, Outcome::Stuck, outcome])?;
            let slowed = outcome == Outcome::Slowed;
            let expected = if slowed { 200 } else { 100 };
            assert_eq!(retries.after(Outcome::Stuck), Some(expected));
            // The first delay is that to the try which it asks for.
            retries.begin();
            assert_eq!(retries.after(Outcome::Stuck), Some(200));
        }
        Ok(())
    }

    #[test]
    fn it_goes_on_at_once_where_the_device_lets_go_and_ends_where_nothing_is_left() -> Result {
        let retries = Retries::new()?;
        assert_eq!(retries.after(Outcome::GoesOn), Some(0));
        assert_eq!(retries.after(Outcome::AllGone), None);
        assert_eq!(retries.after(Outcome::Slowed), Some(100));
        Ok(())
    }
}
