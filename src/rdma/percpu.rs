// SPDX-License-Identifier: GPL-2.0

//! Counters that cost the counting thread one instruction: each CPU has its own.
//!
//! C header: `include/linux/percpu.h`

use crate::bindings;
use core::ptr::NonNull;
use kernel::prelude::*;

/// `N` counters, named by their index.
///
/// # Invariants
///
/// Points to `N` numbers for each CPU, which `rdma_shim_percpu_alloc()` allocated.
pub struct Counters<const N: usize>(NonNull<u64>);

// SAFETY: The memory is not tied to a thread.
unsafe impl<const N: usize> Send for Counters<N> {}
// SAFETY: Any thread may count at any time: each CPU writes its own numbers, in one step.
unsafe impl<const N: usize> Sync for Counters<N> {}

impl<const N: usize> Counters<N> {
    /// All at zero.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub fn new() -> Result<Self> {
        // SAFETY: The caller may sleep, as for any allocation of the kind.
        let counters = unsafe { bindings::rdma_shim_percpu_alloc(N) };
        // INVARIANT: Allocated just now.
        Ok(Self(NonNull::new(counters).ok_or(ENOMEM)?))
    }

    /// Counts one more. Any context; nothing happens for an index that is too large.
    #[inline]
    pub fn inc(&self, index: usize) {
        if index < N {
            // SAFETY: By the type invariants there is a number of that index for each CPU.
            unsafe { bindings::rdma_shim_percpu_inc(self.0.as_ptr(), index) };
        }
    }

    /// The sum over all CPUs; 0 for an index that is too large. What is counted meanwhile may be
    /// missing.
    pub fn sum(&self, index: usize) -> u64 {
        if index >= N {
            return 0;
        }
        // SAFETY: By the type invariants there is a number of that index for each CPU.
        unsafe { bindings::rdma_shim_percpu_sum(self.0.as_ptr(), index) }
    }
}

impl<const N: usize> Drop for Counters<N> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants it was allocated there, and nobody counts any more.
        unsafe { bindings::rdma_shim_percpu_free(self.0.as_ptr()) };
    }
}

#[kernel::macros::kunit_tests(rdma_percpu)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_counts_for_itself() -> Result {
        let counters = Counters::<3>::new()?;
        counters.inc(0);
        counters.inc(2);
        counters.inc(2);
        counters.inc(3);
        assert_eq!((counters.sum(0), counters.sum(1)), (1, 0));
        assert_eq!((counters.sum(2), counters.sum(3)), (2, 0));
        Ok(())
    }
}
