// SPDX-License-Identifier: GPL-2.0

//! Callbacks of the device as a whole.

use super::{
    arguments::Called,
    errno,
    Callbacks, //
};
use crate::{
    bindings,
    provider::Provider,
    udata::Udata, //
};
use kernel::{
    prelude::*,
    str::NullTerminatedFormatter, //
};

impl<P: Provider> Callbacks<P> {
    pub(super) unsafe extern "C" fn query_device(
        ibdev: *mut bindings::ib_device,
        attr: *mut bindings::ib_device_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: This is a callback of `ibdev`; `attr` is valid and ours, and `udata` null or
        // that of the running call, by the core's promises.
        let (device, out, udata) =
            unsafe { (Called::<P>::new(ibdev), &mut *attr, Udata::from_raw(udata)) };
        errno(device.with(|dev| P::query_device(dev, udata.as_ref()).map(|attr| attr.store(out))))
    }

    pub(super) unsafe extern "C" fn get_dev_fw_str(
        ibdev: *mut bindings::ib_device,
        out: *mut c_char,
    ) {
        // SAFETY: This is a callback of `ibdev`, and by its contract with drivers the core gives a
        // buffer of this size.
        let (device, buffer) = unsafe {
            (
                Called::<P>::new(ibdev),
                core::slice::from_raw_parts_mut(
                    out.cast::<u8>(),
                    bindings::IB_FW_VERSION_NAME_MAX as usize,
                ),
            )
        };
        let Some(mut text) = NullTerminatedFormatter::new(buffer) else {
            return;
        };
        // A version that does not fit is cut.
        let _ = device.with(|dev| P::write_firmware_version(dev, &mut text));
    }
}
