// SPDX-License-Identifier: GPL-2.0

//! Callbacks of protection domains.

use super::{
    arguments::Call,
    errno,
    Callbacks,
    Pd, //
};
use crate::{
    bindings,
    provider::Provider, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn alloc_pd(
        pd: *mut bindings::ib_pd,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: The core allocated `pd` for this call by the size in `BASE`; `udata` is null or
        // that of the call.
        let (pd, call) = unsafe { (Pd::<P>::creating(pd), Call::new(udata)) };
        errno(pd.create(call, P::alloc_pd))
    }

    pub(super) unsafe extern "C" fn dealloc_pd(
        pd: *mut bindings::ib_pd,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `pd` was created, this is its last callback, and it cannot fail.
        unsafe { Pd::<P>::ending(pd) }.end(P::dealloc_pd);
        0
    }
}
