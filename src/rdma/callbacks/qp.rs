// SPDX-License-Identifier: GPL-2.0

//! Callbacks of queue pairs.

use super::{
    cq,
    errno,
    user_call,
    user_context,
    Callbacks,
    Mapped,
    Operations,
    PdObject,
    UContextObject, //
};
use crate::{
    bindings,
    destroy::Reason,
    device::Device,
    mmap::Mappings,
    object::Object,
    provider::QueuePairs,
    qp::{
        InitAttr,
        NewQp,
        QpAttrs,
        QpChange, //
    }, //
};
use kernel::prelude::*;

pub(super) type QpObject<P> = Object<bindings::ib_qp, Mapped<<P as QueuePairs>::Qp>>;

impl<P: QueuePairs> Operations<P> {
    /// Adds queue pairs.
    pub const fn with_queue_pairs(mut self) -> Self {
        self.raw.create_qp = Some(Callbacks::<P>::create_qp);
        self.raw.modify_qp = Some(Callbacks::<P>::modify_qp);
        self.raw.query_qp = Some(Callbacks::<P>::query_qp);
        self.raw.destroy_qp = Some(Callbacks::<P>::destroy_qp);
        self.raw.size_ib_qp = QpObject::<P>::SIZE;
        self.with_user_mmap()
    }
}

impl<P: QueuePairs> Callbacks<P> {
    unsafe extern "C" fn create_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: These are the arguments of the callback.
        errno(unsafe { Self::try_create_qp(qp, attr, udata) })
    }

    /// # Safety
    ///
    /// As the callback.
    unsafe fn try_create_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_init_attr,
        raw_udata: *mut bindings::ib_udata,
    ) -> Result {
        // SAFETY: It is null or that of the running call, by the core's promises.
        let udata = unsafe { user_call(raw_udata) }?;
        // SAFETY: It is that of the running call.
        let ucontext = unsafe { user_context(raw_udata) }?;
        // SAFETY: `attr` is valid, by the core's promises.
        let attr = unsafe { &*attr };
        let init = InitAttr::from_raw(attr);
        // SAFETY: `qp` is valid, and the core set its device and PD before this call; the PD is
        // null for a type that needs none.
        let (ibdev, pd) = unsafe { ((*qp).device, (*qp).pd) };
        if pd.is_null() {
            return Err(EOPNOTSUPP);
        }
        // SAFETY: A CQ that is not null was created, and neither it nor the user context and the
        // PD are destroyed while the call uses them. The user context is that of the call, and
        // `with_queue_pairs` added the operations of mappings.
        let mut new = unsafe {
            let cq = |cq: *mut bindings::ib_cq| (!cq.is_null()).then(|| cq::data::<P>(cq));
            NewQp::<P> {
                qp_type: init.qp_type,
                cap: init.cap,
                has_shared_receives: init.has_shared_receives,
                create_flags: init.create_flags,
                ucontext: UContextObject::<P>::data(ucontext.as_ptr()),
                pd: PdObject::<P>::data(pd),
                send_cq: cq(attr.send_cq),
                recv_cq: cq(attr.recv_cq),
                udata,
                mappings: Mappings::new(ucontext),
            }
        };

        // SAFETY: This is a callback of `ibdev`.
        let created = unsafe { Device::<P>::with_data(ibdev, |dev| P::create_qp(dev, &mut new)) };
        let (number, data) = created?;

        // SAFETY: The core allocated `qp` for this call by the size given, and reads `qp_num` next.
        unsafe {
            (*qp).qp_num = number;
            QpObject::<P>::fill(
                qp,
                Mapped {
                    data,
                    mappings: new.mappings.into_owned(),
                },
            );
        }
        Ok(())
    }

    unsafe extern "C" fn modify_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_attr,
        mask: c_int,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // CAST: The core has the mask signed.
        let attrs = QpAttrs::from_raw(mask as bindings::ib_qp_attr_mask);
        // SAFETY: `attr` is valid, by the core's promises.
        let Some(change) = QpChange::from_raw(unsafe { &*attr }, attrs) else {
            return EINVAL.to_errno();
        };
        // SAFETY: `qp` was created, and is not destroyed during this call.
        let data = unsafe { &QpObject::<P>::data(qp).data };
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        errno(unsafe { user_call(udata) }.and_then(|udata| {
            // SAFETY: This is a callback of the device, which was set when `qp` was created.
            unsafe {
                Device::<P>::with_data((*qp).device, |dev| P::modify_qp(dev, data, &change, &udata))
            }
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
        let data = unsafe { &QpObject::<P>::data(qp).data };
        // SAFETY: This is a callback of the device, which was set when `qp` was created.
        let queried =
            unsafe { Device::<P>::with_data((*qp).device, |dev| P::query_qp(dev, data, wanted)) };
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
        // SAFETY: `qp` is valid, and its device and its user object were set when it was created.
        let (ibdev, uobject) = unsafe { ((*qp).device, (*qp).uobject) };
        // CAST: The core allocates each kind of user object by size, as an `ib_uobject` and more.
        // SAFETY: `udata` is null or that of the running call, and `uobject` what the core
        // destroys `qp` with, by the core's promises.
        let reason = unsafe { Reason::new(udata, uobject.cast()) };
        if reason == Reason::Request {
            // SAFETY: `qp` was created, and nobody else destroys it.
            let Mapped { data, mappings } = unsafe { QpObject::<P>::data(qp) };
            // First, so that the driver knows what may still be reached.
            mappings.clear();
            // SAFETY: This is a callback of `ibdev`.
            match unsafe { Device::<P>::with_data(ibdev, |dev| P::destroy_qp(dev, data)) } {
                Ok(()) => {
                    // SAFETY: `qp` was created, and this succeeds from here on.
                    drop(unsafe { QpObject::<P>::take(qp) });
                    return 0;
                }
                Err(error) if error != ENODEV => return error.to_errno(),
                Err(_) => {}
            }
        }
        // SAFETY: `qp` was created, and this succeeds from here on.
        let Mapped { data, mappings } = unsafe { QpObject::<P>::take(qp) };
        drop(mappings);
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::end_qp(dev, data)) };
        0
    }
}
