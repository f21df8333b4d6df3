// SPDX-License-Identifier: GPL-2.0

//! Callbacks of queue pairs.

use super::{
    arguments::{
        Call,
        Kind, //
    },
    cq::Cq,
    errno,
    Callbacks,
    Mapped,
    Operations,
    Pd, //
};
use crate::{
    bindings,
    provider::QueuePairs,
    qp::{
        InitAttr,
        NewQp,
        QpAttrs,
        QpChange, //
    }, //
};
use kernel::prelude::*;

pub(super) type Qp<P> = Kind<P, bindings::ib_qp, Mapped<<P as QueuePairs>::Qp>>;

impl<P: QueuePairs> Operations<P> {
    /// Adds queue pairs.
    pub const fn with_queue_pairs(mut self) -> Self {
        self.raw.create_qp = Some(Callbacks::<P>::create_qp);
        self.raw.modify_qp = Some(Callbacks::<P>::modify_qp);
        self.raw.query_qp = Some(Callbacks::<P>::query_qp);
        self.raw.destroy_qp = Some(Callbacks::<P>::destroy_qp);
        self.raw.size_ib_qp = Qp::<P>::SIZE;
        self.with_user_mmap()
    }
}

impl<P: QueuePairs> Callbacks<P> {
    unsafe extern "C" fn create_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY:
        // - The core allocated `qp` for this call by the size given, and set its PD, null for a
        //   type that needs none.
        // - `attr` is valid, and has null where there is no CQ.
        // - What is not null was created, and is not destroyed while the call uses it.
        // - `udata` is null or that of the call.
        let (mut qp, pd, attr, send_cq, recv_cq, call) = unsafe {
            (
                Qp::<P>::creating(qp),
                Pd::<P>::in_use_unless_null((*qp).pd),
                &*attr,
                Cq::<P>::in_use_unless_null((*attr).send_cq),
                Cq::<P>::in_use_unless_null((*attr).recv_cq),
                Call::<P>::new(udata),
            )
        };
        errno(call.and_then(|call| {
            let context = call.context()?;
            let pd = pd.ok_or(EOPNOTSUPP)?;
            let init = InitAttr::from_raw(attr);
            let mut new = NewQp::<P> {
                qp_type: init.qp_type,
                cap: init.cap,
                has_shared_receives: init.has_shared_receives,
                create_flags: init.create_flags,
                ucontext: context.data(),
                pd: pd.data(),
                send_cq: send_cq.map(|cq| &cq.data().mapped.data),
                recv_cq: recv_cq.map(|cq| &cq.data().mapped.data),
                mappings: call.mappings()?,
                udata: call.into_udata(),
            };
            let data = qp.device().with(|dev| P::create_qp(dev, &mut new))?;
            // The core reads it next.
            qp.core().qp_num = P::qp_number(&data);
            qp.fill(Mapped::new(data, new.mappings));
            Ok(())
        }))
    }

    unsafe extern "C" fn modify_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_attr,
        mask: c_int,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // CAST: The core has the mask signed.
        let attrs = QpAttrs::from_raw(mask as bindings::ib_qp_attr_mask);
        // SAFETY: `qp` was created, and is not destroyed during this call. `attr` is valid, and
        // `udata` null or that of the call.
        let (qp, attr, call) = unsafe { (Qp::<P>::in_use(qp), &*attr, Call::<P>::new(udata)) };
        errno(call.and_then(|call| {
            let change = QpChange::from_raw(attr, attrs).ok_or(EINVAL)?;
            qp.device()
                .with(|dev| P::modify_qp(dev, &qp.data().data, &change, call.udata()))
        }))
    }

    unsafe extern "C" fn query_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_attr,
        mask: c_int,
        init_attr: *mut bindings::ib_qp_init_attr,
    ) -> c_int {
        // CAST: The core has the mask signed.
        let wanted = QpAttrs::from_raw(mask as bindings::ib_qp_attr_mask);
        // SAFETY: `qp` was created, and is not destroyed during this call.
        let used = unsafe { Qp::<P>::in_use(qp) };
        let queried = used
            .device()
            .with(|dev| P::query_qp(dev, &used.data().data, wanted));
        errno(queried.map(|status| {
            // SAFETY: Both are valid and ours, by the core's promises, which need not have
            // initialised them; all zeroes is a value of these structures of plain data. `qp` is
            // valid.
            unsafe {
                attr.write_bytes(0, 1);
                status.store(&mut *attr);
                init_attr.write_bytes(0, 1);
                (*init_attr).qp_type = (*qp).qp_type;
                (*init_attr).send_cq = (*qp).send_cq;
                (*init_attr).recv_cq = (*qp).recv_cq;
                (*init_attr).qp_context = (*qp).qp_context;
                status.cap.store(&mut (*init_attr).cap);
            }
        }))
    }

    unsafe extern "C" fn destroy_qp(
        qp: *mut bindings::ib_qp,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `qp` was created, and this callback destroys it, which succeeds once its private
        // part was taken; `udata` is what the core destroys it with.
        errno(unsafe {
            Qp::<P>::ending(qp).end_by(
                udata,
                |dev, Mapped { data, mappings }| {
                    // First, so that the driver knows what may still be reached.
                    mappings.clear();
                    P::destroy_qp(dev, data)
                },
                |dev, Mapped { data, mappings }| {
                    drop(mappings);
                    P::end_qp(dev, data);
                },
            )
        })
    }
}
