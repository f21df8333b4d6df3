// SPDX-License-Identifier: GPL-2.0

//! Callbacks of address handles.

use super::{
    errno,
    user_call,
    AhObject,
    Callbacks,
    PdObject, //
};
use crate::{
    attr::AhAttr,
    bindings,
    device::Device,
    provider::Provider, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn create_user_ah(
        ah: *mut bindings::ib_ah,
        init_attr: *mut bindings::rdma_ah_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `ah` is valid, and the core set its device and PD before this call.
        let (ibdev, pd) = unsafe { ((*ah).device, (*ah).pd) };
        // SAFETY: `init_attr` and the attributes it points to are valid, by the core's promises.
        let attr = unsafe { AhAttr::from_raw(&*(*init_attr).ah_attr, (*init_attr).flags) };
        // SAFETY: `pd` was created, and is not destroyed while an object is made from it.
        let pd = unsafe { PdObject::<P>::data(pd) };
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        let created = unsafe { user_call(udata) }.and_then(|udata| {
            // SAFETY: This is a callback of `ibdev`.
            unsafe { Device::<P>::with_data(ibdev, |dev| P::create_ah(dev, pd, &attr, &udata)) }
        });
        // SAFETY: The core allocated `ah` for this call by the size in `BASE`.
        errno(created.map(|data| unsafe { AhObject::<P>::fill(ah, data) }))
    }

    pub(super) unsafe extern "C" fn destroy_ah(ah: *mut bindings::ib_ah, flags: u32) -> c_int {
        if flags & bindings::rdma_destroy_ah_flags_RDMA_DESTROY_AH_SLEEPABLE == 0 {
            return EOPNOTSUPP.to_errno();
        }
        // SAFETY: `ah` is valid, and its device and PD were set when it was created.
        let (ibdev, pd) = unsafe { ((*ah).device, (*ah).pd) };
        // SAFETY: `pd` was created, and is not destroyed while an object is made from it.
        let pd = unsafe { PdObject::<P>::data(pd) };
        // SAFETY: `ah` was created, this is its last callback, and it cannot fail from here on.
        let data = unsafe { AhObject::<P>::take(ah) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::destroy_ah(dev, pd, data)) };
        0
    }
}
