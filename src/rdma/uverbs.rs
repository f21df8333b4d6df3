// SPDX-License-Identifier: GPL-2.0

//! Methods and attributes that a driver adds to the verbs of the RDMA core.
//!
//! The core reads from tables which method of which object has which attributes, and checks each
//! call against them before its handler runs. C drivers write these tables with macros. Here they
//! follow from the types that a driver implements ([`MrMethod`] and
//! [`CompletionCounters`](crate::provider::CompletionCounters)): so what a handler takes an
//! attribute for is what the core has checked that it is.
//!
//! The numbers of methods and attributes are the driver's choice, among those that the core leaves
//! to drivers. Where one is used twice the core refuses the tables, and the device has no calls.
//!
//! C headers: `include/rdma/uverbs_ioctl.h`, `include/rdma/uverbs_named_ioctl.h`

mod table;

use self::table::{
    buffer_in,
    definition,
    drivers_own,
    empty,
    method,
    object,
    object_read,
    value_out,
    Attribute,
    AttributeList,
    Definition, //
};
use crate::{
    bindings,
    callbacks::call_mr_method,
    provider::{
        CompletionCounters,
        MemoryRegions,
        MrMethod, //
    },
    reach::{
        NotShared,
        Reach, //
    },
    umem::{
        Access,
        Umem, //
    }, //
};
use core::marker::PhantomData;
use kernel::{
    error::to_result,
    prelude::*, //
};
use zerocopy::IntoBytes;

/// The table that the core reads: what a driver adds to each kind of object.
///
/// # Invariants
///
/// It reads as an array, which `end` ends. What an entry points to lives forever.
#[repr(C)]
pub(crate) struct Definitions {
    memory_regions: Definition,
    completion_counters: Definition,
    end: Definition,
}

impl Definitions {
    /// Nothing is added.
    pub(crate) const NONE: Self = Self {
        memory_regions: empty(bindings::uapi_definition_kind_UAPI_DEF_CHAIN),
        completion_counters: empty(bindings::uapi_definition_kind_UAPI_DEF_CHAIN),
        end: empty(bindings::uapi_definition_kind_UAPI_DEF_END),
    };

    /// With the methods of `P` on memory regions.
    pub(crate) const fn with_memory_regions<P: MemoryRegions>(mut self) -> Self {
        self.memory_regions = definition(MrMethods::<P>::OBJECT);
        self
    }

    /// With the attributes of `P` for the memory of completion counters.
    pub(crate) const fn with_completion_counters<P: CompletionCounters>(mut self) -> Self {
        self.completion_counters = definition(CompCntrAttributes::<P>::OBJECT);
        self
    }

    /// The table as the core takes it.
    pub(crate) const fn as_raw(&'static self) -> *const Definition {
        (&raw const *self).cast()
    }
}

/// A [`MrMethod`] of the provider `P`, without its type.
///
/// # Invariants
///
/// It points to a method that lives forever, and whose handler is that of a method of `P`.
#[repr(transparent)]
pub struct AnyMrMethod<P: MemoryRegions>(
    *const bindings::uverbs_method_def,
    PhantomData<fn() -> P>,
);

impl<P: MemoryRegions> AnyMrMethod<P> {
    /// The method `M`.
    pub const fn of<M: MrMethod<N, Provider = P>, const N: usize>() -> Self {
        // INVARIANT: It is a constant, and the provider of `M` is `P`.
        Self(MrMethodTable::<M, N>::METHOD, PhantomData)
    }
}

/// The tables of a method on memory regions.
struct MrMethodTable<M: MrMethod<N>, const N: usize>(PhantomData<M>);

impl<M: MrMethod<N>, const N: usize> MrMethodTable<M, N> {
    const HANDLE: &'static Attribute =
        &object_read(M::HANDLE, bindings::uverbs_default_objects_UVERBS_OBJECT_MR);

    const ANSWER: &'static [Attribute; N] = &{
        let mut attributes =
            [const { value_out::<M::Value>(1 << bindings::UVERBS_ID_NS_SHIFT) }; N];
        let mut index = 0;
        while index < N {
            attributes[index] = value_out::<M::Value>(M::ANSWER[index]);
            index += 1;
        }
        attributes
    };

    const METHOD: &'static bindings::uverbs_method_def = &method(
        drivers_own(M::ID),
        &AttributeList::new(Self::HANDLE, Self::ANSWER),
        Some(Self::handle),
    );

    /// # Safety
    ///
    /// Only the core calls it, for a device of the provider, once it has checked the call against
    /// `METHOD`.
    unsafe extern "C" fn handle(attrs: *mut bindings::uverbs_attr_bundle) -> c_int {
        // SAFETY: By the safety requirements: the handle is mandatory, and names a memory region
        // to be read.
        let answered = unsafe { call_mr_method::<M::Provider, _>(attrs, M::HANDLE, M::call) };
        let written = answered.and_then(|values| {
            for (attribute, value) in M::ANSWER.iter().zip(&values) {
                let bytes = value.as_bytes();
                // SAFETY: By the safety requirements the bundle is valid, and the attribute is a
                // mandatory one for an answer; `bytes` are readable.
                to_result(unsafe {
                    bindings::uverbs_copy_to(
                        attrs,
                        (*attribute).into(),
                        bytes.as_ptr().cast(),
                        bytes.len(),
                    )
                })?;
            }
            Ok(())
        });
        match written {
            Ok(()) => 0,
            Err(error) => error.to_errno(),
        }
    }
}

/// The methods on memory regions of a provider.
struct MrMethods<P>(PhantomData<P>);

impl<P: MemoryRegions> MrMethods<P> {
    // CAST: `AnyMrMethod` is a transparent pointer to a method.
    const OBJECT: &'static bindings::uverbs_object_def = &object(
        bindings::uverbs_default_objects_UVERBS_OBJECT_MR,
        P::METHODS.as_ptr().cast(),
        P::METHODS.len(),
    );
}

/// What a provider adds to the call that creates a completion counter.
struct CompCntrAttributes<P>(PhantomData<P>);

impl<P: CompletionCounters> CompCntrAttributes<P> {
    const COMPLETIONS: &'static Attribute = &buffer_in(P::BUFFERS.completions);
    const ERRORS: &'static [Attribute; 1] = &[buffer_in(P::BUFFERS.errors)];

    const METHOD: &'static bindings::uverbs_method_def = &method(
        // CAST: The numbers of the core's methods are small.
        bindings::uverbs_methods_comp_cntr_UVERBS_METHOD_COMP_CNTR_CREATE as u16,
        &AttributeList::new(Self::COMPLETIONS, Self::ERRORS),
        None,
    );

    const METHODS: &'static [*const bindings::uverbs_method_def] = &[Self::METHOD];

    const OBJECT: &'static bindings::uverbs_object_def = &object(
        bindings::uverbs_default_objects_UVERBS_OBJECT_COMP_CNTR,
        Self::METHODS.as_ptr(),
        Self::METHODS.len(),
    );
}

/// Memory that user space describes in an attribute of a call (`struct ib_uverbs_buffer_desc`).
///
/// # Invariants
///
/// - `attrs` are those of a call that runs during `'a`, in the context of the process that made
///   it, and which has a user context.
/// - `attribute` is in the tables of the call's method, as a description of memory.
pub struct DescribedMemory<'a> {
    attrs: *const bindings::uverbs_attr_bundle,
    attribute: u16,
    device: *mut bindings::ib_device,
    _call: PhantomData<&'a ()>,
}

impl DescribedMemory<'_> {
    /// What an attribute describes.
    ///
    /// # Safety
    ///
    /// The invariants of the type hold for `attrs`, `attribute` and `'a`; `device` is the one of
    /// the user context.
    pub(crate) unsafe fn new(
        attrs: *const bindings::uverbs_attr_bundle,
        attribute: u16,
        device: *mut bindings::ib_device,
    ) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            attrs,
            attribute,
            device,
            _call: PhantomData,
        }
    }

    /// Pins the memory.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: the description makes no sense, or the memory has less than `min_len` bytes.
    /// - What pinning fails with, see [`UserMemory::pin`](crate::umem::UserMemory::pin).
    pub fn pin(&self, min_len: u64, access: Access) -> Result<Umem, NotShared> {
        let min_len = min_len.try_into().map_err(Error::from)?;
        // SAFETY: By the type invariants attributes and device are valid, the attribute is one that
        // describes memory of the process, and the device is registered during the call. The
        // result is ours.
        let umem = unsafe {
            let reach = Reach::of_raw((*self.device).dma_device)?;
            let raw = bindings::ib_umem_get_attr(
                self.device,
                self.attrs,
                self.attribute,
                min_len,
                // CAST: The flags are few, and the core itself has them signed.
                access.as_raw() as c_int,
            );
            Umem::from_raw(raw, reach)
        };
        umem?.ok_or(NotShared::Failed(EINVAL))
    }
}
