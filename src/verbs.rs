// SPDX-License-Identifier: GPL-2.0

//! The verbs, one file per object.

pub(crate) mod ah;
mod ah_watch;
mod attributes;
pub(crate) mod comp_cntr;
pub(crate) mod cq;
mod debugfs;
pub(crate) mod device;
mod memory;
mod mmap;
pub(crate) mod mr;
pub(crate) mod pd;
pub(crate) mod port;
pub(crate) mod port_stats;
mod qp;
pub(crate) mod refused;
mod request;
pub(crate) mod stats;
pub(crate) mod ucontext;

use self::{
    device::Device,
    refused::Returnable,
    request::{
        Refusal,
        Rule, //
    }, //
};
use crate::uapi::UVERBS_ABI_VERSION;
use kernel::{
    fmt,
    prelude::*, //
};
use rdma::{
    attr::{
        AhAttr,
        DeviceAttr,
        DriverId,
        Gid,
        LinkLayer,
        PortAttr,
        PortImmutable, //
    },
    cq::NewCq,
    debugfs::File,
    provider::{
        CompletionQueues,
        Operations,
        PortCounters,
        Provider,
        UserMmap, //
    },
    stats::CounterDesc,
    udata::Udata, //
};

/// The driver, and the provider of its verbs.
pub(crate) enum Efa {}

impl Provider for Efa {
    type Module = crate::DriverModule;
    type Data<'a> = Device<'a>;
    type UContext = ucontext::UContext;
    type Pd = pd::Pd;
    type Ah = ah::Ah;

    const OPERATIONS: Operations<Self> = Operations::new()
        .with_port_counters()
        .with_completion_queues()
        .with_memory_regions()
        .with_queue_pairs()
        .with_completion_counters()
        .with_deferred_work();
    const DRIVER_ID: DriverId = DriverId::EFA;
    const UVERBS_ABI_VERSION: u32 = UVERBS_ABI_VERSION;
    // Opening a context accepts requests longer than the driver knows, so the promise would not
    // hold; nor does user space need it to be made.
    const ROBUST_UDATA: bool = false;
    const DEVICE_COUNTERS: &'static [CounterDesc] = &stats::DEVICE_COUNTERS;
    const DEBUG_FILES: &'static [File<Self>] = debugfs::FILES;

    fn query_device(dev: &Device<'_>, udata: Option<&Udata<'_>>) -> Result<DeviceAttr> {
        attributes::query(dev, udata)
    }

    fn write_firmware_version(dev: &Device<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
        attributes::write_firmware_version(dev, out)
    }

    fn query_port(dev: &Device<'_>, _port: u32) -> Result<PortAttr> {
        Ok(port::query(dev))
    }

    fn query_port_speed(dev: &Device<'_>, _port: u32) -> Result<u64> {
        Ok(port::speed(dev))
    }

    fn port_immutable(_dev: &Device<'_>, _port: u32) -> Result<PortImmutable> {
        Ok(port::IMMUTABLE)
    }

    fn link_layer(_dev: &Device<'_>, _port: u32) -> LinkLayer {
        LinkLayer::Unspecified
    }

    fn query_gid(dev: &Device<'_>, _port: u32, index: u32) -> Result<Gid> {
        port::gid(dev, index)
    }

    fn query_pkey(_dev: &Device<'_>, _port: u32, index: u16) -> Result<u16> {
        port::pkey(index)
    }

    fn alloc_ucontext(dev: &Device<'_>, udata: &Udata<'_>) -> Result<Self::UContext> {
        ucontext::alloc(dev, udata)
    }

    fn dealloc_ucontext(dev: &Device<'_>, ucontext: Self::UContext) {
        ucontext.end(dev);
    }

    fn alloc_pd(dev: &Device<'_>, udata: &Udata<'_>) -> Result<Self::Pd> {
        pd::alloc(dev, udata)
    }

    fn dealloc_pd(dev: &Device<'_>, pd: Self::Pd) {
        pd.end(dev);
    }

    fn create_ah(
        dev: &Device<'_>,
        pd: &Self::Pd,
        attr: &AhAttr<'_>,
        udata: &Udata<'_>,
    ) -> Result<ah::Ah> {
        ah::create(dev, pd, attr, udata)
    }

    fn destroy_ah(dev: &Device<'_>, pd: &Self::Pd, ah: ah::Ah) {
        ah::destroy(dev, pd, ah);
    }

    fn read_device_counters(dev: &Device<'_>, values: &mut [u64]) -> Result {
        stats::read_device_counters(dev, values);
        Ok(())
    }
}

impl PortCounters for Efa {
    const PORT_COUNTERS: &'static [CounterDesc] = &port_stats::PORT_COUNTERS;
    const PORT_LIFESPAN_MS: u16 = port_stats::LIFESPAN_MS;

    fn read_port_counters(dev: &Device<'_>, _port: u32, values: &mut [u64]) -> Result {
        port_stats::read_port_counters(dev, values)
    }
}

impl CompletionQueues for Efa {
    type Cq = cq::Cq;

    fn create_cq(
        dev: &Device<'_>,
        ucontext: &ucontext::UContext,
        new: &mut NewCq<'_>,
    ) -> Result<(cq::Cq, u32)> {
        cq::create(dev, ucontext, new)
    }

    fn destroy_cq(dev: &Device<'_>, cq: &cq::Cq) -> Result {
        cq.destroy(dev)
    }

    fn end_cq(dev: &Device<'_>, cq: cq::Cq) {
        cq.end(dev);
    }
}

impl UserMmap for Efa {
    fn mmap_failed(dev: &Device<'_>, offset: u64, error: Error) {
        dev.stats.mmap_err.inc();
        let refusal = Refusal::new(error, c"offset", offset, Rule::Mappable);
        let _ = dev.refuse(c"mmap", refusal);
    }
}
