// SPDX-License-Identifier: GPL-2.0

//! Callbacks of user contexts.

use super::{
    errno,
    user_call,
    Callbacks,
    UContextObject, //
};
use crate::{
    bindings,
    device::Device,
    provider::Provider, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn alloc_ucontext(
        ucontext: *mut bindings::ib_ucontext,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `ucontext` is valid, and the core set its device before this call.
        let ibdev = unsafe { (*ucontext).device };
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        let created = unsafe { user_call(udata) }.and_then(|udata| {
            // SAFETY: This is a callback of `ibdev`.
            unsafe { Device::<P>::with_data(ibdev, |dev| P::alloc_ucontext(dev, &udata)) }
        });
        // SAFETY: The core allocated `ucontext` for this call by the size in `BASE`.
        errno(created.map(|data| unsafe { UContextObject::<P>::fill(ucontext, data) }))
    }

    pub(super) unsafe extern "C" fn dealloc_ucontext(ucontext: *mut bindings::ib_ucontext) {
        // SAFETY: `ucontext` is valid, and its device was set when it was created.
        let ibdev = unsafe { (*ucontext).device };
        // SAFETY: `ucontext` was created, this is its last callback, and it cannot fail.
        let data = unsafe { UContextObject::<P>::take(ucontext) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::dealloc_ucontext(dev, data)) };
    }

    /// Its presence lets a device be unregistered while processes hold contexts open. The core
    /// has already revoked their mappings, and destroys their objects next.
    pub(super) unsafe extern "C" fn disassociate_ucontext(_ucontext: *mut bindings::ib_ucontext) {}
}
