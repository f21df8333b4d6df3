// SPDX-License-Identifier: GPL-2.0

//! Callbacks of completion queues.

use super::{
    errno,
    user_call,
    user_context,
    Callbacks,
    Mapped,
    Operations,
    UContextObject, //
};
use crate::{
    bindings,
    cq::{
        NewCq,
        Revoke, //
    },
    destroy::Reason,
    device::Device,
    mmap::Mappings,
    object::Object,
    provider::CompletionQueues, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// Notifications end first: what follows may be freed then.
struct Cq<T> {
    revoke: Revoke,
    mapped: Mapped<T>,
}

type CqObject<P> = Object<bindings::ib_cq, Cq<<P as CompletionQueues>::Cq>>;

/// Borrows the driver's part of a completion queue.
///
/// # Safety
///
/// `cq` was created, and is not destroyed during `'a`.
pub(super) unsafe fn data<'a, P: CompletionQueues>(cq: *mut bindings::ib_cq) -> &'a P::Cq {
    // SAFETY: By the safety requirements of this function.
    unsafe { &CqObject::<P>::data(cq).mapped.data }
}

impl<P: CompletionQueues> Operations<P> {
    /// Adds completion queues.
    pub const fn with_completion_queues(mut self) -> Self {
        self.raw.create_user_cq = Some(Callbacks::<P>::create_user_cq);
        self.raw.destroy_cq = Some(Callbacks::<P>::destroy_cq);
        self.raw.size_ib_cq = CqObject::<P>::SIZE;
        self.with_user_mmap()
    }
}

impl<P: CompletionQueues> Callbacks<P> {
    unsafe extern "C" fn create_user_cq(
        cq: *mut bindings::ib_cq,
        attr: *const bindings::ib_cq_init_attr,
        attrs: *mut bindings::uverbs_attr_bundle,
    ) -> c_int {
        // SAFETY: All three are valid, by the core's promises, for this call, which comes from
        // user space.
        errno(unsafe { Self::try_create_user_cq(cq, &*attr, attrs) })
    }

    /// # Safety
    ///
    /// As the callback.
    unsafe fn try_create_user_cq(
        cq: *mut bindings::ib_cq,
        attr: &bindings::ib_cq_init_attr,
        attrs: *mut bindings::uverbs_attr_bundle,
    ) -> Result {
        let raw_udata = attrs.cast::<bindings::ib_udata>();
        // SAFETY: The private part is the first member of `attrs` (`user_context` asserts it).
        let udata = unsafe { user_call(raw_udata) }?;
        // SAFETY: It is that of the running call.
        let ucontext = unsafe { user_context(raw_udata) }?;
        // SAFETY: The user context is that of the call, and `with_completion_queues` added the
        // operations of mappings.
        let mappings = unsafe { Mappings::new(ucontext) };
        let raw = NonNull::new(cq).ok_or(EINVAL)?;
        let attrs = NonNull::new(attrs).ok_or(EINVAL)?;
        // SAFETY: The running call creates `cq`, and has these attributes.
        let mut new = unsafe { NewCq::new(raw, attrs, attr, udata, mappings) };

        // SAFETY: The core set the device before this call, which is a callback of it. The user
        // context was created, and lives as long as a call that uses it.
        let (data, depth) = unsafe {
            let ucontext = UContextObject::<P>::data(ucontext.as_ptr());
            Device::<P>::with_data((*cq).device, |dev| P::create_cq(dev, ucontext, &mut new))
        }?;

        let (mappings, revoke) = new.into_parts();
        // SAFETY: The core allocated `cq` for this call by the size given, and reads `cqe` next.
        unsafe {
            (*cq).cqe = depth.try_into().unwrap_or(c_int::MAX);
            CqObject::<P>::fill(
                cq,
                Cq {
                    revoke,
                    mapped: Mapped {
                        data,
                        mappings: mappings.into_owned(),
                    },
                },
            );
            // It succeeds from here on, and `destroy_cq` drops `revoke`.
            CqObject::<P>::data(cq).revoke.begin(raw);
        }
        Ok(())
    }

    unsafe extern "C" fn destroy_cq(
        cq: *mut bindings::ib_cq,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `cq` is valid, and its device and its user object were set when it was created.
        let (ibdev, uobject) = unsafe { ((*cq).device, (*cq).uobject) };
        // CAST: The core allocates each kind of user object by size, as an `ib_uobject` and more.
        // SAFETY: `udata` is null or that of the running call, and `uobject` what the core
        // destroys `cq` with, by the core's promises.
        let reason = unsafe { Reason::new(udata, uobject.cast()) };
        if reason == Reason::Request {
            // SAFETY: `cq` was created, and is not destroyed during the borrow.
            let data = unsafe { &CqObject::<P>::data(cq).mapped.data };
            // SAFETY: This is a callback of `ibdev`.
            match unsafe { Device::<P>::with_data(ibdev, |dev| P::destroy_cq(dev, data)) } {
                Ok(()) => {
                    // SAFETY: `cq` was created, and this succeeds from here on.
                    drop(unsafe { CqObject::<P>::take(cq) });
                    return 0;
                }
                Err(ENODEV) => {}
                Err(error) => return error.to_errno(),
            }
        }
        // SAFETY: `cq` was created, and this succeeds from here on.
        let Cq { revoke, mapped } = unsafe { CqObject::<P>::take(cq) };
        drop(revoke);
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::end_cq(dev, mapped.data)) };
        0
    }
}
