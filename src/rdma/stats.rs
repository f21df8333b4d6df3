// SPDX-License-Identifier: GPL-2.0

//! Hardware counters, as sysfs and netlink show them under `hw_counters`.
//!
//! A record of the core has a lifespan: for so long the values are good that were read last. The core
//! looks at it when sysfs asks, and not when netlink does; here it holds for both.

use crate::bindings;
use kernel::{
    prelude::*,
    str::as_char_ptr_in_const_context, //
};

/// The core's own lifespan of values, in milliseconds.
// CAST: 10.
pub(crate) const DEFAULT_LIFESPAN_MS: u16 = bindings::RDMA_HW_STATS_DEFAULT_LIFESPAN as u16;

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

/// Allocates the core's record of the counters in `descs`, null where there is no memory. Its values
/// are good for `lifespan_ms`, unless an administrator says otherwise.
///
/// The core owns and frees it.
pub(crate) fn alloc(
    descs: &'static [CounterDesc],
    lifespan_ms: u16,
) -> *mut bindings::rdma_hw_stats {
    // The number is a small constant; a table that did not fit would read as no memory.
    let Ok(count) = descs.len().try_into() else {
        return core::ptr::null_mut();
    };
    // SAFETY: `descs` has `count` elements, lives forever, and `CounterDesc` is a transparent
    // `struct rdma_stat_desc`.
    unsafe {
        bindings::rdma_alloc_hw_stats_struct(descs.as_ptr().cast(), count, lifespan_ms.into())
    }
}

/// Reads the values of a record with `read`, in the order of its descriptions, unless those that it has
/// are still good. `read` finds what was read last, 0 at first. Returns their number.
///
/// # Errors
///
/// What `read` fails with. The next call reads again.
///
/// # Safety
///
/// `stats` was made by [`alloc`], and the caller has exclusive use of it.
pub(crate) unsafe fn update(
    stats: *mut bindings::rdma_hw_stats,
    read: impl FnOnce(&mut [u64]) -> Result,
) -> Result<c_int> {
    // SAFETY: The kernel's clock is a plain integer that it changes at any time. By the safety
    // requirements `stats` is valid, and its values are used by nobody else.
    unsafe {
        let now = (&raw const bindings::jiffies).read_volatile();
        // Never read, it is of the time 0, long before the boot.
        if now.wrapping_sub((*stats).timestamp) > (*stats).lifespan {
            read(values(stats))?;
            (*stats).timestamp = now;
        }
        Ok((*stats).num_counters)
    }
}

/// Borrows the values of a record, in the order of its descriptions.
///
/// # Safety
///
/// `stats` was made by [`alloc`], and the caller has exclusive use of it during `'a`.
unsafe fn values<'a>(stats: *mut bindings::rdma_hw_stats) -> &'a mut [u64] {
    // SAFETY: By the safety requirements `stats` is valid and has `num_counters` values behind
    // it, which are plain integers and used by nobody else.
    unsafe {
        let len = usize::try_from((*stats).num_counters).unwrap_or(0);
        core::slice::from_raw_parts_mut((&raw mut (*stats).value).cast::<u64>(), len)
    }
}

#[kernel::macros::kunit_tests(rdma_stats)]
mod tests {
    use super::*;
    use kernel::time::{
        delay::fsleep,
        Delta, //
    };

    static DESCS: [CounterDesc; 1] = [CounterDesc::new(c"one")];

    /// A record of one counter.
    struct Record(*mut bindings::rdma_hw_stats);

    impl Record {
        fn new(lifespan_ms: u16) -> Result<Self> {
            let stats = alloc(&DESCS, lifespan_ms);
            (!stats.is_null()).then(|| Self(stats)).ok_or(ENOMEM)
        }

        /// Asks for its value, which is `read` if it is read now.
        fn get(&self, read: Result<u64>) -> Result<u64> {
            let fill = |values: &mut [u64]| {
                values.fill(read?);
                Ok(())
            };
            // SAFETY: It was made by `alloc`, and nobody else has it.
            unsafe {
                update(self.0, fill)?;
                Ok(values(self.0)[0])
            }
        }
    }

    impl Drop for Record {
        fn drop(&mut self) {
            // SAFETY: It was made by `alloc`, and nobody else has it.
            unsafe { bindings::rdma_free_hw_stats_struct(self.0) };
        }
    }

    #[test]
    fn values_are_read_once_in_their_lifespan() -> Result {
        let record = Record::new(60_000)?;
        assert_eq!(record.get(Ok(1)), Ok(1));
        assert_eq!(record.get(Ok(2)), Ok(1));
        assert_eq!(record.get(Err(EINVAL)), Ok(1));
        Ok(())
    }

    #[test]
    fn values_are_read_again_after_their_lifespan() -> Result {
        let record = Record::new(1)?;
        assert_eq!(record.get(Ok(1)), Ok(1));
        fsleep(Delta::from_millis(100));
        assert_eq!(record.get(Ok(2)), Ok(2));
        Ok(())
    }

    #[test]
    fn a_failure_is_not_kept() -> Result {
        let record = Record::new(60_000)?;
        assert_eq!(record.get(Err(EINVAL)), Err(EINVAL));
        assert_eq!(record.get(Ok(1)), Ok(1));
        Ok(())
    }
}
