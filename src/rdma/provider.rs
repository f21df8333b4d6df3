// SPDX-License-Identifier: GPL-2.0

//! What a driver implements: the verbs as safe functions.
//!
//! Only objects of user space are served, so every call that makes one has a [`Udata`]. All
//! functions may sleep and run concurrently; the RDMA core only promises that an object is not
//! used any more when it is destroyed, and that no function runs after the device was
//! unregistered.
//!
//! [`Provider`] is what every device has. The optional parts are traits of their own, which a
//! driver implements and then adds to its [`Operations`].

mod comp_cntr;
mod cq;
mod deferred;
mod mmap;
mod mr;
mod port_counters;
mod qp;

pub use self::{
    comp_cntr::{
        CompCntrBuffers,
        CompCntrCaps,
        CompCntrChange,
        CompCntrEntry,
        CompCntrMemory,
        CompCntrOps,
        CompletionCounters, //
    },
    cq::CompletionQueues,
    deferred::DeferredWork,
    mmap::UserMmap,
    mr::{
        MemoryRegions,
        MrMethod,
        MrRequest,
        NewMr, //
    },
    port_counters::PortCounters,
    qp::QueuePairs, //
};
pub use crate::callbacks::Operations;

use crate::{
    attr::{
        AhAttr,
        DeviceAttr,
        DriverId,
        Gid,
        LinkLayer,
        PortAttr,
        PortImmutable, //
    },
    debugfs::File,
    stats::CounterDesc,
    udata::Udata, //
};
use kernel::{
    fmt,
    prelude::*,
    ModuleMetadata, //
};

/// A provider of verbs: the type that ties a driver to this crate.
pub trait Provider: Sized + 'static {
    /// The module the callbacks are part of.
    type Module: ModuleMetadata;

    /// The driver's device. It is owned by the [`Registration`](crate::device::Registration) and
    /// given to each function.
    type Data<'a>: Send + Sync + 'a;

    /// The driver's part of a user context.
    type UContext: Send + Sync + 'static;

    /// The driver's part of a protection domain.
    type Pd: Send + Sync + 'static;

    /// The driver's part of an address handle.
    type Ah: Send + Sync + 'static;

    /// The operations of the device: the base, and each optional part that is implemented.
    const OPERATIONS: Operations<Self>;

    /// Whose provider library user space has to take.
    const DRIVER_ID: DriverId;

    /// The version of the interface between that library and the driver.
    const UVERBS_ABI_VERSION: u32;

    /// Whether each call refuses a request it does not understand all of. User space is told.
    const ROBUST_UDATA: bool;

    /// The counters of the device, as a whole.
    const DEVICE_COUNTERS: &'static [CounterDesc];

    /// The files of the device in debugfs.
    const DEBUG_FILES: &'static [File<Self>] = &[];

    /// Reports the limits of the device. There is no `udata` when the core itself asks.
    fn query_device(dev: &Self::Data<'_>, udata: Option<&Udata<'_>>) -> Result<DeviceAttr>;

    /// Writes the firmware version as text.
    fn write_firmware_version(dev: &Self::Data<'_>, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Reports the state of a port.
    fn query_port(dev: &Self::Data<'_>, port: u32) -> Result<PortAttr>;

    /// Reports the speed of a port in units of 100 Mbit/s.
    fn query_port_speed(dev: &Self::Data<'_>, port: u32) -> Result<u64>;

    /// Reports what a port is made of.
    fn port_immutable(dev: &Self::Data<'_>, port: u32) -> Result<PortImmutable>;

    /// Reports the link layer below a port.
    fn link_layer(dev: &Self::Data<'_>, port: u32) -> LinkLayer;

    /// Reads an entry of the GID table.
    fn query_gid(dev: &Self::Data<'_>, port: u32, index: u32) -> Result<Gid>;

    /// Reads an entry of the partition key table.
    fn query_pkey(dev: &Self::Data<'_>, port: u32, index: u16) -> Result<u16>;

    /// Opens a user context; the response is written before this returns.
    fn alloc_ucontext(dev: &Self::Data<'_>, udata: &Udata<'_>) -> Result<Self::UContext>;

    /// Closes a user context, whose objects are gone. It cannot fail: the process may be exiting.
    fn dealloc_ucontext(dev: &Self::Data<'_>, ucontext: Self::UContext);

    /// Makes a protection domain; the response is written before this returns.
    fn alloc_pd(dev: &Self::Data<'_>, udata: &Udata<'_>) -> Result<Self::Pd>;

    /// Frees a protection domain, whose objects are gone.
    ///
    /// It cannot fail, since it is not told whether the process asks or is exiting, and an error
    /// in the latter case makes the core warn and leak the object.
    fn dealloc_pd(dev: &Self::Data<'_>, pd: Self::Pd);

    /// Makes an address handle; the response is written before this returns.
    fn create_ah(
        dev: &Self::Data<'_>,
        pd: &Self::Pd,
        attr: &AhAttr<'_>,
        udata: &Udata<'_>,
    ) -> Result<Self::Ah>;

    /// Destroys an address handle of a protection domain. It cannot fail, for the same reason as
    /// [`Self::dealloc_pd`].
    fn destroy_ah(dev: &Self::Data<'_>, pd: &Self::Pd, ah: Self::Ah);

    /// Reads the counters of [`Self::DEVICE_COUNTERS`], in that order.
    fn read_device_counters(dev: &Self::Data<'_>, values: &mut [u64]) -> Result;
}
