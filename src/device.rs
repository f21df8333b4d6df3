// SPDX-License-Identifier: GPL-2.0

//! The device as the verbs see it.

use crate::{
    admin::{
        commands::{
            CreateAh,
            DestroyAh, //
        },
        features::Features,
        Admin, //
    },
    ah_cache::{
        AhCache,
        AhCommands,
        PdId, //
    },
    quarantine::Quarantine,
    verbs::stats::VerbsStats, //
};
use kernel::{
    device::Bound,
    pci,
    prelude::*, //
};
use rdma::attr::Gid;

/// The link speed of devices that do not tell it.
const DEFAULT_LINK_SPEED_GBPS: u16 = 100;

/// A device. Exists while the driver is bound; verbs reach it while it is registered.
///
/// What the device itself holds is freed by the reset that ends `admin`, so what the driver knows
/// about it goes first.
#[pin_data]
pub(crate) struct Device<'bound> {
    pub(crate) pdev: &'bound pci::Device<Bound>,
    #[pin]
    pub(crate) ah_cache: AhCache,
    #[pin]
    pub(crate) quarantine: Quarantine,
    pub(crate) stats: VerbsStats,
    pub(crate) admin: Admin,
}

impl<'bound> Device<'bound> {
    /// A device whose command layer is up.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn new(
        pdev: &'bound pci::Device<Bound>,
        admin: Admin,
    ) -> impl PinInit<Self, Error> + 'bound {
        try_pin_init!(Self {
            pdev,
            ah_cache <- AhCache::new(),
            quarantine <- Quarantine::new(),
            stats: VerbsStats::new(),
            admin,
        }? Error)
    }

    /// Says whether objects of this reset generation still exist on the device.
    pub(crate) fn is_current(&self, generation: u32) -> bool {
        self.admin.generation() == generation
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
        // User space knows a field of 16 bits; devices have some tens of bytes.
        self.features()
            .queues
            .inline_buf_size
            .try_into()
            .unwrap_or(u16::MAX)
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
