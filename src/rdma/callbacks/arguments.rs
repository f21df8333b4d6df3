// SPDX-License-Identifier: GPL-2.0

//! What callbacks are given, as typed values.
//!
//! Where a callback begins its raw pointers become these, by what the core promises of each. What
//! follows from that is safe: a device is one of the provider, an object is created once, borrowed
//! while it is there, and taken apart once.

use super::Mapped;
use crate::{
    bindings,
    destroy::Reason,
    device::Device,
    mmap::{
        Mappings,
        ObjectMappings, //
    },
    object::Object,
    provider::{
        Provider,
        UserMmap, //
    },
    udata::{
        Bundle,
        Udata, //
    }, //
};
use core::{
    marker::PhantomData,
    mem::offset_of, //
};
use kernel::{
    build_assert::const_assert,
    prelude::*, //
};

/// A structure of the core for a kind of verbs object.
///
/// # Safety
///
/// `device` gives the device that the core made the object for.
pub(super) unsafe trait VerbsObject {
    /// The object's device.
    ///
    /// # Safety
    ///
    /// `raw` points to an object that the core has given to a callback.
    unsafe fn device(raw: *const Self) -> *mut bindings::ib_device;
}

macro_rules! verbs_objects {
    ($($type:ident)*) => {$(
        // SAFETY: The core sets the member before the callback that creates the object, or, for
        // memory regions, right after it, and does not change it any more.
        unsafe impl VerbsObject for bindings::$type {
            unsafe fn device(raw: *const Self) -> *mut bindings::ib_device {
                // SAFETY: By the safety requirements of this function.
                unsafe { (*raw).device }
            }
        }
    )*};
}

verbs_objects!(ib_ucontext ib_pd ib_ah ib_cq ib_qp ib_mr ib_comp_cntr);

/// The same for an object whose end may fail where a process asks for it.
///
/// # Safety
///
/// `uobject` gives what user space knows the object as.
pub(super) unsafe trait UserObject: VerbsObject {
    /// What user space knows the object as; may be null.
    ///
    /// # Safety
    ///
    /// As [`VerbsObject::device`].
    unsafe fn uobject(raw: *const Self) -> *mut bindings::ib_uobject;
}

macro_rules! user_objects {
    ($($type:ident.$member:ident)*) => {$(
        // SAFETY: The member is a pointer to an `ib_uobject`, or to a structure that begins with
        // one: the core allocates all of them by their sizes as such.
        unsafe impl UserObject for bindings::$type {
            unsafe fn uobject(raw: *const Self) -> *mut bindings::ib_uobject {
                // SAFETY: By the safety requirements of this function. The core does not change
                // the member after the object was created.
                unsafe { (&raw const (*raw).$member).cast::<*mut bindings::ib_uobject>().read() }
            }
        }
    )*};
}

user_objects!(ib_cq.uobject ib_qp.uobject ib_mr.__bindgen_anon_1);

/// The device of a callback that runs.
///
/// # Invariants
///
/// `raw` is embedded in a [`Device<P>`], of which a callback runs during `'a`.
pub(super) struct Called<'a, P: Provider> {
    raw: *mut bindings::ib_device,
    _device: PhantomData<&'a Device<P>>,
}

impl<P: Provider> Clone for Called<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Provider> Copy for Called<'_, P> {}

impl<P: Provider> Called<'_, P> {
    /// Takes the argument of a callback.
    ///
    /// # Safety
    ///
    /// The invariants of the type hold for `raw` and `'a`.
    pub(super) unsafe fn new(raw: *mut bindings::ib_device) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            raw,
            _device: PhantomData,
        }
    }

    /// Gives `f` the driver's device.
    #[inline]
    pub(super) fn with<R>(self, f: impl for<'d> FnOnce(&'d P::Data<'d>) -> R) -> R {
        // SAFETY: By the type invariants.
        unsafe { Device::<P>::with_data(self.raw, f) }
    }
}

/// A kind of objects of the provider `P`: the core's structure `C`, and the private part `T`.
pub(super) struct Kind<P, C, T>(PhantomData<(P, C, T)>);

impl<P: Provider, C: VerbsObject, T> Kind<P, C, T> {
    /// The number of bytes that the core has to allocate.
    pub(super) const SIZE: usize = Object::<C, T>::SIZE;

    /// The object that the running callback creates.
    ///
    /// # Safety
    ///
    /// The invariants of [`New`] hold for `raw` and `'a`.
    pub(super) unsafe fn creating<'a>(raw: *mut C) -> New<'a, P, C, T> {
        // INVARIANT: By the safety requirements of this function.
        New {
            raw,
            _object: PhantomData,
            _provider: PhantomData,
        }
    }

    /// An object that the running callback uses.
    ///
    /// # Safety
    ///
    /// The invariants of [`InUse`] hold for `raw` and `'a`.
    pub(super) unsafe fn in_use<'a>(raw: *mut C) -> InUse<'a, P, C, T> {
        // INVARIANT: By the safety requirements of this function.
        InUse {
            raw,
            _object: PhantomData,
            _provider: PhantomData,
        }
    }

    /// The same for an argument that may be null.
    ///
    /// # Safety
    ///
    /// `raw` is null, or as for [`Self::in_use`].
    pub(super) unsafe fn in_use_unless_null<'a>(raw: *mut C) -> Option<InUse<'a, P, C, T>> {
        // SAFETY: By the safety requirements of this function.
        (!raw.is_null()).then(|| unsafe { Self::in_use(raw) })
    }

    /// The object that the running callback destroys.
    ///
    /// # Safety
    ///
    /// The invariants of [`Ending`] hold for `raw` and `'a`.
    pub(super) unsafe fn ending<'a>(raw: *mut C) -> Ending<'a, P, C, T> {
        // INVARIANT: By the safety requirements of this function; nobody else destroys it.
        Ending(InUse {
            raw,
            _object: PhantomData,
            _provider: PhantomData,
        })
    }
}

/// An object that is being created.
///
/// # Invariants
///
/// - `raw` points to memory for a whole [`Object<C, T>`], whose part for the core is initialised
///   and has the object's device.
/// - The callback of that device, one of `P`, that creates it runs during `'a`, and nobody else
///   uses it.
/// - It has no private part yet.
pub(super) struct New<'a, P: Provider, C: VerbsObject, T> {
    raw: *mut C,
    _object: PhantomData<&'a mut Object<C, T>>,
    _provider: PhantomData<fn() -> P>,
}

impl<'a, P: Provider, C: VerbsObject, T> New<'a, P, C, T> {
    /// The core's part.
    pub(super) fn core(&mut self) -> &mut C {
        // SAFETY: By the type invariants it is initialised and ours.
        unsafe { &mut *self.raw }
    }

    /// The device that it is created on.
    pub(super) fn device(&self) -> Called<'a, P> {
        // SAFETY: By the type invariants it has its device, of which this is a callback.
        unsafe { Called::new(C::device(self.raw)) }
    }

    /// Makes `data` its private part: it is created.
    pub(super) fn fill(self, data: T) -> &'a T {
        // SAFETY: By the type invariants the memory is of the right size, and was not filled
        // before. It stays until the object is destroyed, which cannot be before the callback
        // returned.
        unsafe {
            Object::<C, T>::fill(self.raw, data);
            Object::<C, T>::data(self.raw)
        }
    }

    /// Lets the provider create it.
    pub(super) fn create(
        self,
        call: Result<Call<'_, P>>,
        create: impl for<'d> FnOnce(&'d P::Data<'d>, &Udata<'_>) -> Result<T>,
    ) -> Result {
        let call = call?;
        let data = self.device().with(|dev| create(dev, call.udata()))?;
        self.fill(data);
        Ok(())
    }
}

/// An object that is there while a callback runs.
///
/// # Invariants
///
/// `raw` points to an object of a device of `P` that was created as an [`Object<C, T>`], and is not
/// destroyed during `'a`, while a callback of the device runs.
pub(super) struct InUse<'a, P: Provider, C: VerbsObject, T> {
    raw: *mut C,
    _object: PhantomData<&'a Object<C, T>>,
    _provider: PhantomData<fn() -> P>,
}

impl<'a, P: Provider, C: VerbsObject, T> InUse<'a, P, C, T> {
    /// Its device.
    pub(super) fn device(&self) -> Called<'a, P> {
        // SAFETY: By the type invariants.
        unsafe { Called::new(C::device(self.raw)) }
    }

    /// Its private part.
    #[inline]
    pub(super) fn data(&self) -> &'a T {
        // SAFETY: By the type invariants.
        unsafe { Object::<C, T>::data(self.raw) }
    }
}

/// An object that is being destroyed.
///
/// # Invariants
///
/// The callback that destroys it runs. Once the private part was taken it succeeds.
pub(super) struct Ending<'a, P: Provider, C: VerbsObject, T>(InUse<'a, P, C, T>);

impl<P: Provider, C: VerbsObject, T> Ending<'_, P, C, T> {
    /// Takes the private part: it is destroyed.
    pub(super) fn take(self) -> T {
        // SAFETY: By the type invariants; the value is gone, so this is done once.
        unsafe { Object::<C, T>::take(self.0.raw) }
    }

    /// Drops the private part: it is destroyed, and was ended before.
    fn finish(self) {
        // SAFETY: By the type invariants; the value is gone, so this is done once.
        unsafe { Object::<C, T>::drop(self.0.raw) }
    }

    /// Lets the provider end it.
    pub(super) fn end(self, end: impl for<'d> FnOnce(&'d P::Data<'d>, T)) {
        let device = self.0.device();
        let data = self.take();
        device.with(|dev| end(dev, data));
    }
}

impl<P: Provider, C: UserObject, T> Ending<'_, P, C, T> {
    /// Lets the provider end it, in the way that the reason asks for: `destroy` may fail where a
    /// process asks, and then the object stays; but `ENODEV` says that no later try can succeed.
    ///
    /// # Errors
    ///
    /// What `destroy` fails with. The object is still there then.
    ///
    /// # Safety
    ///
    /// `udata` is what the core gave the callback that destroys the object.
    pub(super) unsafe fn end_by(
        self,
        udata: *mut bindings::ib_udata,
        destroy: impl for<'d> FnOnce(&'d P::Data<'d>, &T) -> Result,
        end: impl for<'d> FnOnce(&'d P::Data<'d>, T),
    ) -> Result {
        // SAFETY: By the safety requirements `udata` is null or that of the running call, and by
        // the type invariants the core destroys the object, which it keeps others from.
        let reason = unsafe { Reason::new(udata, C::uobject(self.0.raw)) };
        if reason == Reason::Request {
            match self.0.device().with(|dev| destroy(dev, self.0.data())) {
                Ok(()) => {
                    self.finish();
                    return Ok(());
                }
                Err(error) if error != ENODEV => return Err(error),
                Err(_) => {}
            }
        }
        self.end(end);
        Ok(())
    }
}

/// A verbs call from user space.
///
/// # Invariants
///
/// It is one on a device of `P`, with `udata` as its private part.
pub(super) struct Call<'a, P: Provider> {
    udata: Udata<'a>,
    _provider: PhantomData<fn() -> P>,
}

impl<'a, P: Provider> Call<'a, P> {
    /// Takes the private part of the running call.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP`: the call does not come from user space.
    ///
    /// # Safety
    ///
    /// `udata` is null or that of a verbs call, on a device of `P`, that runs during `'a`.
    pub(super) unsafe fn new(udata: *mut bindings::ib_udata) -> Result<Self> {
        // SAFETY: By the safety requirements of this function.
        let udata = unsafe { Udata::from_raw(udata) }.ok_or(EOPNOTSUPP)?;
        // INVARIANT: By the safety requirements of this function.
        Ok(Self {
            udata,
            _provider: PhantomData,
        })
    }

    /// Takes the attributes of the running call, which its private part is the first of.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    ///
    /// # Safety
    ///
    /// `attrs` are null or those of a verbs call, on a device of `P`, that runs during `'a`.
    pub(super) unsafe fn of(attrs: *mut bindings::uverbs_attr_bundle) -> Result<Self> {
        const_assert!(offset_of!(Bundle, driver_udata) == 0);
        // CAST: The private part is the first member.
        // SAFETY: By the safety requirements of this function.
        unsafe { Self::new(attrs.cast()) }
    }

    /// The private part.
    pub(super) fn udata(&self) -> &Udata<'a> {
        &self.udata
    }

    /// The private part, and nothing else.
    pub(super) fn into_udata(self) -> Udata<'a> {
        self.udata
    }

    /// The user context of the call.
    ///
    /// # Errors
    ///
    /// `EINVAL`: the call has none.
    pub(super) fn context(&self) -> Result<super::UContextInUse<'a, P>> {
        let context = self.udata.context().ok_or(EINVAL)?;
        // SAFETY: By the type invariants it is of a device of `P`. It lives as long as a call that
        // uses it.
        Ok(unsafe { super::UContext::<P>::in_use(context.as_ptr()) })
    }
}

impl<'a, P: UserMmap> Call<'a, P> {
    /// No mappings yet, for an object that the call creates in its user context.
    ///
    /// # Errors
    ///
    /// As [`Self::context`].
    pub(super) fn mappings(&self) -> Result<Mappings<'a>> {
        let context = self.udata.context().ok_or(EINVAL)?;
        // SAFETY: It is that of the running call. Each part of `Operations` whose objects have
        // mappings adds the operations for them.
        Ok(unsafe { Mappings::new(context) })
    }
}

impl<T> Mapped<T> {
    /// The private part of an object with these mappings.
    pub(super) fn new(data: T, mappings: Mappings<'_>) -> Self {
        let mappings: ObjectMappings = mappings.into_owned();
        Self { data, mappings }
    }
}
