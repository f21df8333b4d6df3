// SPDX-License-Identifier: GPL-2.0

//! Callbacks of completion counters.

use super::{
    errno,
    qp::QpObject,
    user_context,
    Callbacks,
    Operations,
    UContextObject, //
};
use crate::{
    bindings,
    device::Device,
    object::Object,
    provider::{
        CompCntrChange,
        CompCntrEntry,
        CompCntrOps,
        CompletionCounters, //
    },
    uverbs::MethodCall, //
};
use kernel::prelude::*;

type CompCntrObject<P> = Object<bindings::ib_comp_cntr, <P as CompletionCounters>::CompCntr>;

impl<P: CompletionCounters> Operations<P> {
    /// Adds completion counters.
    pub const fn with_completion_counters(mut self) -> Self {
        self.raw.query_comp_cntr_caps = Some(Callbacks::<P>::query_comp_cntr_caps);
        self.raw.create_comp_cntr = Some(Callbacks::<P>::create_comp_cntr);
        self.raw.destroy_comp_cntr = Some(Callbacks::<P>::destroy_comp_cntr);
        self.raw.modify_comp_cntr = Some(Callbacks::<P>::modify_comp_cntr);
        self.raw.qp_attach_comp_cntr = Some(Callbacks::<P>::qp_attach_comp_cntr);
        self.raw.size_ib_comp_cntr = CompCntrObject::<P>::SIZE;
        self
    }
}

impl<P: CompletionCounters> Callbacks<P> {
    unsafe extern "C" fn query_comp_cntr_caps(
        ibdev: *mut bindings::ib_device,
        caps: *mut bindings::ib_comp_cntr_caps,
        _attrs: *mut bindings::uverbs_attr_bundle,
    ) -> c_int {
        // SAFETY: This is a callback of `ibdev`.
        let known = unsafe { Device::<P>::with_data(ibdev, |dev| P::query_comp_cntr_caps(dev)) };
        // SAFETY: `caps` is valid and ours, by the core's promises.
        unsafe {
            (*caps).max_counters = known.max_counters;
            (*caps).max_value = known.max_value;
            (*caps).supported_qp_attach_ops = known.ops.as_raw();
        }
        0
    }

    unsafe extern "C" fn create_comp_cntr(
        counter: *mut bindings::ib_comp_cntr,
        attrs: *mut bindings::uverbs_attr_bundle,
    ) -> c_int {
        // SAFETY: These are the arguments of the callback.
        errno(unsafe { Self::try_create_comp_cntr(counter, attrs) })
    }

    /// # Safety
    ///
    /// As the callback.
    unsafe fn try_create_comp_cntr(
        counter: *mut bindings::ib_comp_cntr,
        attrs: *mut bindings::uverbs_attr_bundle,
    ) -> Result {
        // SAFETY: A bundle begins with the private part of the running call (`user_context`
        // asserts it).
        let ucontext = unsafe { user_context(attrs.cast()) }?;
        // SAFETY: The user context was created, and lives as long as a call that uses it.
        let ucontext = unsafe { UContextObject::<P>::data(ucontext.as_ptr()) };
        // SAFETY: `attrs` is the bundle of the running call.
        let call = unsafe { MethodCall::new(attrs) };
        // SAFETY: The core set the device before this call, which is a callback of it.
        let data = unsafe {
            Device::<P>::with_data((*counter).device, |dev| {
                P::create_comp_cntr(dev, ucontext, &call)
            })
        }?;
        // SAFETY: The core allocated `counter` for this call by the size given.
        unsafe { CompCntrObject::<P>::fill(counter, data) };
        Ok(())
    }

    unsafe extern "C" fn destroy_comp_cntr(counter: *mut bindings::ib_comp_cntr) -> c_int {
        // SAFETY: `counter` is valid, and its device was set when it was created.
        let ibdev = unsafe { (*counter).device };
        // SAFETY: `counter` was created, this is its last callback, and it cannot fail.
        let data = unsafe { CompCntrObject::<P>::take(counter) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::end_comp_cntr(dev, data)) };
        0
    }

    unsafe extern "C" fn modify_comp_cntr(
        counter: *mut bindings::ib_comp_cntr,
        entry: bindings::ib_comp_cntr_entry,
        op: bindings::ib_comp_cntr_modify_op,
        value: u64,
    ) -> c_int {
        // The core does not check that they are known.
        let entry = match entry {
            bindings::ib_comp_cntr_entry_IB_COMP_CNTR_ENTRY_COMP => CompCntrEntry::Completions,
            bindings::ib_comp_cntr_entry_IB_COMP_CNTR_ENTRY_ERR => CompCntrEntry::Errors,
            _ => return EINVAL.to_errno(),
        };
        let change = match op {
            bindings::ib_comp_cntr_modify_op_IB_COMP_CNTR_MODIFY_OP_SET => {
                CompCntrChange::Set(value)
            }
            bindings::ib_comp_cntr_modify_op_IB_COMP_CNTR_MODIFY_OP_INC => {
                CompCntrChange::Add(value)
            }
            _ => return EINVAL.to_errno(),
        };
        // SAFETY: `counter` was created, and is not destroyed during a call that uses it. This is
        // a callback of the device, which was set when it was created.
        errno(unsafe {
            let data = CompCntrObject::<P>::data(counter);
            Device::<P>::with_data((*counter).device, |dev| {
                P::modify_comp_cntr(dev, data, entry, change)
            })
        })
    }

    unsafe extern "C" fn qp_attach_comp_cntr(
        qp: *mut bindings::ib_qp,
        counter: *mut bindings::ib_comp_cntr,
        attr: *mut bindings::ib_qp_attach_comp_cntr_attr,
    ) -> c_int {
        // SAFETY: `attr` is valid, by the core's promises.
        let ops = CompCntrOps::from_raw(unsafe { (*attr).op_mask });
        // SAFETY: Both objects were created, and are not destroyed during a call that uses them.
        // This is a callback of their device.
        errno(unsafe {
            let (qp, data) = (
                &QpObject::<P>::data(qp).data,
                CompCntrObject::<P>::data(counter),
            );
            Device::<P>::with_data((*counter).device, |dev| {
                P::attach_comp_cntr(dev, qp, data, ops)
            })
        })
    }
}
