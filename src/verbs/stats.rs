// SPDX-License-Identifier: GPL-2.0

//! The counters of the device as a whole, as the `hw_counters` directory of the device shows them.
//!
//! Exporters find them by name, so the names are those of the kernel's C driver.

use crate::{
    admin::stats::Counter,
    device::Device, //
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

/// Finds a counter.
type Find = for<'a> fn(&'a Device<'_>) -> &'a Counter;

/// The names in the order in which they are shown.
const COUNTERS: [(&CStr, Find); 12] = [
    (c"submitted_cmds", |dev| &dev.admin.stats().submitted_cmds),
    (c"completed_cmds", |dev| &dev.admin.stats().completed_cmds),
    (c"cmds_err", |dev| &dev.admin.stats().cmds_err),
    (c"no_completion_cmds", |dev| {
        &dev.admin.stats().no_completion_cmds
    }),
    (c"keep_alive_rcvd", |dev| &dev.admin.stats().keep_alive_rcvd),
    (c"alloc_pd_err", |dev| &dev.stats.alloc_pd_err),
    (c"create_qp_err", |dev| &dev.stats.create_qp_err),
    (c"create_cq_err", |dev| &dev.stats.create_cq_err),
    (c"reg_mr_err", |dev| &dev.stats.reg_mr_err),
    (c"alloc_ucontext_err", |dev| &dev.stats.alloc_ucontext_err),
    (c"create_ah_err", |dev| &dev.stats.create_ah_err),
    (c"mmap_err", |dev| &dev.stats.mmap_err),
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
    for (value, (_, find)) in values.iter_mut().zip(&COUNTERS) {
        *value = find(dev).get();
    }
}
