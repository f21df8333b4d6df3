// SPDX-License-Identifier: GPL-2.0

//! Memory that has to be had.

use crate::bindings;
use core::mem::{
    align_of,
    size_of, //
};
use kernel::{
    build_assert::const_assert,
    page::PAGE_SIZE,
    prelude::*, //
};

/// A box for `value`, which is had however long it takes: for what must not be lost where nobody can
/// be told of a failure. Waits while the machine has no memory, so callers must be able to sleep,
/// and ask for little. Whatever can still be refused asks for a [`KBox`] and fails instead.
pub fn box_without_fail<T>(value: T) -> KBox<T> {
    // What `kmalloc()` aligns any size to, and what the kernel has for all who wait.
    const_assert!(align_of::<T>() <= align_of::<u64>());
    const_assert!(size_of::<T>() != 0 && size_of::<T>() <= PAGE_SIZE);
    // SAFETY: An allocation that waits for memory never returns null, and this one has the size and
    // the alignment of a `T`. It is from `kmalloc()`, as a `KBox` frees it, and nobody else's.
    unsafe {
        let raw: *mut T = bindings::rdma_shim_kmalloc_nofail(size_of::<T>()).cast();
        raw.write(value);
        KBox::from_raw(raw)
    }
}

#[kernel::macros::kunit_tests(rdma_alloc)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_the_value_and_is_freed_like_others() -> Result {
        let other = KBox::new([7_u64; 40], GFP_KERNEL)?;
        let certain = box_without_fail([7_u64; 40]);
        assert_eq!(*certain, *other);
        Ok(())
    }
}
