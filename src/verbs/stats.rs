// SPDX-License-Identifier: GPL-2.0

//! The counters of the device as a whole, as the `hw_counters` directory of the device shows them.
//!
//! Exporters find them by name, so the names are those of the kernel's C driver, and ours follow. Any
//! user can read them, without a command.

use crate::{
    admin::stats::Counter,
    verbs::{
        ah_watch::What,
        device::Device, //
    }, //
};
use kernel::prelude::*;
use rdma::stats::CounterDesc;

/// Verbs calls that failed.
pub(crate) struct VerbsStats {
    pub(crate) alloc_pd_err: Counter,
    pub(crate) create_qp_err: Counter,
    pub(crate) create_cq_err: Counter,
    pub(crate) reg_mr_err: Counter,
    pub(crate) alloc_ucontext_err: Counter,
    pub(crate) create_ah_err: Counter,
    pub(crate) mmap_err: Counter,
}

impl VerbsStats {
    /// All at zero.
    pub(crate) const fn new() -> Self {
        Self {
            alloc_pd_err: Counter::new(),
            create_qp_err: Counter::new(),
            create_cq_err: Counter::new(),
            reg_mr_err: Counter::new(),
            alloc_ucontext_err: Counter::new(),
            create_ah_err: Counter::new(),
            mmap_err: Counter::new(),
        }
    }
}

/// Makes the list of names, and what reads the counters in its order.
macro_rules! counters {
    (|$dev:ident, $admin:ident| $($name:literal: $count:expr,)+) => {
        /// The names in the order in which they are shown.
        const NAMES: [&CStr; [$($name),+].len()] = [$($name),+];

        /// Reads the counters in the order of [`DEVICE_COUNTERS`].
        pub(super) fn read_device_counters($dev: &Device<'_>, values: &mut [u64]) {
            let $admin = $dev.admin.stats();
            for (value, count) in values.iter_mut().zip([$($count),+]) {
                *value = count;
            }
        }
    };
}

// First those of the C driver, in its order.
counters! {
    |dev, admin|
    c"submitted_cmds": admin.submitted_cmds.get(),
    c"completed_cmds": admin.completed_cmds.get(),
    c"cmds_err": admin.cmds_err.get(),
    c"no_completion_cmds": admin.no_completion_cmds.get(),
    c"keep_alive_rcvd": admin.keep_alive_rcvd.get(),
    c"alloc_pd_err": dev.stats.alloc_pd_err.get(),
    c"create_qp_err": dev.stats.create_qp_err.get(),
    c"create_cq_err": dev.stats.create_cq_err.get(),
    c"reg_mr_err": dev.stats.reg_mr_err.get(),
    c"alloc_ucontext_err": dev.stats.alloc_ucontext_err.get(),
    c"create_ah_err": dev.stats.create_ah_err.get(),
    c"mmap_err": dev.stats.mmap_err.get(),
    // CAST: `usize` has at most 64 bits.
    c"ah_entries": dev.ah_cache.len() as u64,
    c"ah_hits": dev.ah_counters.get(What::Hits),
    c"ah_waits": dev.ah_counters.get(What::Waits),
    c"ah_reuses": dev.ah_counters.get(What::Reuses),
    c"ah_misses": dev.ah_counters.get(What::Misses),
    c"ah_create_failures": dev.ah_counters.get(What::CreateFailures),
    c"ah_destroy_failures": dev.ah_counters.get(What::DestroyFailures),
    c"lost_interrupts": admin.lost_interrupts.get(),
    c"late_interrupts": admin.late_interrupts.get(),
}

/// The same for the RDMA core.
pub(super) static DEVICE_COUNTERS: [CounterDesc; NAMES.len()] = descs(&NAMES);

/// Describes counters for the RDMA core by their names.
pub(super) const fn descs<const N: usize>(names: &[&'static CStr; N]) -> [CounterDesc; N] {
    let mut descs = [const { CounterDesc::new(c"") }; N];
    let mut i = 0;
    while i < N {
        descs[i] = CounterDesc::new(names[i]);
        i += 1;
    }
    descs
}

#[kernel::macros::kunit_tests(efa_stats)]
mod tests {
    use super::*;

    /// Those of the C driver, in its order.
    const C_NAMES: [&CStr; 12] = [
        c"submitted_cmds",
        c"completed_cmds",
        c"cmds_err",
        c"no_completion_cmds",
        c"keep_alive_rcvd",
        c"alloc_pd_err",
        c"create_qp_err",
        c"create_cq_err",
        c"reg_mr_err",
        c"alloc_ucontext_err",
        c"create_ah_err",
        c"mmap_err",
    ];

    #[test]
    fn the_counters_of_c_keep_their_places() {
        for (name, ours) in C_NAMES.iter().zip(&NAMES) {
            assert!(name == ours);
        }
    }
}
