// SPDX-License-Identifier: GPL-2.0

//! The kernel's locks, on loom's.

pub mod atomic;
pub mod rcu;

use crate::machine;
use loom::sync;

/// A mutex. Like the kernel's it cannot be poisoned.
pub struct Mutex<T>(sync::Mutex<T>);

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
