// SPDX-License-Identifier: GPL-2.0

//! Methods that a driver adds to the verbs of the RDMA core.
//!
//! Their tables (which method of which object has which attributes) are C, since the core has
//! macros for them and nothing else; a handler is a safe function.
//!
//! C header: `include/rdma/uverbs_ioctl.h`

use crate::{
    bindings,
    device::Device,
    object::Object,
    provider::MemoryRegions,
    udata::Bundle,
    umem::{
        Access,
        Umem, //
    }, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};
use zerocopy::Immutable;

/// The table of a driver's methods, made by [`driver_methods!`](crate::driver_methods!).
#[derive(Clone, Copy)]
pub struct DriverMethods(*const bindings::uapi_definition);

impl DriverMethods {
    /// Takes a table.
    ///
    /// # Safety
    ///
    /// `table` points to an array of `struct uapi_definition` that lives forever and ends with an
    /// empty one, and each handler in it was made by a macro of this module for the driver whose
    /// [`Operations`](crate::provider::Operations) this is added to.
    #[doc(hidden)]
    pub const unsafe fn from_raw(table: *const RawDefinition) -> Self {
        Self(table.cast())
    }

    pub(crate) const fn as_raw(self) -> *const bindings::uapi_definition {
        self.0
    }
}

/// An element of the table.
#[doc(hidden)]
#[repr(transparent)]
pub struct RawDefinition(bindings::uapi_definition);

/// What a handler is called with.
#[doc(hidden)]
#[repr(transparent)]
pub struct RawBundle(bindings::uverbs_attr_bundle);

/// A call of a driver's method.
///
/// # Invariants
///
/// `attrs` is the bundle of a call that runs during `'a`, in the context of the process that made
/// it.
pub struct MethodCall<'a> {
    attrs: *const bindings::uverbs_attr_bundle,
    _call: PhantomData<&'a ()>,
}

impl MethodCall<'_> {
    /// Wraps the attributes of a call.
    ///
    /// # Safety
    ///
    /// The invariants of the type hold for `attrs` and `'a`.
    pub(crate) unsafe fn new(attrs: *const bindings::uverbs_attr_bundle) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            attrs,
            _call: PhantomData,
        }
    }

    /// Pins the memory that an attribute describes (`struct ib_uverbs_buffer_desc`); `None` where
    /// the call does not have the attribute.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: the description makes no sense, or the memory has less than `min_len` bytes.
    /// - What pinning fails with, see [`UserMemory::pin`](crate::umem::UserMemory::pin).
    pub fn pin_memory(&self, attribute: u16, min_len: u64, access: Access) -> Result<Option<Umem>> {
        let min_len = min_len.try_into()?;
        // SAFETY: By the type invariants the bundle is valid; a call on an object has a context,
        // whose device is registered.
        let umem = unsafe {
            let header = self.attrs.cast::<Bundle>();
            let ucontext = NonNull::new((*header).context).ok_or(EINVAL)?;
            bindings::ib_umem_get_attr(
                ucontext.as_ref().device,
                self.attrs,
                attribute,
                min_len,
                // CAST: The flags are few, and the core itself has them signed.
                access.as_raw() as c_int,
            )
        };
        // SAFETY: The result is ours.
        unsafe { Umem::from_raw(umem) }
    }

    /// Writes an attribute of the answer.
    ///
    /// # Errors
    ///
    /// - `EFAULT`: the caller's memory cannot be written.
    /// - `EINVAL`: the caller has less room.
    /// - `ENOENT`: the caller does not want this attribute.
    pub fn reply<T: IntoBytes + Immutable>(&self, attribute: u16, value: &T) -> Result {
        let bytes = value.as_bytes();
        // SAFETY: By the type invariants the bundle is valid; `bytes` are readable.
        to_result(unsafe {
            bindings::uverbs_copy_to(
                self.attrs,
                attribute.into(),
                bytes.as_ptr().cast(),
                bytes.len(),
            )
        })
    }
}

/// Calls the handler of a method on memory regions.
///
/// # Safety
///
/// The core calls a method of a device of `P` with `bundle`, and the attribute `handle` is declared
/// as mandatory in its table and names a memory region to be read or written.
#[doc(hidden)]
pub unsafe fn call_mr_method<P: MemoryRegions>(
    bundle: *mut RawBundle,
    handle: u16,
    handler: fn(&P::Data<'_>, &P::Mr, &MethodCall<'_>) -> Result,
) -> c_int {
    let attrs: *mut bindings::uverbs_attr_bundle = bundle.cast();
    // SAFETY: By the safety requirements the bundle is valid.
    let mr = unsafe { bindings::rdma_shim_uverbs_attr_object(attrs, handle) };
    let mr: *mut bindings::ib_mr = match from_err_ptr(mr) {
        Ok(mr) => mr.cast(),
        Err(error) => return error.to_errno(),
    };
    // SAFETY: By the safety requirements it is the bundle of the running call.
    let call = unsafe { MethodCall::new(attrs) };
    // SAFETY: By the safety requirements `mr` is a memory region of `P`, which the core keeps from
    // being destroyed during the call; and its device is registered during a call.
    let result = unsafe {
        let data = Object::<bindings::ib_mr, P::Mr>::data(mr);
        Device::<P>::with_data((*mr).device, |dev| handler(dev, data, &call))
    };
    match result {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}

/// Declares the table of a driver's methods, which a C file of the driver defines under a name.
///
/// That file must give methods no handlers but those made by this crate's macros.
///
/// # Examples
///
/// ```ignore
/// rdma::driver_methods!(const METHODS = "my_uapi_defs");
/// ```
#[macro_export]
macro_rules! driver_methods {
    ($vis:vis const $name:ident = $symbol:literal) => {
        $vis const $name: $crate::uverbs::DriverMethods = {
            extern "C" {
                #[link_name = $symbol]
                static TABLE: $crate::uverbs::RawDefinition;
            }
            // SAFETY: By the contract of the macro.
            unsafe { $crate::uverbs::DriverMethods::from_raw(&raw const TABLE) }
        };
    };
}

/// Makes a safe function the handler of a method on memory regions, under the name that the
/// driver's table has for it. `handle` is the attribute that names the memory region.
///
/// # Examples
///
/// ```ignore
/// rdma::mr_method!("my_handler_QUERY", MyProvider, handle: 4096, query);
/// ```
#[macro_export]
macro_rules! mr_method {
    ($symbol:literal, $provider:ty, handle: $handle:expr, $handler:path) => {
        const _: () = {
            #[export_name = $symbol]
            unsafe extern "C" fn method(
                bundle: *mut $crate::uverbs::RawBundle,
            ) -> ::kernel::ffi::c_int {
                // SAFETY: Only the core calls this, by the driver's table.
                unsafe { $crate::uverbs::call_mr_method::<$provider>(bundle, $handle, $handler) }
            }
        };
    };
}
