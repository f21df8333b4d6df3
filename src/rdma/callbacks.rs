// SPDX-License-Identifier: GPL-2.0

//! The operations of a device as the RDMA core calls them.
//!
//! Each callback turns its raw pointers into typed values ([`arguments`]), once, and calls the
//! [`Provider`]. The core's promises that they rest on:
//!
//! - The device is one made by [`Device`], and callbacks run only while it is registered.
//! - An object is given to its creating callback first and to its destroying callback last, both
//!   exclusively. While it is given to others, or objects made from it live, it is not destroyed.
//! - Out parameters are valid and for the callback alone.

#![expect(
    clippy::missing_safety_doc,
    reason = "all callbacks rest on the promises above"
)]

mod ah;
mod arguments;
mod comp_cntr;
mod cq;
mod device;
mod mmap;
mod mr;
mod pd;
mod port;
mod qp;
mod stats;
mod ucontext;

pub(crate) use self::mr::call_mr_method;

use self::arguments::{
    InUse,
    Kind, //
};
use crate::{
    bindings,
    deferred::Deferred,
    mmap::ObjectMappings,
    provider::{
        DeferredWork,
        Provider, //
    },
    uverbs::Definitions, //
};
use core::marker::PhantomData;
use kernel::{
    module::this_module,
    prelude::*, //
};

type UContext<P> = Kind<P, bindings::ib_ucontext, <P as Provider>::UContext>;
type UContextInUse<'a, P> = InUse<'a, P, bindings::ib_ucontext, <P as Provider>::UContext>;
type Pd<P> = Kind<P, bindings::ib_pd, <P as Provider>::Pd>;
type PdInUse<'a, P> = InUse<'a, P, bindings::ib_pd, <P as Provider>::Pd>;
type Ah<P> = Kind<P, bindings::ib_ah, <P as Provider>::Ah>;

/// The private part of an object that can have mappings.
///
/// Fields are dropped in this order: what the driver has goes when the device does not use it any
/// more, and what processes may still be mapping stays a moment longer.
struct Mapped<T> {
    data: T,
    mappings: ObjectMappings,
}

/// The callbacks of the provider `P`; each file of this module has those of one kind of object.
struct Callbacks<P: Provider>(PhantomData<P>);

/// What the RDMA core is given to call a device: the operations that a [`Provider`] must have, and
/// those of the optional parts that were added. An operation that is not there is refused by the
/// core with `EOPNOTSUPP`.
pub struct Operations<P: Provider> {
    raw: bindings::ib_device_ops,
    definitions: Definitions,
    deferred: Option<Deferred<P>>,
    _provider: PhantomData<fn() -> P>,
}

impl<P: Provider> Operations<P> {
    /// The operations that every device has.
    #[expect(clippy::new_without_default, reason = "a default could not be const")]
    pub const fn new() -> Self {
        Self {
            raw: Callbacks::<P>::BASE,
            definitions: Definitions::NONE,
            deferred: None,
            _provider: PhantomData,
        }
    }

    /// Those of the provider, which live forever.
    const OF_PROVIDER: &'static Self = &P::OPERATIONS;

    /// The work that is done later, where there is such.
    pub(crate) const fn deferred(&self) -> Option<&Deferred<P>> {
        self.deferred.as_ref()
    }

    /// The table of what the driver adds to the verbs.
    pub(crate) const fn definitions() -> *const bindings::uapi_definition {
        Self::OF_PROVIDER.definitions.as_raw()
    }

    pub(crate) const fn as_raw(&self) -> &bindings::ib_device_ops {
        &self.raw
    }
}

impl<P: DeferredWork> Operations<P> {
    /// Adds work that is done later.
    pub const fn with_deferred_work(mut self) -> Self {
        self.deferred = Some(Deferred::new());
        self
    }
}

fn errno(result: Result) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}

impl<P: Provider> Callbacks<P> {
    /// The operations that every device has.
    const BASE: bindings::ib_device_ops = bindings::ib_device_ops {
        owner: this_module::<P::Module>().as_ptr(),
        driver_id: P::DRIVER_ID.0,
        uverbs_abi_ver: P::UVERBS_ABI_VERSION,
        // Bit 0 is `uverbs_no_driver_id_binding`, bit 1 `uverbs_robust_udata`.
        _bitfield_1: bindings::__BindgenBitfieldUnit::new([(P::ROBUST_UDATA as u8) << 1]),

        // The core refuses a device that has the callback and no counter.
        alloc_hw_device_stats: if P::DEVICE_COUNTERS.is_empty() {
            None
        } else {
            Some(Self::alloc_hw_device_stats)
        },
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
        get_port_immutable: Some(Self::ask_port::<port::Immutable>),
        query_device: Some(Self::query_device),
        query_gid: Some(Self::ask_table::<_, port::Gid>),
        query_pkey: Some(Self::ask_table::<_, port::Pkey>),
        query_port: Some(Self::ask_port::<port::State>),
        query_port_speed: Some(Self::ask_port::<port::Speed>),

        size_ib_ah: Ah::<P>::SIZE,
        size_ib_pd: Pd::<P>::SIZE,
        size_ib_ucontext: UContext::<P>::SIZE,

        ..pin_init::zeroed()
    };
}
