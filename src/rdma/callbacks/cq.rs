// SPDX-License-Identifier: GPL-2.0

//! Callbacks of completion queues.

use super::{
    arguments::{
        Call,
        Kind, //
    },
    errno,
    Callbacks,
    Mapped,
    Operations, //
};
use crate::{
    bindings,
    cq::{
        NewCq,
        Revoke, //
    },
    provider::CompletionQueues, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// Notifications end first: what follows may be freed then.
pub(super) struct Private<T> {
    revoke: Revoke,
    pub(super) mapped: Mapped<T>,
}

pub(super) type Cq<P> = Kind<P, bindings::ib_cq, Private<<P as CompletionQueues>::Cq>>;

impl<P: CompletionQueues> Operations<P> {
    /// Adds completion queues.
    pub const fn with_completion_queues(mut self) -> Self {
        self.raw.create_user_cq = Some(Callbacks::<P>::create_user_cq);
        self.raw.destroy_cq = Some(Callbacks::<P>::destroy_cq);
        self.raw.size_ib_cq = Cq::<P>::SIZE;
        self.with_user_mmap()
    }
}

impl<P: CompletionQueues> Callbacks<P> {
    unsafe extern "C" fn create_user_cq(
        cq: *mut bindings::ib_cq,
        attr: *const bindings::ib_cq_init_attr,
        attrs: *mut bindings::uverbs_attr_bundle,
    ) -> c_int {
        // SAFETY: The core allocated `cq` for this call by the size given; `attr` is valid, and
        // `attrs` are those of the call.
        let (mut new, attr, call) =
            unsafe { (Cq::<P>::creating(cq), &*attr, Call::<P>::of(attrs)) };
        errno(call.and_then(|call| {
            let (context, mappings) = (call.context()?, call.mappings()?);
            let raw = NonNull::new(cq).ok_or(EINVAL)?;
            let attrs = NonNull::new(attrs).ok_or(EINVAL)?;
            // SAFETY: The running call creates `cq`, and has these attributes.
            let mut request = unsafe { NewCq::new(raw, attrs, attr, call.into_udata(), mappings) };
            let (data, depth) = new
                .device()
                .with(|dev| P::create_cq(dev, context.data(), &mut request))?;

            let (mappings, revoke) = request.into_parts();
            // The core reads it next.
            new.core().cqe = depth.try_into().unwrap_or(c_int::MAX);
            let private = new.fill(Private {
                revoke,
                mapped: Mapped::new(data, mappings),
            });
            // SAFETY: It succeeds from here on, and `destroy_cq` drops `revoke`.
            unsafe { private.revoke.begin(raw) };
            Ok(())
        }))
    }

    unsafe extern "C" fn destroy_cq(
        cq: *mut bindings::ib_cq,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `cq` was created, and this callback destroys it, which succeeds once its private
        // part was taken; `udata` is what the core destroys it with.
        errno(unsafe {
            Cq::<P>::ending(cq).end_by(
                udata,
                |dev, cq| P::destroy_cq(dev, &cq.mapped.data),
                |dev, Private { revoke, mapped }| {
                    drop(revoke);
                    P::end_cq(dev, mapped.data);
                },
            )
        })
    }
}
