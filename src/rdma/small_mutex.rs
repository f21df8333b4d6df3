// SPDX-License-Identifier: GPL-2.0

//! A mutex for what there is much of, and what is hardly ever locked.
//!
//! Most of the kernel's mutex is for those who wait. This one is a byte beside what it guards: who has to
//! wait does so at a place that many of them share.

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{Deref, DerefMut}, //
};
use kernel::{
    new_condvar, new_mutex,
    prelude::*,
    sync::{
        atomic::{
            ordering::{Acquire, Release},
            Atomic, //
        },
        CondVar,
        Mutex, //
    },
};

/// Where threads wait for small mutexes. Whenever one is unlocked, all of them look again.
#[pin_data]
pub struct WaitPlace {
    /// Held while one is unlocked, and while it is found out whether one has to wait.
    #[pin]
    look: Mutex<()>,
    #[pin]
    unlocked: CondVar,
}

impl WaitPlace {
    /// A place where nobody waits.
    pub fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            look <- new_mutex!((), "rdma_wait_place_look"),
            unlocked <- new_condvar!("rdma_wait_place_unlocked"),
        })
    }
}

/// A mutex, with what it guards. Who has waited longest is not always the next.
///
/// # Invariants
///
/// While `locked` is true there is one [`SmallGuard`] of the mutex, or `lock` is about to return it;
/// else there is none.
pub struct SmallMutex<T> {
    locked: Atomic<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: The value is reached through a guard only, and there is one at a time: whoever gets one got
// the value from the thread that had the last one.
unsafe impl<T: Send> Sync for SmallMutex<T> {}

impl<T> SmallMutex<T> {
    /// A mutex that nobody has locked.
    pub fn new(value: T) -> Self {
        // INVARIANT: It is not locked, and there is no guard.
        SmallMutex {
            locked: Atomic::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Locks it, and sleeps until it can.
    ///
    /// All who lock one mutex wait at the same place: who waits elsewhere is not told that it was
    /// unlocked.
    pub fn lock<'a>(&'a self, place: &'a WaitPlace) -> SmallGuard<'a, T> {
        let mut look = place.look.lock();
        while self.locked.xchg(true, Acquire) {
            place.unlocked.wait(&mut look);
        }
        // INVARIANT: It was not locked, so there was no guard; now it is.
        SmallGuard {
            mutex: self,
            place,
            _one_thread: PhantomData,
        }
    }
}

/// A small mutex that is locked; it is unlocked when this is dropped.
///
/// # Invariants
///
/// It is the one guard of `mutex`, which is locked.
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct SmallGuard<'a, T> {
    mutex: &'a SmallMutex<T>,
    place: &'a WaitPlace,
    _one_thread: PhantomData<*mut T>,
}

impl<T> Deref for SmallGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariant no other guard reaches the value, and `self` is borrowed shared.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for SmallGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the type invariant no other guard reaches the value, and `self` is borrowed
        // exclusively.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for SmallGuard<'_, T> {
    fn drop(&mut self) {
        let look = self.place.look.lock();
        // INVARIANT: There is no guard from here on: `self` is not used any more. What was done with the
        // value is visible to the next one, wherever that looks.
        self.mutex.locked.store(false, Release);
        drop(look);
        self.place.unlocked.notify_all();
    }
}
