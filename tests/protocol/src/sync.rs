// SPDX-License-Identifier: GPL-2.0

//! The kernel's locks, on loom's.

pub mod atomic;
pub mod rcu;

use crate::machine;
use core::{ffi::CStr, pin::Pin};
use loom::sync;

/// A mutex. Like the kernel's it cannot be poisoned.
pub struct Mutex<T>(sync::Mutex<T>);

/// For a test of the order of steps all locks are alike.
pub struct SpinLock<T>(Mutex<T>);

/// What locks of one kind have in common.
pub struct LockClassKey;

impl<T> SpinLock<T> {
    pub fn new(value: T, _name: &'static CStr, _class: Pin<&'static LockClassKey>) -> Self {
        SpinLock(Mutex::new(value))
    }

    pub fn lock(&self) -> sync::MutexGuard<'_, T> {
        self.0.lock()
    }
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    pub fn lock(&self) -> sync::MutexGuard<'_, T> {
        machine::touch(self);
        machine::lock();
        self.0.lock().expect("a thread panicked")
    }
}

#[macro_export]
macro_rules! new_mutex {
    ($value:expr, $name:literal) => {
        $crate::sync::Mutex::new($value)
    };
}

#[macro_export]
macro_rules! static_lock_class {
    () => {
        core::pin::Pin::static_ref(&$crate::sync::LockClassKey)
    };
}
