// SPDX-License-Identifier: GPL-2.0

//! Callbacks of completion counters.

use super::{
    arguments::{
        Call,
        Called,
        Kind, //
    },
    errno,
    qp::Qp,
    Callbacks,
    Operations, //
};
use crate::{
    bindings,
    provider::{
        CompCntrChange,
        CompCntrEntry,
        CompCntrMemory,
        CompCntrOps,
        CompletionCounters, //
    },
    uverbs::DescribedMemory, //
};
use kernel::prelude::*;

type CompCntr<P> = Kind<P, bindings::ib_comp_cntr, <P as CompletionCounters>::CompCntr>;

impl<P: CompletionCounters> Operations<P> {
    /// Adds completion counters.
    pub const fn with_completion_counters(mut self) -> Self {
        self.raw.query_comp_cntr_caps = Some(Callbacks::<P>::query_comp_cntr_caps);
        self.raw.create_comp_cntr = Some(Callbacks::<P>::create_comp_cntr);
        self.raw.destroy_comp_cntr = Some(Callbacks::<P>::destroy_comp_cntr);
        self.raw.modify_comp_cntr = Some(Callbacks::<P>::modify_comp_cntr);
        self.raw.qp_attach_comp_cntr = Some(Callbacks::<P>::qp_attach_comp_cntr);
        self.raw.size_ib_comp_cntr = CompCntr::<P>::SIZE;
        self.definitions = self.definitions.with_completion_counters::<P>();
        self
    }
}

impl<P: CompletionCounters> Callbacks<P> {
    unsafe extern "C" fn query_comp_cntr_caps(
        ibdev: *mut bindings::ib_device,
        caps: *mut bindings::ib_comp_cntr_caps,
        _attrs: *mut bindings::uverbs_attr_bundle,
    ) -> c_int {
        // SAFETY: This is a callback of `ibdev`, and `caps` is valid and ours.
        let (device, caps) = unsafe { (Called::<P>::new(ibdev), &mut *caps) };
        let known = device.with(P::query_comp_cntr_caps);
        caps.max_counters = known.max_counters;
        caps.max_value = known.max_value;
        caps.supported_qp_attach_ops = known.ops.as_raw();
        0
    }

    unsafe extern "C" fn create_comp_cntr(
        counter: *mut bindings::ib_comp_cntr,
        attrs: *mut bindings::uverbs_attr_bundle,
    ) -> c_int {
        // SAFETY: The core allocated `counter` for this call by the size given, and set its device.
        // `attrs` are those of the call, and have what `with_completion_counters` added.
        let (counter, call, memory) = unsafe {
            let described = |attribute| DescribedMemory::new(attrs, attribute, (*counter).device);
            (
                CompCntr::<P>::creating(counter),
                Call::<P>::of(attrs),
                CompCntrMemory {
                    completions: described(P::BUFFERS.completions),
                    errors: described(P::BUFFERS.errors),
                },
            )
        };
        errno(call.and_then(|call| {
            let context = call.context()?;
            let data = counter
                .device()
                .with(|dev| P::create_comp_cntr(dev, context.data(), &memory))?;
            counter.fill(data);
            Ok(())
        }))
    }

    unsafe extern "C" fn destroy_comp_cntr(counter: *mut bindings::ib_comp_cntr) -> c_int {
        // SAFETY: `counter` was created, this is its last callback, and it cannot fail.
        unsafe { CompCntr::<P>::ending(counter) }.end(P::end_comp_cntr);
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
        // SAFETY: `counter` was created, and is not destroyed during a call that uses it.
        let counter = unsafe { CompCntr::<P>::in_use(counter) };
        errno(
            counter
                .device()
                .with(|dev| P::modify_comp_cntr(dev, counter.data(), entry, change)),
        )
    }

    unsafe extern "C" fn qp_attach_comp_cntr(
        qp: *mut bindings::ib_qp,
        counter: *mut bindings::ib_comp_cntr,
        attr: *mut bindings::ib_qp_attach_comp_cntr_attr,
    ) -> c_int {
        // SAFETY: Both objects were created, and are not destroyed during a call that uses them.
        // `attr` is valid.
        let (qp, counter, ops) = unsafe {
            (
                Qp::<P>::in_use(qp),
                CompCntr::<P>::in_use(counter),
                CompCntrOps::from_raw((*attr).op_mask),
            )
        };
        errno(
            counter
                .device()
                .with(|dev| P::attach_comp_cntr(dev, &qp.data().data, counter.data(), ops)),
        )
    }
}
