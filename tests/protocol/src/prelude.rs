// SPDX-License-Identifier: GPL-2.0

//! What every file of the kernel imports.

pub use crate::error::{Error, Result, EAGAIN, EBUSY, EINVAL, EIO, ENOMEM};
pub use crate::{pin_init, try_pin_init};
pub use core::{marker::PhantomPinned, pin::Pin};
pub use pinned_init::{pin_data, pinned_drop, PinInit, PinnedDrop};

use crate::machine;
use core::{
    ffi::c_void,
    mem::{ManuallyDrop, MaybeUninit},
    ops::Deref,
    ptr::NonNull,
};

#[macro_export]
macro_rules! pin_init {
    ($($body:tt)*) => { pinned_init::pin_init!($($body)*) };
}

/// The kernel's own takes the kernel's error unless told otherwise.
#[macro_export]
macro_rules! try_pin_init {
    ($($body:tt)*) => { pinned_init::try_pin_init!($($body)*? $crate::error::Error) };
}

/// Says that something happened that must not.
#[macro_export]
macro_rules! warn_on {
    ($condition:expr) => {{
        let condition = $condition;
        assert!(!condition, "warned");
        condition
    }};
}

/// How to allocate.
#[derive(Clone, Copy)]
pub struct Flags;
pub const GFP_KERNEL_ACCOUNT: Flags = Flags;

/// Memory of the machine. It is given back by the C functions only.
pub struct KBox<T>(NonNull<T>);

impl<T> KBox<T> {
    pub fn pin_init<E>(init: impl PinInit<T, E>, _flags: Flags) -> Result<Pin<Self>>
    where
        Error: From<E>,
    {
        if machine::is_out_of_memory() {
            return Err(ENOMEM);
        }
        let memory = Box::into_raw(Box::new(MaybeUninit::<T>::uninit())).cast::<T>();
        // SAFETY: The memory is valid and is not moved.
        let done = unsafe { init.__pinned_init(memory) };
        done?;
        machine::allocated(memory.cast(), size_of::<T>(), release::<T>);
        let memory = NonNull::new(memory).expect("boxes have an address");
        // SAFETY: The memory stays where it is.
        Ok(unsafe { Pin::new_unchecked(KBox(memory)) })
    }

    pub fn into_raw(memory: Self) -> *mut T {
        ManuallyDrop::new(memory).0.as_ptr()
    }
}

/// Gives the memory back to the host.
unsafe fn release<T>(memory: *mut c_void) {
    // SAFETY: By the contract it came from a box, is initialised, and is not used any more.
    drop(unsafe { Box::from_raw(memory.cast::<T>()) });
}

impl<T> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: The memory is initialised and valid to the end of the run.
        unsafe { self.0.as_ref() }
    }
}
