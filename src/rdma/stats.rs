// SPDX-License-Identifier: GPL-2.0

//! Hardware counters, as sysfs and netlink show them under `hw_counters`.

use crate::bindings;
use kernel::{
    prelude::*,
    str::as_char_ptr_in_const_context, //
};

/// How long values are kept before they are read anew.
const LIFESPAN_MS: c_ulong = bindings::RDMA_HW_STATS_DEFAULT_LIFESPAN as c_ulong;

/// The description of one counter.
///
/// # Invariants
///
/// `name` is a string that lives forever, and `priv` is null.
#[repr(transparent)]
pub struct CounterDesc(bindings::rdma_stat_desc);

// SAFETY: By the type invariants it holds nothing but a pointer to constant memory.
unsafe impl Sync for CounterDesc {}

impl CounterDesc {
    /// Describes a counter that is always on.
    pub const fn new(name: &'static CStr) -> Self {
        // INVARIANT: `name` is `'static`.
        Self(bindings::rdma_stat_desc {
            name: as_char_ptr_in_const_context(name),
            flags: 0,
            priv_: core::ptr::null(),
        })
    }
}

/// Allocates the core's record of the counters in `descs`, null where there is no memory.
///
/// The core owns and frees it.
pub(crate) fn alloc(descs: &'static [CounterDesc]) -> *mut bindings::rdma_hw_stats {
    // The number is a small constant; a table that did not fit would read as no memory.
    let Ok(count) = descs.len().try_into() else {
        return core::ptr::null_mut();
    };
    // SAFETY: `descs` has `count` elements, lives forever, and `CounterDesc` is a transparent
    // `struct rdma_stat_desc`.
    unsafe { bindings::rdma_alloc_hw_stats_struct(descs.as_ptr().cast(), count, LIFESPAN_MS) }
}

/// Borrows the values of a record, in the order of its descriptions.
///
/// # Safety
///
/// `stats` was made by [`alloc`], and the caller has exclusive use of it during `'a`.
pub(crate) unsafe fn values<'a>(stats: *mut bindings::rdma_hw_stats) -> &'a mut [u64] {
    // SAFETY: By the safety requirements `stats` is valid and has `num_counters` values behind
    // it, which are plain integers and used by nobody else.
    unsafe {
        let len = usize::try_from((*stats).num_counters).unwrap_or(0);
        core::slice::from_raw_parts_mut((&raw mut (*stats).value).cast::<u64>(), len)
    }
}
