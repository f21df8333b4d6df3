// SPDX-License-Identifier: GPL-2.0

//! Callbacks of memory regions.
//!
//! Other than most objects, a memory region is allocated and freed by its provider.

use super::{
    user_call,
    Callbacks,
    Operations,
    PdObject, //
};
use crate::{
    bindings,
    destroy::Reason,
    device::Device,
    object::Object,
    provider::{
        MemoryRegions,
        MrRequest, //
    },
    umem::{
        Access,
        UserMemory, //
    }, //
};
use kernel::prelude::*;

type MrObject<P> = Object<bindings::ib_mr, <P as MemoryRegions>::Mr>;

impl<P: MemoryRegions> Operations<P> {
    /// Adds memory regions.
    pub const fn with_memory_regions(mut self) -> Self {
        self.raw.reg_user_mr = Some(Callbacks::<P>::reg_user_mr);
        self.raw.reg_user_mr_dmabuf = Some(Callbacks::<P>::reg_user_mr_dmabuf);
        self.raw.dereg_mr = Some(Callbacks::<P>::dereg_mr);
        self
    }
}

fn pointer<T>(result: Result<*mut T>) -> *mut T {
    result.unwrap_or_else(|error| error.to_ptr())
}

impl<P: MemoryRegions> Callbacks<P> {
    unsafe extern "C" fn reg_user_mr(
        pd: *mut bindings::ib_pd,
        start: u64,
        length: u64,
        virt_addr: u64,
        access: c_int,
        dmah: *mut bindings::ib_dmah,
        udata: *mut bindings::ib_udata,
    ) -> *mut bindings::ib_mr {
        // CAST: The core has the flags signed.
        let access = Access::from_raw(access as u32);
        // SAFETY: `pd` is valid, and its device was set when it was created; this is a verbs call
        // of that device, in the context of the process that made it.
        let memory = unsafe { UserMemory::at_address((*pd).device, start, length, access) };
        let request = MrRequest {
            memory,
            iova: virt_addr,
            has_dma_handle: !dmah.is_null(),
        };
        // SAFETY: By the core's promises.
        pointer(unsafe { Self::register(pd, &request, udata) })
    }

    unsafe extern "C" fn reg_user_mr_dmabuf(
        pd: *mut bindings::ib_pd,
        offset: u64,
        length: u64,
        virt_addr: u64,
        fd: c_int,
        access: c_int,
        dmah: *mut bindings::ib_dmah,
        attrs: *mut bindings::uverbs_attr_bundle,
    ) -> *mut bindings::ib_mr {
        // CAST: The core has the flags signed.
        let access = Access::from_raw(access as u32);
        // SAFETY: As in `reg_user_mr`.
        let memory = unsafe { UserMemory::in_dmabuf((*pd).device, fd, offset, length, access) };
        let request = MrRequest {
            memory,
            iova: virt_addr,
            has_dma_handle: !dmah.is_null(),
        };
        // CAST: `driver_udata` is the first member of the bundle.
        // SAFETY: By the core's promises.
        pointer(unsafe { Self::register(pd, &request, attrs.cast()) })
    }

    /// # Safety
    ///
    /// The arguments are those of a registering callback that is running.
    unsafe fn register(
        pd: *mut bindings::ib_pd,
        request: &MrRequest<'_>,
        udata: *mut bindings::ib_udata,
    ) -> Result<*mut bindings::ib_mr> {
        // First, so that what the driver made can always be kept. The core reads members that it
        // never sets, so all start as zeroes.
        let memory = KBox::<MrObject<P>>::new_uninit(GFP_KERNEL_ACCOUNT | __GFP_ZERO)?;
        // SAFETY: `pd` is valid, and its device was set when it was created.
        let ibdev = unsafe { (*pd).device };
        // SAFETY: `pd` was created, and is not destroyed while an object is made from it.
        let pd = unsafe { PdObject::<P>::data(pd) };
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        let udata = unsafe { user_call(udata) }?;
        // SAFETY: This is a callback of `ibdev`.
        let new = unsafe {
            Device::<P>::with_data(ibdev, |dev| P::reg_user_mr(dev, pd, request, &udata))
        }?;
        let mr: *mut bindings::ib_mr = KBox::into_raw(memory).cast();
        // SAFETY: `mr` points to zeroed memory of a `MrObject`, which starts with the `ib_mr`;
        // nobody else knows of it, and it is filled once.
        unsafe {
            (*mr).lkey = new.lkey;
            (*mr).rkey = new.rkey;
            (*mr).iova = request.iova;
            (*mr).length = request.memory.len();
            MrObject::<P>::fill(mr, new.data);
        }
        Ok(mr)
    }

    unsafe extern "C" fn dereg_mr(
        mr: *mut bindings::ib_mr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `mr` is valid; the core set its device and its user object after it was made.
        let (ibdev, uobject) = unsafe { ((*mr).device, *(*mr).__bindgen_anon_1.uobject) };
        // SAFETY: All memory regions are those of user space: `udata` and `uobject` are what the
        // core destroys this one with.
        let reason = unsafe { Reason::new(udata, uobject) };
        if reason == Reason::Request {
            // SAFETY: `mr` was registered, and nobody else destroys it.
            let data = unsafe { MrObject::<P>::data(mr) };
            // SAFETY: This is a callback of `ibdev`.
            match unsafe { Device::<P>::with_data(ibdev, |dev| P::dereg_mr(dev, data)) } {
                Ok(()) => {
                    // SAFETY: `mr` was registered, and this is its last callback.
                    drop(unsafe { Self::take_mr(mr) });
                    return 0;
                }
                Err(ENODEV) => {}
                Err(error) => return error.to_errno(),
            }
        }
        // SAFETY: `mr` was registered, this is its last callback, and it cannot fail from here on.
        let data = unsafe { Self::take_mr(mr) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::end_mr(dev, data)) };
        0
    }

    /// Takes the private part out of a memory region, and frees the rest.
    ///
    /// # Safety
    ///
    /// `mr` was registered, its destroying callback is running, and succeeds without using it any
    /// more.
    unsafe fn take_mr(mr: *mut bindings::ib_mr) -> P::Mr {
        // SAFETY: By the safety requirements.
        let data = unsafe { MrObject::<P>::take(mr) };
        // SAFETY: `register` made it of such a box. Dropping it frees the memory only, since the
        // private part counts as uninitialised.
        drop(unsafe { KBox::<MrObject<P>>::from_raw(mr.cast()) });
        data
    }
}
