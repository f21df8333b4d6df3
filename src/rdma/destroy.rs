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

    /// The same for an object whose creating call may have no private part, and so look like one
    /// that destroys it.
    ///
    /// # Safety
    ///
    /// As [`Self::of_call`]; and `uobject` is what user space knows the object as, which the core
    /// keeps others from using meanwhile.
    pub(crate) unsafe fn of_call_and_object(
        udata: *mut bindings::ib_udata,
        uobject: *mut bindings::ib_uobject,
    ) -> Self {
        // SAFETY: By the safety requirements the object is valid, and nobody else adds it to a
        // list or takes it out.
        let is_listed = unsafe { is_in_list(&raw const (*uobject).list) };
        // A context has an object in its list from when the creating call succeeded.
        if !is_listed {
            return Self::Cleanup;
        }
        // SAFETY: As required here.
        unsafe { Self::of_call(udata) }
    }

    fn of_bundle(bundle: &Bundle) -> Self {
        // The core does not set `ucore` and `uobject` for an ioctl.
        let is_ioctl = !bundle.method_elm.is_null();
        let is_system_call = is_ioctl || bundle.ucore.inlen != 0;
        // No method that destroys an object has a private part; each that creates one has.
        let is_creation = (!is_ioctl && !bundle.uobject.is_null())
            || bundle.driver_udata.inlen != 0
            || bundle.driver_udata.outlen != 0;
        if is_system_call && !is_creation {
            Self::Request
        } else {
            Self::Cleanup
        }
    }
}

/// Says whether a link of a list is in one.
///
/// # Safety
///
/// `link` is initialised, and stays in its list or out of all lists meanwhile.
unsafe fn is_in_list(link: *const bindings::list_head) -> bool {
    // SAFETY: By the safety requirements. Others may change the pointer, while they add and take
    // out neighbours, but not to the link itself.
    let next = unsafe { (&raw const (*link).next).read_volatile() };
    !core::ptr::eq(next, link)
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
    fn what_an_ioctl_leaves_unset_does_not_count() {
        let reason = of(|bundle| {
            bundle.method_elm = ptr::dangling();
            bundle.uobject = ptr::dangling_mut();
            bundle.ucore.inlen = usize::MAX;
        });
        assert_eq!(reason, Reason::Request);
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

    #[test]
    fn an_object_that_no_context_has_yet_is_cleanup() {
        for (is_listed, expected) in [(true, Reason::Request), (false, Reason::Cleanup)] {
            let mut bundle = Bundle {
                method_elm: ptr::dangling(),
                ..Default::default()
            };
            let mut object = bindings::ib_uobject::default();
            let mut head = bindings::list_head::default();
            let own = &raw mut object.list;
            object.list.next = if is_listed { &raw mut head } else { own };
            // SAFETY: Both are valid, and nobody else knows of them.
            let reason = unsafe {
                Reason::of_call_and_object(&raw mut bundle.driver_udata, &raw mut object)
            };
            assert_eq!(reason, expected);
        }
    }
}
