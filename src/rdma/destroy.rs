// SPDX-License-Identifier: GPL-2.0

//! Why an object is destroyed, and so what a failure does.

use crate::{
    bindings,
    udata::{
        self,
        Bundle, //
    }, //
};

/// Why an object is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A process asks for it. After an error it still has the object, and may ask again.
    Request,
    /// The object has to go: its process ends or closes the device, the device goes away, or
    /// creating the object failed late. Nobody could do anything about an error; the core would
    /// warn and leak the object.
    Cleanup,
}

impl Reason {
    /// Finds out from the private part of a call that destroys an object.
    ///
    /// # Safety
    ///
    /// `udata` is null, or the `driver_udata` member of a `struct uverbs_attr_bundle`.
    pub(crate) unsafe fn of_call(udata: *mut bindings::ib_udata) -> Self {
        if udata.is_null() {
            return Self::Cleanup;
        }
        // SAFETY: By the safety requirements this is the structure around `udata`.
        Self::of_bundle(unsafe { &*udata::bundle(udata) })
    }

    fn of_bundle(bundle: &Bundle) -> Self {
        let is_system_call = !bundle.method_elm.is_null() || bundle.ucore.inlen != 0;
        // No method that destroys an object has a private part; each that creates one has.
        let is_creation = !bundle.uobject.is_null()
            || bundle.driver_udata.inlen != 0
            || bundle.driver_udata.outlen != 0;
        if is_system_call && !is_creation {
            Self::Request
        } else {
            Self::Cleanup
        }
    }
}

#[kernel::macros::kunit_tests(rdma_destroy)]
mod tests {
    use super::*;
    use core::ptr;

    fn of(change: impl FnOnce(&mut Bundle)) -> Reason {
        let mut bundle = Bundle::default();
        change(&mut bundle);
        // SAFETY: It is a member of a bundle, of which only the header is looked at.
        unsafe { Reason::of_call(&raw mut bundle.driver_udata) }
    }

    #[test]
    fn a_bundle_of_the_cores_own_is_cleanup() {
        assert_eq!(of(|_| ()), Reason::Cleanup);
        // SAFETY: Null is allowed.
        assert_eq!(unsafe { Reason::of_call(ptr::null_mut()) }, Reason::Cleanup);
    }

    #[test]
    fn ioctl_and_write_are_requests() {
        let ioctl = of(|bundle| bundle.method_elm = ptr::dangling());
        let write = of(|bundle| bundle.ucore.inlen = 8);
        assert_eq!((ioctl, write), (Reason::Request, Reason::Request));
    }

    #[test]
    fn a_call_that_creates_and_fails_late_is_cleanup() {
        let ioctl = of(|bundle| {
            bundle.method_elm = ptr::dangling();
            bundle.driver_udata.inlen = 8;
        });
        let write = of(|bundle| {
            bundle.ucore.inlen = 8;
            bundle.uobject = ptr::dangling_mut();
        });
        assert_eq!((ioctl, write), (Reason::Cleanup, Reason::Cleanup));
    }
}
