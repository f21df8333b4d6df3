// SPDX-License-Identifier: GPL-2.0

//! Callbacks of mappings.

use super::{
    errno,
    Callbacks,
    Operations, //
};
use crate::{
    bindings,
    device::Device,
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
        // SAFETY: This is the callback, and all entries of the device are made by `Mappings`.
        errno(unsafe { mmap::map(ucontext, vma) }.inspect_err(|_| {
            // SAFETY: This is a callback of the device, which `ucontext` has had since it was
            // created.
            unsafe { Device::<P>::with_data((*ucontext).device, |dev| P::mmap_failed(dev)) }
        }))
    }

    unsafe extern "C" fn mmap_free(entry: *mut bindings::rdma_user_mmap_entry) {
        // SAFETY: This is the callback, and all entries of the device are made by `Mappings`.
        unsafe { mmap::free(entry) };
    }
}
