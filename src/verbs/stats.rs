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

/// Reads a counter.
type Read = fn(&Device<'_>) -> u64;

/// The names in the order in which they are shown: first those of the C driver, in its order.
const COUNTERS: [(&CStr, Read); 21] = [
    (c"submitted_cmds", |dev| {
        dev.admin.stats().submitted_cmds.get()
    }),
    (c"completed_cmds", |dev| {
        dev.admin.stats().completed_cmds.get()
    }),
    (c"cmds_err", |dev| dev.admin.stats().cmds_err.get()),
    (c"no_completion_cmds", |dev| {
        dev.admin.stats().no_completion_cmds.get()
    }),
    (c"keep_alive_rcvd", |dev| {
        dev.admin.stats().keep_alive_rcvd.get()
    }),
    (c"alloc_pd_err", |dev| dev.stats.alloc_pd_err.get()),
    (c"create_qp_err", |dev| dev.stats.create_qp_err.get()),
    (c"create_cq_err", |dev| dev.stats.create_cq_err.get()),
    (c"reg_mr_err", |dev| dev.stats.reg_mr_err.get()),
    (c"alloc_ucontext_err", |dev| {
        dev.stats.alloc_ucontext_err.get()
    }),
    (c"create_ah_err", |dev| dev.stats.create_ah_err.get()),
    (c"mmap_err", |dev| dev.stats.mmap_err.get()),
    // CAST: `usize` has at most 64 bits.
    (c"ah_entries", |dev| dev.ah_cache.len() as u64),
    (c"ah_hits", |dev| dev.ah_counters.get(What::Hits)),
    (c"ah_waits", |dev| dev.ah_counters.get(What::Waits)),
    (c"ah_reuses", |dev| dev.ah_counters.get(What::Reuses)),
    (c"ah_misses", |dev| dev.ah_counters.get(What::Misses)),
    (c"ah_create_failures", |dev| {
        dev.ah_counters.get(What::CreateFailures)
    }),
    (c"ah_destroy_failures", |dev| {
        dev.ah_counters.get(What::DestroyFailures)
    }),
    (c"lost_interrupts", |dev| {
        dev.admin.stats().lost_interrupts.get()
    }),
    (c"late_interrupts", |dev| {
        dev.admin.stats().late_interrupts.get()
    }),
];

/// The same for the RDMA core.
pub(super) static DEVICE_COUNTERS: [CounterDesc; COUNTERS.len()] = descs(&COUNTERS);

/// Describes counters for the RDMA core by their names.
pub(super) const fn descs<const N: usize, Find>(
    counters: &[(&'static CStr, Find); N],
) -> [CounterDesc; N] {
    let mut descs = [const { CounterDesc::new(c"") }; N];
    let mut i = 0;
    while i < N {
        descs[i] = CounterDesc::new(counters[i].0);
        i += 1;
    }
    descs
}

/// Reads the counters in the order of [`DEVICE_COUNTERS`].
pub(super) fn read_device_counters(dev: &Device<'_>, values: &mut [u64]) {
    for (value, (_, read)) in values.iter_mut().zip(&COUNTERS) {
        *value = read(dev);
    }
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
        for (name, (ours, _)) in C_NAMES.iter().zip(&COUNTERS) {
            assert!(name == ours);
        }
    }
}
