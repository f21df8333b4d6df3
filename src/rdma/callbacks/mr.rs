// SPDX-License-Identifier: GPL-2.0

//! Callbacks of memory regions.
//!
//! Other than most objects, a memory region is allocated and freed by its provider.

use super::{
    arguments::{
        Call,
        Kind, //
    },
    errno,
    Callbacks,
    Operations,
    Pd,
    PdInUse, //
};
use crate::{
    bindings,
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
use kernel::{
    error::from_err_ptr,
    prelude::*, //
};

type MrObject<P> = Object<bindings::ib_mr, <P as MemoryRegions>::Mr>;
type Mr<P> = Kind<P, bindings::ib_mr, <P as MemoryRegions>::Mr>;

impl<P: MemoryRegions> Operations<P> {
    /// Adds memory regions.
    pub const fn with_memory_regions(mut self) -> Self {
        self.raw.reg_user_mr = Some(Callbacks::<P>::reg_user_mr);
        self.raw.reg_user_mr_dmabuf = Some(Callbacks::<P>::reg_user_mr_dmabuf);
        self.raw.dereg_mr = Some(Callbacks::<P>::dereg_mr);
        self.definitions = self.definitions.with_memory_regions::<P>();
        self
    }
}

fn pointer<T>(result: Result<*mut T>) -> *mut T {
    result.unwrap_or_else(|error| error.to_ptr())
}

/// Calls the handler of a method on memory regions.
///
/// # Errors
///
/// What the handler fails with.
///
/// # Safety
///
/// The core calls a method of a device of `P` with `attrs`, and `handle` is a mandatory attribute
/// of that method, which names a memory region to be read.
pub(crate) unsafe fn call_mr_method<P: MemoryRegions, R>(
    attrs: *mut bindings::uverbs_attr_bundle,
    handle: u16,
    handler: impl for<'d> FnOnce(&'d P::Data<'d>, &P::Mr) -> Result<R>,
) -> Result<R> {
    // SAFETY: By the safety requirements the attributes are valid, and this one is a memory region
    // of `P`, which the core keeps from being destroyed during the call; its device is registered
    // during a call.
    let mr = unsafe {
        let mr = bindings::rdma_shim_uverbs_attr_object(attrs, handle);
        Mr::<P>::in_use(from_err_ptr(mr)?.cast())
    };
    mr.device().with(|dev| handler(dev, mr.data()))
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
        // SAFETY: `pd` was created, and is not destroyed while an object is made from it. This is a
        // verbs call of its device, in the context of the process that made it; `udata` is null or
        // that of the call.
        let (pd, memory, call) = unsafe {
            (
                Pd::<P>::in_use(pd),
                UserMemory::at_address((*pd).device, start, length, access),
                Call::new(udata),
            )
        };
        let request = MrRequest {
            memory,
            iova: virt_addr,
            has_dma_handle: !dmah.is_null(),
        };
        pointer(Self::register(pd, &request, call))
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
        // SAFETY: As in `reg_user_mr`; `attrs` are those of the call.
        let (pd, memory, call) = unsafe {
            (
                Pd::<P>::in_use(pd),
                UserMemory::in_dmabuf((*pd).device, fd, offset, length, access),
                Call::of(attrs),
            )
        };
        let request = MrRequest {
            memory,
            iova: virt_addr,
            has_dma_handle: !dmah.is_null(),
        };
        pointer(Self::register(pd, &request, call))
    }

    fn register(
        pd: PdInUse<'_, P>,
        request: &MrRequest<'_>,
        call: Result<Call<'_, P>>,
    ) -> Result<*mut bindings::ib_mr> {
        // First, so that what the driver made can always be kept. The core reads members that it
        // never sets, so all start as zeroes.
        let memory = KBox::<MrObject<P>>::new_uninit(GFP_KERNEL_ACCOUNT | __GFP_ZERO)?;
        let call = call?;
        let new = pd
            .device()
            .with(|dev| P::reg_user_mr(dev, pd.data(), request, call.udata()))?;
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
        // SAFETY: `mr` was registered, and this callback destroys it, which succeeds once its
        // private part was taken. All memory regions are those of user space, and `udata` is what
        // the core destroys this one with.
        let ended = unsafe { Mr::<P>::ending(mr).end_by(udata, P::dereg_mr, P::end_mr) };
        errno(ended.map(|()| {
            // SAFETY: `register` made it of such a box, and the core does not use it any more once
            // this callback succeeds. Dropping it frees the memory only, since the private part
            // counts as uninitialised.
            drop(unsafe { KBox::<MrObject<P>>::from_raw(mr.cast()) });
        }))
    }
}
