// SPDX-License-Identifier: GPL-2.0

//! Callbacks of ports and their tables.

use super::{
    arguments::Called,
    errno,
    Callbacks, //
};
use crate::{
    bindings,
    provider::Provider, //
};
use core::mem::ManuallyDrop;
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    /// Answers a question of the core's.
    ///
    /// # Safety
    ///
    /// A callback of `ibdev` runs, and `out` is what it has to fill in: valid, and for it alone.
    unsafe fn answer<T>(
        ibdev: *mut bindings::ib_device,
        out: *mut T,
        answer: impl for<'d> FnOnce(&'d P::Data<'d>, &mut T) -> Result,
    ) -> c_int {
        // SAFETY: By the safety requirements of this function.
        let (device, out) = unsafe { (Called::<P>::new(ibdev), &mut *out) };
        errno(device.with(|dev| answer(dev, out)))
    }

    pub(super) unsafe extern "C" fn query_port(
        ibdev: *mut bindings::ib_device,
        port: u32,
        attr: *mut bindings::ib_port_attr,
    ) -> c_int {
        // SAFETY: These are the arguments of the callback.
        unsafe {
            Self::answer(ibdev, attr, |dev, out| {
                P::query_port(dev, port).map(|attr| attr.store(out))
            })
        }
    }

    pub(super) unsafe extern "C" fn query_port_speed(
        ibdev: *mut bindings::ib_device,
        port: u32,
        speed: *mut u64,
    ) -> c_int {
        // SAFETY: These are the arguments of the callback.
        unsafe {
            Self::answer(ibdev, speed, |dev, out| {
                P::query_port_speed(dev, port).map(|speed| *out = speed)
            })
        }
    }

    pub(super) unsafe extern "C" fn get_port_immutable(
        ibdev: *mut bindings::ib_device,
        port: u32,
        immutable: *mut bindings::ib_port_immutable,
    ) -> c_int {
        // SAFETY: These are the arguments of the callback.
        unsafe {
            Self::answer(ibdev, immutable, |dev, out| {
                P::port_immutable(dev, port).map(|port| port.store(out))
            })
        }
    }

    pub(super) unsafe extern "C" fn get_link_layer(
        ibdev: *mut bindings::ib_device,
        port: u32,
    ) -> bindings::rdma_link_layer {
        // SAFETY: This is a callback of `ibdev`.
        let device = unsafe { Called::<P>::new(ibdev) };
        device.with(|dev| P::link_layer(dev, port).as_raw())
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
        // SAFETY: These are the arguments of the callback.
        unsafe {
            Self::answer(ibdev, gid, |dev, out| {
                P::query_gid(dev, port, index).map(|gid| out.raw = ManuallyDrop::new(gid.0))
            })
        }
    }

    pub(super) unsafe extern "C" fn query_pkey(
        ibdev: *mut bindings::ib_device,
        port: u32,
        index: u16,
        pkey: *mut u16,
    ) -> c_int {
        // SAFETY: These are the arguments of the callback.
        unsafe {
            Self::answer(ibdev, pkey, |dev, out| {
                P::query_pkey(dev, port, index).map(|pkey| *out = pkey)
            })
        }
    }
}
