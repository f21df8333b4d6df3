// SPDX-License-Identifier: GPL-2.0

//! Memory that C code owns.

use core::{cell::UnsafeCell, mem::MaybeUninit};
use pinned_init::{pin_init_from_closure, PinInit};

/// A `T` that only C functions look into.
#[repr(transparent)]
pub struct Opaque<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> Opaque<T> {
    pub fn new(value: T) -> Self {
        Opaque(UnsafeCell::new(MaybeUninit::new(value)))
    }

    /// Lets `init` fill the memory in.
    pub fn try_ffi_init<E>(init: impl FnOnce(*mut T) -> Result<(), E>) -> impl PinInit<Self, E> {
        // SAFETY: `init` initialises what it is given, or says that it did not.
        unsafe { pin_init_from_closure(|slot: *mut Self| init(slot.cast())) }
    }

    pub fn get(&self) -> *mut T {
        self.0.get().cast()
    }
}

/// The value whose bytes are zeroes, which is also the default of what is asked for.
pub fn zeroed<T: Default>() -> T {
    T::default()
}
