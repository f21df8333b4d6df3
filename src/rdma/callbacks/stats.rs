// SPDX-License-Identifier: GPL-2.0

//! Callbacks of counters.

use super::{
    arguments::Called,
    Callbacks,
    Operations, //
};
use crate::{
    bindings,
    provider::{
        PortCounters,
        Provider, //
    },
    stats, //
};
use kernel::prelude::*;

impl<P: PortCounters> Operations<P> {
    /// Adds the counters of ports.
    pub const fn with_port_counters(mut self) -> Self {
        self.raw.alloc_hw_port_stats = Some(Callbacks::<P>::alloc_hw_port_stats);
        self.raw.get_hw_stats = Some(Callbacks::<P>::get_hw_stats_of_any);
        self
    }
}

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn alloc_hw_device_stats(
        _ibdev: *mut bindings::ib_device,
    ) -> *mut bindings::rdma_hw_stats {
        stats::alloc(P::DEVICE_COUNTERS, stats::DEFAULT_LIFESPAN_MS)
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
        // SAFETY: This is a callback of `ibdev`, and `stats` was made by `alloc_hw_device_stats`.
        unsafe { Self::update(ibdev, stats, P::read_device_counters) }
    }

    /// Reads all counters of a record that are not still good; returns their number, or an error.
    ///
    /// # Safety
    ///
    /// A callback of `ibdev` is running, and was given `stats`, which was made by
    /// [`stats::alloc`]. The core lets one caller at a time update it.
    unsafe fn update(
        ibdev: *mut bindings::ib_device,
        stats: *mut bindings::rdma_hw_stats,
        read: impl for<'a> FnOnce(&'a P::Data<'a>, &mut [u64]) -> Result,
    ) -> c_int {
        // SAFETY: By the safety requirements of this function.
        let updated = unsafe {
            let device = Called::<P>::new(ibdev);
            stats::update(stats, |values| device.with(|dev| read(dev, values)))
        };
        match updated {
            // The number of counters says that all were read.
            Ok(count) => count,
            Err(error) => error.to_errno(),
        }
    }
}

impl<P: PortCounters> Callbacks<P> {
    unsafe extern "C" fn alloc_hw_port_stats(
        _ibdev: *mut bindings::ib_device,
        _port: u32,
    ) -> *mut bindings::rdma_hw_stats {
        stats::alloc(P::PORT_COUNTERS, P::PORT_LIFESPAN_MS)
    }

    unsafe extern "C" fn get_hw_stats_of_any(
        ibdev: *mut bindings::ib_device,
        stats: *mut bindings::rdma_hw_stats,
        port: u32,
        _index: c_int,
    ) -> c_int {
        // SAFETY: This is a callback of `ibdev`, and `stats` was made by `alloc_hw_device_stats`
        // for port 0, which is the device as a whole, and by `alloc_hw_port_stats` for others.
        unsafe {
            Self::update(ibdev, stats, |dev, values| match port {
                0 => P::read_device_counters(dev, values),
                port => P::read_port_counters(dev, port, values),
            })
        }
    }
}
