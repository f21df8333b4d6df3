// SPDX-License-Identifier: GPL-2.0

//! Rate-limited printing: at most ten lines in five seconds from one place, as the kernel's own
//! `*_ratelimited` functions have it.

use kernel::{
    sync::atomic::{
        ordering::Relaxed,
        Atomic, //
    },
    time::{
        ClockSource,
        Monotonic,
        NSEC_PER_SEC, //
    }, //
};

const INTERVAL_NS: i64 = 5 * NSEC_PER_SEC;
const BURST: i64 = 10;

/// The state of one place that prints.
///
/// Concurrent callers may let a few lines more through; the limit is a bound on the log, not a
/// count.
pub struct RateLimit {
    window_start_ns: Atomic<i64>,
    printed: Atomic<i64>,
}

impl RateLimit {
    /// A place that has not printed yet.
    #[expect(clippy::new_without_default, reason = "only statics hold it")]
    pub const fn new() -> Self {
        Self {
            window_start_ns: Atomic::new(i64::MIN),
            printed: Atomic::new(0),
        }
    }

    /// Says whether one more line may be printed now.
    #[cold]
    pub fn allow(&self) -> bool {
        self.allow_at(Monotonic::ktime_get())
    }

    fn allow_at(&self, now_ns: i64) -> bool {
        let start = self.window_start_ns.load(Relaxed);
        if start == i64::MIN || now_ns.wrapping_sub(start) >= INTERVAL_NS {
            self.window_start_ns.store(now_ns, Relaxed);
            self.printed.store(0, Relaxed);
        }
        self.printed.fetch_add(1, Relaxed) < BURST
    }
}

/// Runs a print statement unless this place printed too often lately.
///
/// # Examples
///
/// ```ignore
/// rdma::ratelimited!(dev_err!(dev, "completion for an unknown command\n"));
/// ```
#[macro_export]
macro_rules! ratelimited {
    ($print:expr) => {{
        static LIMIT: $crate::ratelimit::RateLimit = $crate::ratelimit::RateLimit::new();
        if LIMIT.allow() {
            $print;
        }
    }};
}

#[kernel::macros::kunit_tests(rdma_ratelimit)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_printed_then_silence_until_the_window_ends() {
        let limit = RateLimit::new();
        for _ in 0..BURST {
            assert!(limit.allow_at(1000));
        }
        assert!(!limit.allow_at(1000 + INTERVAL_NS - 1));
        assert!(limit.allow_at(1000 + INTERVAL_NS));
    }
}
