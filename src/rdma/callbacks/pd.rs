// SPDX-License-Identifier: GPL-2.0

//! Callbacks of protection domains.

use super::{
    errno,
    user_call,
    Callbacks,
    PdObject, //
};
use crate::{
    bindings,
    device::Device,
    provider::Provider, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn alloc_pd(
        pd: *mut bindings::ib_pd,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `pd` is valid, and the core set its device before this call.
        let ibdev = unsafe { (*pd).device };
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        let created = unsafe { user_call(udata) }.and_then(|udata| {
            // SAFETY: This is a callback of `ibdev`.
            unsafe { Device::<P>::with_data(ibdev, |dev| P::alloc_pd(dev, &udata)) }
        });
        // SAFETY: The core allocated `pd` for this call by the size in `BASE`.
        errno(created.map(|data| unsafe { PdObject::<P>::fill(pd, data) }))
    }

    pub(super) unsafe extern "C" fn dealloc_pd(
        pd: *mut bindings::ib_pd,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `pd` is valid, and its device was set when it was created.
        let ibdev = unsafe { (*pd).device };
        // SAFETY: `pd` was created, this is its last callback, and it cannot fail.
        let data = unsafe { PdObject::<P>::take(pd) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::dealloc_pd(dev, data)) };
        0
    }
}
