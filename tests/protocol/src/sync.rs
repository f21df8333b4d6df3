// SPDX-License-Identifier: GPL-2.0

//! The kernel's locks, on loom's.

pub mod atomic;
pub mod rcu;

use crate::machine;
use core::ops::{Deref, DerefMut};
use loom::sync;

/// A mutex. Like the kernel's it cannot be poisoned.
pub struct Mutex<T>(sync::Mutex<T>);

/// What is locked; empty only while a [`CondVar`] has it.
pub struct Guard<'a, T>(Option<sync::MutexGuard<'a, T>>);

/// What threads wait for that have a mutex locked.
pub struct CondVar(sync::Condvar);

impl CondVar {
    pub fn new(_name: &str) -> Self {
        CondVar(sync::Condvar::new())
    }

    pub fn wait<T>(&self, guard: &mut Guard<'_, T>) {
        let locked = guard.0.take().expect(LOCKED);
        guard.0 = Some(self.0.wait(locked).expect(NOT_POISONED));
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

const LOCKED: &str = "only one who waits has unlocked it";
const NOT_POISONED: &str = "a thread panicked";

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect(LOCKED)
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(LOCKED)
    }
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    pub fn lock(&self) -> Guard<'_, T> {
        machine::touch(self);
        machine::lock();
        Guard(Some(self.0.lock().expect(NOT_POISONED)))
    }
}

#[macro_export]
macro_rules! new_mutex {
    ($value:expr, $name:literal) => {
        $crate::sync::Mutex::new($value)
    };
}

#[macro_export]
macro_rules! new_condvar {
    ($name:literal) => {
        $crate::sync::CondVar::new($name)
    };
}
