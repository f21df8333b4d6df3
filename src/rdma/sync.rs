// SPDX-License-Identifier: GPL-2.0

//! Waiting with a bound: what the kernel crate's locks and completions lack.

use crate::bindings;
use kernel::{
    prelude::*,
    time::{
        msecs_to_jiffies,
        Msecs, //
    },
    types::Opaque, //
};

/// A counting semaphore.
#[pin_data]
pub struct Semaphore {
    #[pin]
    inner: Opaque<bindings::semaphore>,
}

// SAFETY: A `struct semaphore` is not tied to a thread.
unsafe impl Send for Semaphore {}
// SAFETY: All operations on a `struct semaphore` may be called concurrently.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// A semaphore that `count` holders can have at once.
    pub fn new(count: u16) -> impl PinInit<Self> {
        pin_init!(Self {
            inner <- Opaque::ffi_init(|slot: *mut bindings::semaphore| {
                // SAFETY: `slot` is valid for writes and pinned.
                unsafe { bindings::rdma_shim_sema_init(slot, count.into()) };
            }),
        })
    }

    /// Takes the semaphore; sleeps for it, up to a time, and no signal ends the sleep.
    ///
    /// Returns whether it was taken. Dropping the [`Held`] gives it back.
    pub fn down_timeout(&self, timeout_ms: Msecs) -> Option<Held<'_>> {
        let jiffies = msecs_to_jiffies(timeout_ms)
            .try_into()
            .unwrap_or(c_long::MAX);
        // SAFETY: The semaphore is initialised; callers of this function may sleep.
        if unsafe { bindings::down_timeout(self.inner.get(), jiffies) } != 0 {
            return None;
        }
        // Not before: dropping it gives a share back.
        Some(Held(self))
    }
}

/// One share of a [`Semaphore`], given back when dropped.
#[must_use = "the semaphore is given back at once when this is not kept"]
pub struct Held<'a>(&'a Semaphore);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: The semaphore is initialised, and this share of it was taken.
        unsafe { bindings::up(self.0.inner.get()) };
    }
}

/// Something that is waited for, up to a time.
#[pin_data]
pub struct Completion {
    #[pin]
    inner: Opaque<bindings::completion>,
}

// SAFETY: A `struct completion` is not tied to a thread.
unsafe impl Send for Completion {}
// SAFETY: All operations on a `struct completion` may be called concurrently.
unsafe impl Sync for Completion {}

impl Completion {
    /// A completion that has not happened.
    pub fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            inner <- Opaque::ffi_init(|slot: *mut bindings::completion| {
                // SAFETY: `slot` is valid for writes and pinned.
                unsafe { bindings::init_completion(slot) };
            }),
        })
    }

    /// Lets one waiter go on: one that waits, or the next one that would. Any context.
    pub fn complete(&self) {
        // SAFETY: The completion is initialised.
        unsafe { bindings::complete(self.inner.get()) };
    }

    /// Waits up to a time, and no signal ends the wait. Returns whether it completed.
    pub fn wait_timeout(&self, timeout_ms: Msecs) -> bool {
        // SAFETY: The completion is initialised; callers of this function may sleep.
        unsafe {
            bindings::wait_for_completion_timeout(self.inner.get(), msecs_to_jiffies(timeout_ms))
                != 0
        }
    }
}

/// Says whether the current task was told to die.
pub fn fatal_signal_pending() -> bool {
    // SAFETY: Looks at the current task only.
    unsafe { bindings::rdma_shim_fatal_signal_pending() }
}

#[kernel::macros::kunit_tests(rdma_sync)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_in_vain_leaves_the_semaphore_as_it_was() -> Result {
        let semaphore = KBox::pin_init(Semaphore::new(1), GFP_KERNEL)?;
        let held = semaphore.down_timeout(1);
        assert!(held.is_some());
        for _ in 0..3 {
            assert!(semaphore.down_timeout(1).is_none());
        }
        drop(held);
        let held = semaphore.down_timeout(1);
        assert!(held.is_some());
        assert!(semaphore.down_timeout(1).is_none());
        Ok(())
    }
}
