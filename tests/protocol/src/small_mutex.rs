// SPDX-License-Identifier: GPL-2.0

//! What the cache has for the crate's small mutex: one that is taken in one step.
//!
//! With its own steps there would be too many orders to try. They are tried in `tests::small_mutex`.

use crate::sync::{Guard, Mutex};

/// Who waits does so at the mutex itself.
#[derive(Default)]
pub struct WaitPlace;

impl WaitPlace {
    pub fn new() -> Self {
        WaitPlace
    }
}

pub struct SmallMutex<T>(Mutex<T>);

impl<T> SmallMutex<T> {
    pub fn new(value: T) -> Self {
        SmallMutex(Mutex::new(value))
    }

    pub fn lock(&self, _place: &WaitPlace) -> Guard<'_, T> {
        self.0.lock()
    }
}
