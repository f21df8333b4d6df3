// SPDX-License-Identifier: GPL-2.0

//! Callbacks of counters.

use super::Callbacks;
use crate::{
    bindings,
    device::Device,
    provider::Provider,
    stats, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn alloc_hw_device_stats(
        _ibdev: *mut bindings::ib_device,
    ) -> *mut bindings::rdma_hw_stats {
        stats::alloc(P::DEVICE_COUNTERS)
    }

    pub(super) unsafe extern "C" fn get_hw_stats(
        ibdev: *mut bindings::ib_device,
        stats: *mut bindings::rdma_hw_stats,
        port: u32,
        _index: c_int,
    ) -> c_int {
        // Port 0 is the device as a whole; no record was made for any other.
        if port != 0 {
            return EOPNOTSUPP.to_errno();
        }
        // SAFETY: `stats` was made by `alloc_hw_device_stats`, and the core lets one caller at a
        // time update it.
        let values = unsafe { stats::values(stats) };
        // SAFETY: This is a callback of `ibdev`.
        match unsafe { Device::<P>::with_data(ibdev, |dev| P::read_device_counters(dev, values)) } {
            // SAFETY: `stats` is valid. The number of counters says that all were read.
            Ok(()) => unsafe { (*stats).num_counters },
            Err(error) => error.to_errno(),
        }
    }
}
