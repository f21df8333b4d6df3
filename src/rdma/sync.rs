// SPDX-License-Identifier: GPL-2.0

//! Waiting in order, and with a bound: what the kernel crate's locks and completions lack.

use crate::bindings;
use kernel::{
    error::to_result,
    prelude::*,
    time::{
        msecs_to_jiffies,
        Msecs, //
    },
    types::Opaque, //
};

/// How long a task sleeps at most before it shows that it is not hung, where no signal can end its
/// sleep, in milliseconds. The kernel warns of one that slept for two minutes.
const UNKILLABLE_SLEEP_MS: Msecs = 60_000;

/// A counting semaphore. Who waits for it is in a line: a share that is given back goes to the first,
/// and nobody who comes later can take it before.
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

    /// Takes the semaphore; waits in line for it.
    ///
    /// Dropping the [`Held`] gives it back.
    ///
    /// # Errors
    ///
    /// `EINTR`: the task was told to die before its turn came.
    pub fn down_killable(&self) -> Result<Held<'_>> {
        // SAFETY: The semaphore is initialised; callers of this function may sleep.
        to_result(unsafe { bindings::down_killable(self.inner.get()) })?;
        // Not before: dropping it gives a share back.
        Ok(Held(self))
    }

    /// Takes the semaphore; waits in line for it, and no signal ends the wait.
    ///
    /// A task that is told to die meanwhile goes to the end of the line, and again every minute: only
    /// a sleep that a signal can end may take as long as it likes. So it waits in vain where others
    /// keep the line longer than a minute all the time.
    pub fn down(&self) -> Held<'_> {
        if let Ok(held) = self.down_killable() {
            return held;
        }
        loop {
            if let Some(held) = self.down_timeout(UNKILLABLE_SLEEP_MS) {
                return held;
            }
        }
    }

    /// Takes the semaphore; waits in line for it, up to a time, and no signal ends the wait.
    fn down_timeout(&self, timeout_ms: Msecs) -> Option<Held<'_>> {
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

#[kernel::macros::kunit_tests(rdma_sync)]
mod tests {
    use super::*;
    use kernel::{
        new_mutex,
        sync::{
            atomic::{
                ordering::{
                    Acquire,
                    Release, //
                },
                Atomic, //
            },
            Arc,
            Mutex, //
        },
        time::{
            delay::fsleep,
            Delta, //
        }, //
    };

    /// Tasks that wait in line.
    const WAITERS: usize = 8;

    #[pin_data]
    struct Line {
        #[pin]
        semaphore: Semaphore,
        /// The numbers of those who had it, in that order.
        #[pin]
        served: Mutex<KVec<usize>>,
        /// How many came.
        came: Atomic<usize>,
    }

    impl Line {
        /// A semaphore with one share.
        fn new() -> Result<Arc<Self>> {
            let served = KVec::with_capacity(WAITERS, GFP_KERNEL)?;
            Arc::pin_init(
                pin_init!(Self {
                    semaphore <- Semaphore::new(1),
                    served <- new_mutex!(served, "rdma_sync_served"),
                    came: Atomic::new(0),
                }),
                GFP_KERNEL,
            )
        }

        /// Whether nobody waits any more: each was served.
        fn is_empty(&self) -> bool {
            self.served.lock().len() == WAITERS
        }
    }

    fn wait_until(done: impl Fn() -> bool) {
        while !done() {
            fsleep(Delta::from_millis(1));
        }
    }

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

    #[test]
    fn shares_go_to_those_who_wait_in_the_order_in_which_they_came() -> Result {
        let line = Line::new()?;
        let held = line.semaphore.down();
        for number in 0..WAITERS {
            let other = line.clone();
            kernel::workqueue::system_unbound().try_spawn(GFP_KERNEL, move || {
                other.came.store(number + 1, Release);
                let held = if number % 2 == 0 {
                    Ok(other.semaphore.down())
                } else {
                    other.semaphore.down_killable()
                };
                // There is room for each.
                let _ = other.served.lock().push(number, GFP_KERNEL);
                drop(held);
            })?;
            wait_until(|| line.came.load(Acquire) == number + 1);
            // It still has to join the line.
            fsleep(Delta::from_millis(100));
        }
        drop(held);
        // It joins the line at its end, also when a share was given back just before.
        let last = line.semaphore.down();
        assert!(line.is_empty());
        assert!(line.served.lock().iter().copied().eq(0..WAITERS));
        drop(last);
        Ok(())
    }
}
