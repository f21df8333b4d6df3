// SPDX-License-Identifier: GPL-2.0

//! Verbs objects: the RDMA core's structure with the driver's private part behind it.
//!
//! The core allocates the objects by the sizes in `struct ib_device_ops`, zeroed, and frees them
//! without knowing of Rust. So the private part starts uninitialized, is written when the object
//! was created, and is taken out when it is destroyed.

use core::mem::{
    align_of,
    offset_of,
    size_of,
    MaybeUninit, //
};
use kernel::{
    build_assert::const_assert,
    types::Opaque, //
};

/// A verbs object of the C type `C` with the private part `T`.
///
/// # Invariants
///
/// - `base` is at offset 0, so that a pointer to `C` is a pointer to the whole.
/// - `data` is initialized from the success of the callback that creates the object to the
///   callback that destroys it.
#[repr(C)]
pub(crate) struct Object<C, T> {
    base: Opaque<C>,
    data: MaybeUninit<T>,
}

impl<C, T> Object<C, T> {
    /// The number of bytes the core has to allocate.
    pub(crate) const SIZE: usize = {
        assert!(offset_of!(Self, base) == 0);
        // What `kmalloc()` guarantees for any size.
        assert!(align_of::<Self>() <= align_of::<u64>());
        size_of::<Self>()
    };

    /// Makes `data` the private part of a new object.
    ///
    /// # Safety
    ///
    /// - `raw` points to an object that the core allocated with [`Self::SIZE`] bytes.
    /// - Its creating callback is running and has not called this function before.
    pub(crate) unsafe fn fill(raw: *mut C, data: T) {
        const_assert!(Self::SIZE != 0);
        // SAFETY: By the safety requirements the allocation holds all of `Self`, and nobody else
        // knows of the object before its creating callback returned.
        unsafe { (*raw.cast::<Self>()).data.write(data) };
    }

    /// Borrows the private part.
    ///
    /// # Safety
    ///
    /// `raw` points to an object that was created, and whose destroying callback does not run
    /// during `'a`.
    pub(crate) unsafe fn data<'a>(raw: *mut C) -> &'a T {
        // SAFETY: By the safety requirements and the type invariants `data` is initialized, and
        // shared until the destroying callback.
        unsafe { (*raw.cast::<Self>()).data.assume_init_ref() }
    }

    /// Drops the private part of an object that goes away.
    ///
    /// # Safety
    ///
    /// As [`Self::take`], in place of which this is called.
    pub(crate) unsafe fn drop(raw: *mut C) {
        // SAFETY: By the safety requirements and the type invariants `data` is initialized; nobody
        // uses it any more, and nobody will read it again.
        unsafe { (*raw.cast::<Self>()).data.assume_init_drop() };
    }

    /// Takes the private part out of an object that goes away.
    ///
    /// # Safety
    ///
    /// `raw` points to an object that was created; its destroying callback is running, will
    /// succeed, and calls this function once.
    pub(crate) unsafe fn take(raw: *mut C) -> T {
        // SAFETY: By the safety requirements and the type invariants `data` is initialized;
        // nobody uses it any more, and nobody will read it again.
        unsafe { (*raw.cast::<Self>()).data.assume_init_read() }
    }
}

#[kernel::macros::kunit_tests(rdma_object)]
mod tests {
    use super::*;
    use kernel::{
        prelude::*,
        sync::Arc, //
    };

    type TestObject = Object<u64, Arc<u32>>;

    #[test]
    fn the_cores_part_comes_first_and_the_private_part_is_dropped_once() -> Result {
        let mut memory = KBox::new(MaybeUninit::<TestObject>::zeroed(), GFP_KERNEL)?;
        let raw: *mut u64 = memory.as_mut_ptr().cast();
        let private = Arc::new(7, GFP_KERNEL)?;

        // SAFETY: `raw` points to zeroed memory of the right size; the object is created, used and
        // destroyed once, in this order.
        let taken = unsafe {
            *raw = 5;
            TestObject::fill(raw, private.clone());
            assert_eq!(**TestObject::data(raw), 7);
            assert_eq!(*raw, 5);
            TestObject::take(raw)
        };

        assert!(Arc::into_unique_or_drop(private.clone()).is_none());
        drop(taken);
        assert!(Arc::into_unique_or_drop(private).is_some());
        Ok(())
    }
}
