// SPDX-License-Identifier: GPL-2.0

//! The device as the verbs see it.

use crate::{
    admin::{
        commands::{
            CreateAh,
            DestroyAh, //
        },
        features::Features,
        Admin,
        AdminCommand, //
    },
    ah_cache::{
        AhCache,
        AhCommands,
        PdId, //
    },
    quarantine::Quarantine,
    retries::Retries,
    verbs::{
        ah_watch::AhCounters,
        port_stats,
        refused::Refused,
        stats::VerbsStats, //
    }, //
};
use kernel::{
    device::Bound,
    pci,
    prelude::*, //
};
use rdma::{
    attr::Gid,
    dma::{
        Ends,
        LetGo, //
    },
    pci::MemoryBars, //
};

/// The link speed of devices that do not tell it.
const DEFAULT_LINK_SPEED_GBPS: u16 = 100;

/// A device. Exists while the driver is bound; verbs reach it while it is registered.
///
/// What the device itself holds is freed by the reset that ends `admin`, so what the driver knows
/// about it goes first. What the device refused to take back goes last: its memory is lost, unless
/// the device was reset by then.
#[pin_data]
pub(crate) struct Device<'bound> {
    pub(crate) pdev: &'bound pci::Device<Bound>,
    /// What processes can map parts of.
    pub(crate) bars: MemoryBars<'bound>,
    #[pin]
    pub(crate) ah_cache: AhCache,
    pub(crate) ah_counters: AhCounters,
    pub(crate) stats: VerbsStats,
    pub(crate) port_stats: port_stats::Known,
    pub(crate) admin: Admin,
    #[pin]
    pub(crate) quarantine: Quarantine<Refused>,
    pub(crate) retries: Retries,
}

impl<'bound> Device<'bound> {
    /// A device whose command layer is up.
    ///
    /// # Errors
    ///
    /// - `ENOMEM`: there is no memory.
    /// - `EIO`: the device's configuration space cannot be read.
    pub(crate) fn new(
        pdev: &'bound pci::Device<Bound>,
        admin: Admin,
    ) -> impl PinInit<Self, Error> + 'bound {
        try_pin_init!(Self {
            pdev,
            bars: MemoryBars::of(pdev)?,
            ah_cache <- AhCache::new(),
            ah_counters: AhCounters::new()?,
            stats: VerbsStats::new(),
            port_stats: port_stats::Known::new(),
            quarantine <- Quarantine::new(),
            retries: Retries::new()?,
            admin,
        }? Error)
    }

    /// Says whether objects of this reset generation still exist on the device.
    pub(crate) fn is_current(&self, generation: u32) -> bool {
        self.admin.generation() == generation
    }

    /// Checks that objects of this reset generation still exist on the device.
    ///
    /// # Errors
    ///
    /// `EIO`: the device was reset since.
    pub(crate) fn expect_current(&self, generation: u32) -> Result {
        if self.is_current(generation) {
            Ok(())
        } else {
            Err(EIO)
        }
    }

    /// Ends an object of a reset generation with `command`, which the device needs only while that
    /// generation lasts. After success the device knows nothing of the object any more.
    ///
    /// # Errors
    ///
    /// - `EIO`: the device was not reset as it should have been, and may still know the object.
    /// - What the admin queue fails with.
    pub(crate) fn end<C: AdminCommand<Reply = ()>>(&self, generation: u32, command: &C) -> Result {
        if self.is_current(generation) {
            return self.admin.exec(command);
        }
        if self.admin.dma().is_over() {
            return Ok(());
        }
        Err(EIO)
    }

    /// Like [`Device::end`], for an object that uses memory. Returns the proof that it does not any
    /// more.
    pub(crate) fn end_use<C: AdminCommand<Reply = ()> + Ends>(
        &self,
        generation: u32,
        command: &C,
    ) -> Result<LetGo<C>> {
        self.end(generation, command)?;
        Ok(LetGo::acknowledged(self.admin.dma()))
    }

    /// What the device told when it was probed.
    pub(crate) fn features(&self) -> &Features {
        self.admin.features()
    }

    /// The link speed in Gbit/s.
    pub(crate) fn link_speed_gbps(&self) -> u16 {
        match self.features().device.max_link_speed_gbps {
            0 => DEFAULT_LINK_SPEED_GBPS,
            gbps => gbps,
        }
    }

    /// Inline data of a send in a wide descriptor, in bytes. Devices that tell no other limit have
    /// the one of any send.
    pub(crate) fn inline_buf_size_ex(&self) -> u16 {
        match &self.features().queues_2 {
            Some(queues_2) => queues_2.inline_buf_size_ex,
            None => self.inline_buf_size(),
        }
    }

    /// Inline data of a send, in bytes.
    pub(crate) fn inline_buf_size(&self) -> u16 {
        // CAST: User space knows a field of 16 bits, and C tells it the low ones.
        self.features().queues.inline_buf_size as u16
    }
}

impl AhCommands for Device<'_> {
    fn is_current(&self, generation: u32) -> bool {
        self.is_current(generation)
    }

    fn create_ah(&self, pd: PdId, gid: &Gid) -> Result<u16> {
        self.admin.exec(&CreateAh {
            pdn: pd.number,
            dest_addr: *gid,
        })
    }

    fn destroy_ah(&self, pd: PdId, ah: u16) -> Result {
        self.admin.exec(&DestroyAh { pdn: pd.number, ah })
    }
}
