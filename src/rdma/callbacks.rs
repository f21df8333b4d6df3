// SPDX-License-Identifier: GPL-2.0

//! The operations of a device as the RDMA core calls them.
//!
//! Each callback turns its raw pointers into references, once, and calls the [`Provider`]. The
//! core's promises that they rest on:
//!
//! - The device is one made by [`Device`], and callbacks run only while it is registered.
//! - An object is given to its creating callback first and to its destroying callback last, both
//!   exclusively. While it is given to others, or objects made from it live, it is not destroyed.
//! - Out parameters are valid and for the callback alone.

#![expect(
    clippy::missing_safety_doc,
    reason = "all callbacks rest on the promises above"
)]

use crate::{
    attr::AhAttr,
    bindings,
    device::Device,
    object::Object,
    provider::Provider,
    stats,
    udata::Udata, //
};
use core::marker::PhantomData;
use kernel::{
    module::this_module,
    prelude::*,
    str::NullTerminatedFormatter, //
};

type UContextObject<P> = Object<bindings::ib_ucontext, <P as Provider>::UContext>;
type PdObject<P> = Object<bindings::ib_pd, <P as Provider>::Pd>;
type AhObject<P> = Object<bindings::ib_ah, <P as Provider>::Ah>;

/// The callbacks of the provider `P`.
pub(crate) struct Callbacks<P: Provider>(PhantomData<P>);

fn errno(result: Result) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}

/// The private part of a call that user space must have made.
///
/// # Safety
///
/// As [`Udata::from_raw`].
unsafe fn user_call<'a>(udata: *mut bindings::ib_udata) -> Result<Udata<'a>> {
    // SAFETY: By the safety requirements of this function.
    unsafe { Udata::from_raw(udata) }.ok_or(EOPNOTSUPP)
}

impl<P: Provider> Callbacks<P> {
    pub(crate) const OPS: bindings::ib_device_ops = bindings::ib_device_ops {
        owner: this_module::<P::Module>().as_ptr(),
        driver_id: P::DRIVER_ID.0,
        uverbs_abi_ver: P::UVERBS_ABI_VERSION,
        // Bit 0 is `uverbs_no_driver_id_binding`, bit 1 `uverbs_robust_udata`.
        _bitfield_1: bindings::__BindgenBitfieldUnit::new([(P::ROBUST_UDATA as u8) << 1]),

        alloc_hw_device_stats: Some(Self::alloc_hw_device_stats),
        alloc_pd: Some(Self::alloc_pd),
        alloc_ucontext: Some(Self::alloc_ucontext),
        create_user_ah: Some(Self::create_user_ah),
        dealloc_pd: Some(Self::dealloc_pd),
        dealloc_ucontext: Some(Self::dealloc_ucontext),
        destroy_ah: Some(Self::destroy_ah),
        disassociate_ucontext: Some(Self::disassociate_ucontext),
        get_dev_fw_str: Some(Self::get_dev_fw_str),
        get_hw_stats: Some(Self::get_hw_stats),
        get_link_layer: Some(Self::get_link_layer),
        get_port_immutable: Some(Self::get_port_immutable),
        query_device: Some(Self::query_device),
        query_gid: Some(Self::query_gid),
        query_pkey: Some(Self::query_pkey),
        query_port: Some(Self::query_port),
        query_port_speed: Some(Self::query_port_speed),

        size_ib_ah: AhObject::<P>::SIZE,
        size_ib_pd: PdObject::<P>::SIZE,
        size_ib_ucontext: UContextObject::<P>::SIZE,

        ..pin_init::zeroed()
    };

    unsafe extern "C" fn query_device(
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

    unsafe extern "C" fn get_dev_fw_str(ibdev: *mut bindings::ib_device, out: *mut c_char) {
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

    unsafe extern "C" fn query_port(
        ibdev: *mut bindings::ib_device,
        port: u32,
        attr: *mut bindings::ib_port_attr,
    ) -> c_int {
        // SAFETY: `attr` is valid and ours, by the core's promises.
        let out = unsafe { &mut *attr };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_port(dev, port).map(|attr| attr.store(out))
            })
        })
    }

    unsafe extern "C" fn query_port_speed(
        ibdev: *mut bindings::ib_device,
        port: u32,
        speed: *mut u64,
    ) -> c_int {
        // SAFETY: `speed` is valid and ours, by the core's promises.
        let out = unsafe { &mut *speed };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_port_speed(dev, port).map(|speed| *out = speed)
            })
        })
    }

    unsafe extern "C" fn get_port_immutable(
        ibdev: *mut bindings::ib_device,
        port: u32,
        immutable: *mut bindings::ib_port_immutable,
    ) -> c_int {
        // SAFETY: `immutable` is valid and ours, by the core's promises.
        let out = unsafe { &mut *immutable };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::port_immutable(dev, port).map(|port| port.store(out))
            })
        })
    }

    unsafe extern "C" fn get_link_layer(
        ibdev: *mut bindings::ib_device,
        port: u32,
    ) -> bindings::rdma_link_layer {
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::link_layer(dev, port).as_raw()) }
    }

    unsafe extern "C" fn query_gid(
        ibdev: *mut bindings::ib_device,
        port: u32,
        index: c_int,
        gid: *mut bindings::ib_gid,
    ) -> c_int {
        let Ok(index) = index.try_into() else {
            return EINVAL.to_errno();
        };
        // SAFETY: `gid` is valid and ours, by the core's promises.
        let out = unsafe { &mut *gid };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_gid(dev, port, index)
                    .map(|gid| out.raw = core::mem::ManuallyDrop::new(gid.0))
            })
        })
    }

    unsafe extern "C" fn query_pkey(
        ibdev: *mut bindings::ib_device,
        port: u32,
        index: u16,
        pkey: *mut u16,
    ) -> c_int {
        // SAFETY: `pkey` is valid and ours, by the core's promises.
        let out = unsafe { &mut *pkey };
        // SAFETY: This is a callback of `ibdev`.
        errno(unsafe {
            Device::<P>::with_data(ibdev, |dev| {
                P::query_pkey(dev, port, index).map(|pkey| *out = pkey)
            })
        })
    }

    unsafe extern "C" fn alloc_ucontext(
        ucontext: *mut bindings::ib_ucontext,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `ucontext` is valid, and the core set its device before this call.
        let ibdev = unsafe { (*ucontext).device };
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        let created = unsafe { user_call(udata) }.and_then(|udata| {
            // SAFETY: This is a callback of `ibdev`.
            unsafe { Device::<P>::with_data(ibdev, |dev| P::alloc_ucontext(dev, &udata)) }
        });
        // SAFETY: The core allocated `ucontext` for this call by the size in `OPS`.
        errno(created.map(|data| unsafe { UContextObject::<P>::fill(ucontext, data) }))
    }

    unsafe extern "C" fn dealloc_ucontext(ucontext: *mut bindings::ib_ucontext) {
        // SAFETY: `ucontext` is valid, and its device was set when it was created.
        let ibdev = unsafe { (*ucontext).device };
        // SAFETY: `ucontext` was created, this is its last callback, and it cannot fail.
        let data = unsafe { UContextObject::<P>::take(ucontext) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::dealloc_ucontext(dev, data)) };
    }

    /// Its presence lets a device be unregistered while processes hold contexts open. The core
    /// has already revoked their mappings, and destroys their objects next.
    unsafe extern "C" fn disassociate_ucontext(_ucontext: *mut bindings::ib_ucontext) {}

    unsafe extern "C" fn alloc_pd(
        pd: *mut bindings::ib_pd,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `pd` is valid, and the core set its device before this call.
        let ibdev = unsafe { (*pd).device };
        // SAFETY: `udata` is null or that of the running call, by the core's promises.
        let created = unsafe { user_call(udata) }.and_then(|udata| {
            // SAFETY: This is a callback of `ibdev`.
            unsafe { Device::<P>::with_data(ibdev, |dev| P::alloc_pd(dev, &udata)) }
        });
        // SAFETY: The core allocated `pd` for this call by the size in `OPS`.
        errno(created.map(|data| unsafe { PdObject::<P>::fill(pd, data) }))
    }

    unsafe extern "C" fn dealloc_pd(
        pd: *mut bindings::ib_pd,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: `pd` is valid, and its device was set when it was created.
        let ibdev = unsafe { (*pd).device };
        // SAFETY: `pd` was created, this is its last callback, and it cannot fail.
        let data = unsafe { PdObject::<P>::take(pd) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::dealloc_pd(dev, data)) };
        0
    }

    unsafe extern "C" fn create_user_ah(
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
        // SAFETY: The core allocated `ah` for this call by the size in `OPS`.
        errno(created.map(|data| unsafe { AhObject::<P>::fill(ah, data) }))
    }

    unsafe extern "C" fn destroy_ah(ah: *mut bindings::ib_ah, flags: u32) -> c_int {
        if flags & bindings::rdma_destroy_ah_flags_RDMA_DESTROY_AH_SLEEPABLE == 0 {
            return EOPNOTSUPP.to_errno();
        }
        // SAFETY: `ah` is valid, and its device was set when it was created.
        let ibdev = unsafe { (*ah).device };
        // SAFETY: `ah` was created, this is its last callback, and it cannot fail from here on.
        let data = unsafe { AhObject::<P>::take(ah) };
        // SAFETY: This is a callback of `ibdev`.
        unsafe { Device::<P>::with_data(ibdev, |dev| P::destroy_ah(dev, data)) };
        0
    }

    unsafe extern "C" fn alloc_hw_device_stats(
        _ibdev: *mut bindings::ib_device,
    ) -> *mut bindings::rdma_hw_stats {
        stats::alloc(P::DEVICE_COUNTERS)
    }

    unsafe extern "C" fn get_hw_stats(
        ibdev: *mut bindings::ib_device,
        stats: *mut bindings::rdma_hw_stats,
        port: u32,
        _index: c_int,
    ) -> c_int {
        // Port 0 is the device as a whole; no record was made for any other.
        if port != 0 {
            return EOPNOTSUPP.to_errno();
        }
        // SAFETY: `stats` was made by `alloc_hw_device_stats`, and the core lets one caller at a
        // time update it.
        let values = unsafe { stats::values(stats) };
        // SAFETY: This is a callback of `ibdev`.
        match unsafe { Device::<P>::with_data(ibdev, |dev| P::read_device_counters(dev, values)) } {
            // SAFETY: `stats` is valid. The number of counters says that all were read.
            Ok(()) => unsafe { (*stats).num_counters },
            Err(error) => error.to_errno(),
        }
    }
}
