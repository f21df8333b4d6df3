// SPDX-License-Identifier: GPL-2.0

//! The driver's private part of a verbs call: a request from user space and room for a response.
//!
//! The rules are the RDMA core's (see `struct ib_udata` in `include/rdma/ib_verbs.h`): a shorter
//! request is padded with zeroes, a longer one must end in zeroes, a response is cut to the
//! caller's room, and room beyond it is filled with zeroes.

use crate::{
    bindings,
    wire::Wire, //
};
use core::{
    marker::PhantomData,
    mem::{
        offset_of,
        size_of, //
    },
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    error::to_result,
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    }, //
};

/// What a `struct uverbs_attr_bundle` begins with: all but the attributes.
pub(crate) type Bundle = bindings::uverbs_attr_bundle_hdr;

/// The bundle that a call's `udata` is part of.
///
/// # Safety
///
/// `udata` is the `driver_udata` member of a `struct uverbs_attr_bundle`.
pub(crate) unsafe fn bundle(udata: *mut bindings::ib_udata) -> *mut Bundle {
    // SAFETY: By the safety requirements the structure around `udata` begins there.
    unsafe { udata.byte_sub(offset_of!(Bundle, driver_udata)) }.cast()
}

/// The private request and response of one verbs call.
///
/// # Invariants
///
/// `raw` points to the `ib_udata` of a verbs call that runs in the context of the process that
/// made it, and stays valid for `'a`. It is the `driver_udata` member of a
/// `struct uverbs_attr_bundle`, as the RDMA core's helpers expect.
pub struct Udata<'a> {
    raw: *mut bindings::ib_udata,
    _call: PhantomData<&'a mut bindings::ib_udata>,
}

impl<'a> Udata<'a> {
    /// Wraps what a verbs callback was given; `None` where the call does not come from user space.
    ///
    /// # Safety
    ///
    /// `raw` is null, or fulfils the invariants of [`Udata`].
    pub(crate) unsafe fn from_raw(raw: *mut bindings::ib_udata) -> Option<Self> {
        // INVARIANT: By the safety requirements of this function.
        (!raw.is_null()).then_some(Self {
            raw,
            _call: PhantomData,
        })
    }

    /// Checks that there is no request, or only zeroes.
    ///
    /// # Errors
    ///
    /// - `EOPNOTSUPP`: the request says something, and the call has no request.
    /// - `EFAULT`: it cannot be read.
    #[inline]
    pub fn expect_no_request(&self) -> Result {
        if self.request_len() == 0 {
            return Ok(());
        }
        // SAFETY: `self.raw` is valid by the type invariants. No byte is copied, since the size
        // known to the kernel is 0; the function then only looks at the user's memory.
        to_result(unsafe { bindings::_ib_copy_validate_udata_in(self.raw, ptr::null_mut(), 0, 0) })
    }

    /// Reads the request, which must be at least `min_len` bytes long.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: the request is shorter than `min_len` bytes.
    /// - `EOPNOTSUPP`: it is longer than `T` and has non-zero bytes there.
    /// - `EFAULT`: it cannot be read.
    pub fn read_request<T: Wire>(&self, min_len: usize) -> Result<T> {
        let mut request = T::new_zeroed();
        // SAFETY:
        // - `self.raw` is valid by the type invariants.
        // - `request` has room for `size_of::<T>()` bytes, and any bytes are a valid `T`.
        to_result(unsafe {
            bindings::_ib_copy_validate_udata_in(
                self.raw,
                ptr::from_mut(&mut request).cast(),
                size_of::<T>(),
                min_len,
            )
        })?;
        Ok(request)
    }

    /// Reads the part of the request that fits `T`, whatever follows it.
    ///
    /// For calls that answer with what was understood of the request.
    ///
    /// # Errors
    ///
    /// `EFAULT`: the request cannot be read.
    pub fn read_known_request<T: Wire>(&self) -> Result<T> {
        let mut request = T::new_zeroed();
        let len = self.request_len().min(size_of::<T>());
        let from = UserPtr::from_ptr(self.request().inbuf.cast_mut());
        if let Some(known) = request.as_mut_bytes().get_mut(..len) {
            UserSlice::new(from, len).reader().read_slice(known)?;
        }
        Ok(request)
    }

    /// Writes the response.
    ///
    /// # Errors
    ///
    /// `EFAULT`: the caller's memory cannot be written.
    pub fn respond<T: Wire>(&self, response: &T) -> Result {
        // SAFETY:
        // - `self.raw` is valid by the type invariants.
        // - `response` is `size_of::<T>()` initialized bytes.
        to_result(unsafe {
            bindings::_ib_respond_udata(self.raw, ptr::from_ref(response).cast(), size_of::<T>())
        })
    }

    /// The user context that the call belongs to; `None` before there is one.
    pub(crate) fn context(&self) -> Option<NonNull<bindings::ib_ucontext>> {
        // SAFETY: By the type invariants `self.raw` is part of the bundle of a running call.
        NonNull::new(unsafe { (*bundle(self.raw)).context })
    }

    fn request(&self) -> &bindings::ib_udata {
        // SAFETY: `self.raw` is valid by the type invariants, and the core does not change it while
        // the call is in the driver.
        unsafe { &*self.raw }
    }

    /// The length of the request in bytes.
    pub fn request_len(&self) -> usize {
        self.request().inlen
    }
}
