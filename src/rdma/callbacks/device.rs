// SPDX-License-Identifier: GPL-2.0

//! Callbacks of the device as a whole.

use super::{
    errno,
    Callbacks, //
};
use crate::{
    bindings,
    device::Device,
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
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        let udata = unsafe { Udata::from_raw(udata) };
        // SAFETY: `attr` is valid and ours, by the core's promises.
        let out = unsafe { &mut *attr };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_device(dev, udata.as_ref()).map(|attr| attr.store(out))
            })
        })
    }

    pub(super) unsafe extern "C" fn get_dev_fw_str(
        ibdev: *mut bindings::ib_device,
        out: *mut c_char,
    ) {
        // SAFETY: By its contract with drivers the core gives a buffer of this size.
        let buffer = unsafe {
            core::slice::from_raw_parts_mut(
                out.cast::<u8>(),
                bindings::IB_FW_VERSION_NAME_MAX as usize,
            )
        };
        let Some(mut text) = NullTerminatedFormatter::new(buffer) else {
            return;
        };
        // A version that does not fit is cut.
        // SAFETY: This is a callback of `ibdev`.
        let _ = unsafe {
            Device::<P>::with_data(ibdev, |dev| P::write_firmware_version(dev, &mut text))
        };
    }
}
