// SPDX-License-Identifier: GPL-2.0

//! Why an object is destroyed, and so what a failure does.
//!
//! The core knows the reason (`enum rdma_remove_reason`), and does not tell drivers. What is looked
//! at instead is in its public headers, but the core promises nothing about it. The guest tests
//! `end.*` and `field.D6*` go through all ways in which the core ends an object, and fail on a
//! kernel that has changed it.

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
    /// Finds out from the private part of a call that destroys an object, and from the object.
    ///
    /// # Safety
    ///
    /// - `udata` is null, or the `driver_udata` member of a `struct uverbs_attr_bundle`.
    /// - `uobject` is null, or what user space knows the object as, which the core keeps others
    ///   from using meanwhile.
    pub(crate) unsafe fn new(
        udata: *mut bindings::ib_udata,
        uobject: *mut bindings::ib_uobject,
    ) -> Self {
        if udata.is_null() || uobject.is_null() {
            return Self::Cleanup;
        }
        // A context has an object in its list from when the creating call succeeded: an object that
        // the core aborts must not be in it (`uverbs_destroy_uobject()`, which warns otherwise).
        // What that call looks like differs from place to place in the core.
        // SAFETY: By the safety requirements the object is valid, and nobody else adds it to a
        // list or takes it out.
        if !unsafe { is_in_list(&raw const (*uobject).list) } {
            return Self::Cleanup;
        }
        // SAFETY: By the safety requirements this is the structure around `udata`.
        Self::of_bundle(unsafe { &*udata::bundle(udata) })
    }

    /// Finds out from the call whether a process makes it.
    ///
    /// A bundle of the core's own is empty but for the file and the context
    /// (`__uverbs_cleanup_ufile()`). One of a call has a method, where it is an ioctl, or else the
    /// request, which is at least as long as that of the command (`verify_hdr()`), and never empty
    /// for one that destroys.
    fn of_bundle(bundle: &Bundle) -> Self {
        // The core does not set `ucore` for an ioctl, unless that carries a write.
        let is_ioctl = !bundle.method_elm.is_null();
        if is_ioctl || bundle.ucore.inlen != 0 {
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

    /// The reason for a bundle, and an object that a context has in its list or has not.
    fn of(is_listed: bool, change: impl FnOnce(&mut Bundle)) -> Reason {
        let mut bundle = pin_init::zeroed();
        change(&mut bundle);
        let mut object: bindings::ib_uobject = pin_init::zeroed();
        let mut head = pin_init::zeroed();
        let own = &raw mut object.list;
        object.list.next = if is_listed { &raw mut head } else { own };
        // SAFETY: Both are valid, and nobody else knows of them; only the header of the bundle is
        // looked at.
        unsafe { Reason::new(&raw mut bundle.driver_udata, &raw mut object) }
    }

    #[test]
    fn a_bundle_of_the_cores_own_is_cleanup() {
        assert_eq!(of(true, |_| ()), Reason::Cleanup);
    }

    #[test]
    fn without_a_call_or_an_object_of_user_space_it_is_cleanup() {
        let mut bundle = Bundle {
            method_elm: ptr::dangling(),
            ..pin_init::zeroed()
        };
        let mut object: bindings::ib_uobject = pin_init::zeroed();
        // SAFETY: Null is allowed, and the others are valid.
        let (no_call, no_object) = unsafe {
            (
                Reason::new(ptr::null_mut(), &raw mut object),
                Reason::new(&raw mut bundle.driver_udata, ptr::null_mut()),
            )
        };
        assert_eq!((no_call, no_object), (Reason::Cleanup, Reason::Cleanup));
    }

    #[test]
    fn ioctl_and_write_are_requests() {
        let ioctl = of(true, |bundle| bundle.method_elm = ptr::dangling());
        let write = of(true, |bundle| bundle.ucore.inlen = 8);
        assert_eq!((ioctl, write), (Reason::Request, Reason::Request));
    }

    #[test]
    fn what_an_ioctl_leaves_unset_does_not_count() {
        let reason = of(true, |bundle| {
            bundle.method_elm = ptr::dangling();
            bundle.uobject = ptr::dangling_mut();
            bundle.ucore.inlen = usize::MAX;
        });
        assert_eq!(reason, Reason::Request);
    }

    #[test]
    fn a_write_in_an_ioctl_is_a_request_with_a_private_part_too() {
        let reason = of(true, |bundle| {
            bundle.method_elm = ptr::dangling();
            bundle.ucore.inlen = 8;
            bundle.driver_udata.inlen = 8;
            bundle.driver_udata.outlen = 8;
        });
        assert_eq!(reason, Reason::Request);
    }

    #[test]
    fn an_object_that_no_context_has_yet_is_cleanup() {
        // As calls that create look in which the core gives the object up: an ioctl with a private
        // part, one whose private part the core has cleared, and a write.
        let ioctl = of(false, |bundle| {
            bundle.method_elm = ptr::dangling();
            bundle.driver_udata.inlen = 8;
        });
        let cleared = of(false, |bundle| bundle.method_elm = ptr::dangling());
        let write = of(false, |bundle| {
            bundle.ucore.inlen = 8;
            bundle.uobject = ptr::dangling_mut();
        });
        assert_eq!([ioctl, cleared, write], [Reason::Cleanup; 3]);
    }
}
