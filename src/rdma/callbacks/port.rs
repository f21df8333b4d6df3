// SPDX-License-Identifier: GPL-2.0

//! Callbacks of ports and their tables.

use super::{
    errno,
    Callbacks, //
};
use crate::{
    bindings,
    device::Device,
    provider::Provider, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn query_port(
        ibdev: *mut bindings::ib_device,
        port: u32,
        attr: *mut bindings::ib_port_attr,
    ) -> c_int {
        // SAFETY: `attr` is valid and ours, by the core's promises.
        let out = unsafe { &mut *attr };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_port(dev, port).map(|attr| attr.store(out))
            })
        })
    }

    pub(super) unsafe extern "C" fn query_port_speed(
        ibdev: *mut bindings::ib_device,
        port: u32,
        speed: *mut u64,
    ) -> c_int {
        // SAFETY: `speed` is valid and ours, by the core's promises.
        let out = unsafe { &mut *speed };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_port_speed(dev, port).map(|speed| *out = speed)
            })
        })
    }

    pub(super) unsafe extern "C" fn get_port_immutable(
        ibdev: *mut bindings::ib_device,
        port: u32,
        immutable: *mut bindings::ib_port_immutable,
    ) -> c_int {
        // SAFETY: `immutable` is valid and ours, by the core's promises.
        let out = unsafe { &mut *immutable };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::port_immutable(dev, port).map(|port| port.store(out))
            })
        })
    }

    pub(super) unsafe extern "C" fn get_link_layer(
        ibdev: *mut bindings::ib_device,
        port: u32,
    ) -> bindings::rdma_link_layer {
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::link_layer(dev, port).as_raw()) }
    }

    pub(super) unsafe extern "C" fn query_gid(
        ibdev: *mut bindings::ib_device,
        port: u32,
        index: c_int,
        gid: *mut bindings::ib_gid,
    ) -> c_int {
        let Ok(index) = index.try_into() else {
            return EINVAL.to_errno();
        };
        // SAFETY: `gid` is valid and ours, by the core's promises.
        let out = unsafe { &mut *gid };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_gid(dev, port, index)
                    .map(|gid| out.raw = core::mem::ManuallyDrop::new(gid.0))
            })
        })
    }

    pub(super) unsafe extern "C" fn query_pkey(
        ibdev: *mut bindings::ib_device,
        port: u32,
        index: u16,
        pkey: *mut u16,
    ) -> c_int {
        // SAFETY: `pkey` is valid and ours, by the core's promises.
        let out = unsafe { &mut *pkey };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_pkey(dev, port, index).map(|pkey| *out = pkey)
            })
        })
    }
}
