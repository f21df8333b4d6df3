// SPDX-License-Identifier: GPL-2.0

//! Callbacks of address handles.

use super::{
    arguments::Call,
    errno,
    Ah,
    Callbacks,
    Pd, //
};
use crate::{
    attr::AhAttr,
    bindings,
    provider::Provider, //
};
use kernel::prelude::*;

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn create_user_ah(
        ah: *mut bindings::ib_ah,
        init_attr: *mut bindings::rdma_ah_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY:
        // - The core allocated `ah` for this call by the size in `BASE`, and set its PD, which was
        //   created and is not destroyed while an object is made from it.
        // - `init_attr` and the attributes it points to are valid.
        // - `udata` is null or that of the call.
        let (ah, pd, attr, call) = unsafe {
            (
                Ah::<P>::creating(ah),
                Pd::<P>::in_use((*ah).pd),
                AhAttr::from_raw(&*(*init_attr).ah_attr, (*init_attr).flags),
                Call::new(udata),
            )
        };
        errno(ah.create(call, |dev, udata| {
            P::create_ah(dev, pd.data(), &attr, udata)
        }))
    }

    pub(super) unsafe extern "C" fn destroy_ah(ah: *mut bindings::ib_ah, flags: u32) -> c_int {
        if flags & bindings::rdma_destroy_ah_flags_RDMA_DESTROY_AH_SLEEPABLE == 0 {
            return EOPNOTSUPP.to_errno();
        }
        // SAFETY: `ah` was created, this is its last callback, and it cannot fail from here on. Its PD
        // is not destroyed while an object is made from it.
        let (ah, pd) = unsafe { (Ah::<P>::ending(ah), Pd::<P>::in_use((*ah).pd)) };
        ah.end(|dev, ah| P::destroy_ah(dev, pd.data(), ah));
        0
    }
}
