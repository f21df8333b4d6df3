// SPDX-License-Identifier: GPL-2.0

//! A device at the start of its probe.

use super::{
    dev_as_raw,
    BusMaster,
    Enabled,
    ReservedBar, //
};
use crate::bindings;
use kernel::{
    device::Core,
    dma::{
        Coherent,
        Device as _,
        DmaMask, //
    },
    pci::{
        self,
        DevresBar, //
    },
    prelude::*,
    transmute::{
        AsBytes,
        FromBytes, //
    }, //
};

/// A device whose limits of DMA are not known yet, since it has to tell them.
///
/// They must not change while anybody allocates memory for DMA. Whoever has the device as a bound
/// one can do that, on any thread. So a driver gets it so only when they are known, and has what it
/// takes to ask the device until then.
///
/// # Invariants
///
/// The device is being probed, and nobody but this value has it as a bound one.
pub struct Early<'bound, 'core>(&'bound pci::Device<Core<'core>>);

impl<'bound, 'core> Early<'bound, 'core> {
    /// Takes a device at the start of its probe.
    ///
    /// # Safety
    ///
    /// `pdev` is being probed, and was not given to anybody else.
    pub(crate) unsafe fn new(pdev: &'bound pci::Device<Core<'core>>) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self(pdev)
    }

    /// The device, for what needs no bound one.
    pub fn function(&self) -> &pci::Device {
        self.0
    }

    /// Turns it on.
    ///
    /// # Errors
    ///
    /// What the PCI core says; `ENOMEM`: out of memory.
    pub fn enable(&self) -> Result<Enabled> {
        Enabled::new(self.0)
    }

    /// Lets it master the bus.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: out of memory.
    pub fn let_master(&self) -> Result<BusMaster> {
        BusMaster::new(self.0)
    }

    /// Maps the registers in a BAR, under `name` in `/proc/iomem`.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: there is no such BAR, or it is smaller than `SIZE` bytes.
    /// - `EBUSY`: somebody else has it.
    /// - `ENOMEM`: out of memory.
    pub fn map<const SIZE: usize>(&self, bar: u32, name: &'static CStr) -> Result<DevresBar<SIZE>> {
        self.0.iomap_region_sized::<SIZE>(bar, name)?.into_devres()
    }

    /// Reserves a memory BAR; see [`ReservedBar::new`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn reserve(&self, bar: u32, name: &'static CStr) -> Result<ReservedBar> {
        ReservedBar::new(self.0, bar, name)
    }

    /// Allocates memory that the device can write its answers to: below 4 GiB, as long as no other
    /// limits are set, so that a device with limits of 32 bits or more finds it.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: out of memory.
    pub fn alloc<T: AsBytes + FromBytes>(&self) -> Result<Coherent<T>> {
        Coherent::zeroed(self.0.as_ref(), GFP_KERNEL)
    }

    /// Tells the DMA layer how many bits an address may have, and that a segment may be of any
    /// size. Then anybody may have the device.
    ///
    /// That is the limit of what the DMA layer allocates. Where the machine has memory beyond it,
    /// and no IOMMU brings that into reach, there is none for what it maps: it would warn, or use
    /// bounce buffers. What may be mapped is for [`Reach`](crate::reach::Reach) to say.
    ///
    /// # Errors
    ///
    /// * `EINVAL`: not a number of bits.
    /// * `EIO`: the machine cannot serve such a device.
    pub fn with_dma_limits(self, address_bits: u32) -> Result<&'bound pci::Device<Core<'core>>> {
        let mask = DmaMask::try_new(address_bits)?;
        // SAFETY: By the type invariants nobody else can allocate memory for DMA, and this thread
        // does not. The device is valid.
        unsafe {
            self.0.dma_set_mask_and_coherent(mask)?;
            if bindings::dma_addressing_limited(dev_as_raw(self.0.as_ref())) {
                self.0.dma_set_mask(DmaMask::new::<64>())?;
            }
            self.0.dma_set_max_seg_size(u32::MAX);
        }
        Ok(self.0)
    }
}
