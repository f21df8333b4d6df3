// SPDX-License-Identifier: GPL-2.0

//! Callbacks of mappings.

use super::{
    errno,
    Callbacks,
    Operations,
    UContext, //
};
use crate::{
    bindings,
    mmap,
    provider::UserMmap, //
};
use kernel::prelude::*;

impl<P: UserMmap> Operations<P> {
    /// Adds the mappings of objects. Objects that have some need it.
    pub const fn with_user_mmap(mut self) -> Self {
        self.raw.mmap = Some(Callbacks::<P>::mmap);
        self.raw.mmap_free = Some(Callbacks::<P>::mmap_free);
        self
    }
}

impl<P: UserMmap> Callbacks<P> {
    unsafe extern "C" fn mmap(
        ucontext: *mut bindings::ib_ucontext,
        vma: *mut bindings::vm_area_struct,
    ) -> c_int {
        // SAFETY: `ucontext` was created, and lives as long as a call that uses it. This is the
        // callback for `vma`, and all entries of the device are made by `Mappings`.
        let (context, request) = unsafe {
            (
                UContext::<P>::in_use(ucontext),
                mmap::Request::new(ucontext, vma),
            )
        };
        let failed = |error| {
            let offset = request.offset();
            context
                .device()
                .with(|dev| P::mmap_failed(dev, offset, error))
        };
        errno(request.map().inspect_err(|error| failed(*error)))
    }

    unsafe extern "C" fn mmap_free(entry: *mut bindings::rdma_user_mmap_entry) {
        // SAFETY: This is the callback, and all entries of the device are made by `Mappings`.
        unsafe { mmap::free(entry) };
    }
}
