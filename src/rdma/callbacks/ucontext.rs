// SPDX-License-Identifier: GPL-2.0

//! Callbacks of user contexts.

use super::{
    arguments::Call,
    errno,
    Callbacks,
    UContext, //
};
use crate::{
    bindings,
    provider::Provider, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn alloc_ucontext(
        ucontext: *mut bindings::ib_ucontext,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: The core allocated `ucontext` for this call by the size in `BASE`; `udata` is
        // null or that of the call.
        let (ucontext, call) = unsafe { (UContext::<P>::creating(ucontext), Call::new(udata)) };
        errno(ucontext.create(call, P::alloc_ucontext))
    }

    pub(super) unsafe extern "C" fn dealloc_ucontext(ucontext: *mut bindings::ib_ucontext) {
        // SAFETY: `ucontext` was created, this is its last callback, and it cannot fail.
        unsafe { UContext::<P>::ending(ucontext) }.end(P::dealloc_ucontext);
    }

    /// Its presence lets a device be unregistered while processes hold contexts open. By then the
    /// core has destroyed the context's objects, and after that revoked what processes have mapped
    /// of the device: so a process can reach the device's pages a moment longer than there are
    /// objects that they belong to. The context itself is deallocated next.
    pub(super) unsafe extern "C" fn disassociate_ucontext(_ucontext: *mut bindings::ib_ucontext) {}
}
