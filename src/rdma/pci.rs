// SPDX-License-Identifier: GPL-2.0

//! What the kernel crate's `pci` lacks: turning a device on, and letting it master the bus, for as
//! long as it is used; stopping DMA for sure; BARs that are reserved but not mapped.

mod early;
mod taken;

pub use self::early::Early;
pub(crate) use self::taken::{
    Taken,
    What, //
};

use crate::{
    bindings,
    dma::DmaEnded, //
};
use kernel::{
    device::{
        self,
        Bound,
        Core, //
    },
    devres::Devres,
    error::to_result,
    io::Io,
    pci,
    prelude::*,
};

/// The C device behind a PCI device.
pub(crate) fn as_raw<Ctx: device::DeviceContext>(
    pdev: &pci::Device<Ctx>,
) -> *mut bindings::pci_dev {
    // CAST: `pci::Device` is a transparent wrapper of an `Opaque<pci_dev>`.
    core::ptr::from_ref(pdev).cast_mut().cast()
}

/// The C device behind a device.
pub(crate) fn dev_as_raw<Ctx: device::DeviceContext>(
    dev: &device::Device<Ctx>,
) -> *mut bindings::device {
    // CAST: `device::Device` is a transparent wrapper of an `Opaque<device>`.
    core::ptr::from_ref(dev).cast_mut().cast()
}

/// The BARs that are memory, one bit each.
pub fn memory_bars(pdev: &pci::Device) -> u32 {
    (0..bindings::PCI_STD_NUM_BARS)
        .filter(|bar| is_memory_bar(pdev, *bar))
        .fold(0, |bars, bar| bars | 1 << bar)
}

/// Whether the device has a BAR of this number that is memory.
pub(crate) fn is_memory_bar(pdev: &pci::Device, bar: u32) -> bool {
    // SAFETY: The device is valid; the function checks the number.
    unsafe { bindings::rdma_shim_pci_is_memory(as_raw(pdev), bar) }
}

/// A part of a BAR, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BarPart {
    bar: u32,
    offset: u64,
    len: u64,
}

/// The memory BARs of a device that is bound, and where in them its interrupts are set up: the MSI-X
/// table and its pending bits.
///
/// No process may reach those: whoever writes there chooses what the device writes as an interrupt,
/// and where.
///
/// # Invariants
///
/// `bars` are the device's: the PCI core moves and resizes none of a device that is bound.
pub struct MemoryBars<'a> {
    pub(crate) device: &'a pci::Device<Bound>,
    /// By number; empty where there is none.
    bars: [MemoryBar; bindings::PCI_STD_NUM_BARS as usize],
    interrupts: Places,
}

/// Where a BAR is in the memory of the machine.
#[derive(Clone, Copy)]
pub(crate) struct MemoryBar {
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// Empty parts where the device has no MSI-X.
#[derive(Debug, PartialEq, Eq)]
struct Places([BarPart; 2]);

impl<'a> MemoryBars<'a> {
    /// Finds out where they are.
    ///
    /// # Errors
    ///
    /// `EIO`: the configuration space cannot be read.
    pub fn of(device: &'a pci::Device<Bound>) -> Result<Self> {
        let mut bars = [MemoryBar { start: 0, len: 0 }; bindings::PCI_STD_NUM_BARS as usize];
        for (number, bar) in (0..).zip(&mut bars) {
            if is_memory_bar(device, number) {
                bar.start = device.resource_start(number)?;
                bar.len = device.resource_len(number)?;
            }
        }
        // INVARIANT: Asked for just now, and it is bound during `'a`.
        Ok(Self {
            device,
            bars,
            interrupts: Places::read(device)?,
        })
    }

    /// The BAR of this number, if the device has it and it is memory.
    pub(crate) fn get(&self, bar: u32) -> Option<MemoryBar> {
        // CAST: `usize` has at least 32 bits.
        let bar = self.bars.get(bar as usize)?;
        (bar.len != 0).then_some(*bar)
    }

    /// Says whether interrupts are set up in `len` bytes from `offset` on in a BAR.
    pub(crate) fn has_interrupts(&self, bar: u32, offset: u64, len: u64) -> bool {
        self.interrupts.are_in(bar, offset, len)
    }
}

impl Places {
    fn read(device: &pci::Device<Bound>) -> Result<Self> {
        // SAFETY: The device is valid, and the field set before any driver was bound.
        let capability = usize::from(unsafe { (*as_raw(device)).msix_cap });
        if capability == 0 {
            let none = BarPart {
                bar: 0,
                offset: 0,
                len: 0,
            };
            return Ok(Self([none; 2]));
        }
        let config = device.config_space();
        let word = |register: u32| {
            // CAST: A small constant.
            match config.try_read32(capability + register as usize)? {
                // A device that is gone reads as all ones, which no word of the capability is.
                u32::MAX => Err(EIO),
                word => Ok(word),
            }
        };
        // The flags are in the high half of the capability's first word.
        Ok(Self::decode(
            word(0)? >> 16,
            word(bindings::PCI_MSIX_TABLE)?,
            word(bindings::PCI_MSIX_PBA)?,
        ))
    }

    /// What the capability's registers say.
    fn decode(flags: u32, table: u32, pending: u32) -> Self {
        let vectors = u64::from(flags & bindings::PCI_MSIX_FLAGS_QSIZE) + 1;
        let part = |register: u32, len: u64| BarPart {
            bar: register & bindings::PCI_MSIX_TABLE_BIR,
            offset: (register & !bindings::PCI_MSIX_TABLE_BIR).into(),
            len,
        };
        Self([
            part(table, vectors * u64::from(bindings::PCI_MSIX_ENTRY_SIZE)),
            part(pending, vectors.div_ceil(64) * 8),
        ])
    }

    /// Says whether any of them is among `len` bytes from `offset` on in a BAR.
    fn are_in(&self, bar: u32, offset: u64, len: u64) -> bool {
        self.0.iter().any(|part| {
            part.bar == bar
                && part.offset < offset.saturating_add(len)
                && offset < part.offset + part.len
        })
    }
}

/// A device whose memory BARs answer.
///
/// It is turned off when this is dropped, or when the driver is unbound.
pub struct Enabled {
    _memory: Devres<Taken>,
}

impl Enabled {
    /// Turns the device on.
    ///
    /// # Errors
    ///
    /// What the PCI core says; `ENOMEM`: out of memory.
    fn new(pdev: &pci::Device<Core<'_>>) -> Result<Self> {
        pdev.enable_device_mem()?;
        // INVARIANT: Enabled just now.
        let memory = Taken {
            pdev: (&**pdev).into(),
            what: What::Memory,
        };
        Ok(Self {
            _memory: Devres::new(pdev.as_ref(), memory)?,
        })
    }
}

/// What a device can do on the bus.
pub enum BusState {
    /// It is not there any more.
    Gone(DmaEnded),
    /// It does no DMA until somebody lets it master the bus again.
    Off(BusOff),
    /// It does not let go.
    On,
}

/// A device that does no DMA until somebody lets it master the bus again.
pub struct BusOff(());

impl BusOff {
    /// All that the device knows of is told to it anew before it can use it again.
    pub fn and_told_anew(self) -> DmaEnded {
        DmaEnded::by_bus()
    }
}

/// A device that may master the bus: do DMA, and send interrupts.
///
/// It may not any more when this is dropped, or when the driver is unbound.
pub struct BusMaster(Devres<Taken>);

impl BusMaster {
    /// Lets the device master the bus.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: out of memory.
    fn new(pdev: &pci::Device<Core<'_>>) -> Result<Self> {
        pdev.set_master();
        // INVARIANT: It may master the bus from now on.
        let bus = Taken {
            pdev: (&**pdev).into(),
            what: What::Bus,
        };
        Ok(Self(Devres::new(pdev.as_ref(), bus)?))
    }

    /// Takes bus mastering from the device at once, and says what came of it.
    pub fn stop(&self) -> BusState {
        let Some(bus) = self.0.try_access() else {
            // Unbound, which took it away.
            return BusState::Off(BusOff(()));
        };
        let pdev = as_raw(&bus.pdev);
        let mut command = 0;
        // SAFETY: The device is valid, and `command` may be written.
        let read = unsafe {
            bindings::pci_clear_master(pdev);
            bindings::pci_read_config_word(pdev, bindings::PCI_COMMAND as c_int, &mut command)
        };
        // A device that is gone reads as all ones.
        if read != 0 || command == u16::MAX {
            BusState::Gone(DmaEnded::by_bus())
        } else if u32::from(command) & bindings::PCI_COMMAND_MASTER == 0 {
            BusState::Off(BusOff(()))
        } else {
            BusState::On
        }
    }
}

/// A BAR that belongs to this driver but is not mapped by the kernel.
///
/// For a BAR that user space maps with attributes of its own. It is given back when this is
/// dropped, or when the driver is unbound.
pub struct ReservedBar {
    _bar: Devres<Taken>,
}

impl ReservedBar {
    /// Reserves memory BAR `bar` under `name` in `/proc/iomem`.
    ///
    /// # Errors
    ///
    /// * `ENODEV`: the device has no such memory BAR.
    /// * `EBUSY`: somebody else has it.
    /// * `ENOMEM`: out of memory.
    pub fn new(pdev: &pci::Device<Bound>, bar: u32, name: &'static CStr) -> Result<Self> {
        if !is_memory_bar(pdev, bar) {
            return Err(ENODEV);
        }
        let bar = bar.try_into()?;
        // SAFETY: The device is valid, the BAR is one of its own, and the name lives forever.
        to_result(unsafe { bindings::pci_request_region(as_raw(pdev), bar, name.as_char_ptr()) })?;
        // INVARIANT: Requested just now.
        let bar = Taken {
            pdev: pdev.into(),
            what: What::Bar(bar),
        };
        Ok(Self {
            _bar: Devres::new(pdev.as_ref(), bar)?,
        })
    }
}

#[kernel::macros::kunit_tests(rdma_pci)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_set_up_where_the_capability_says() {
        let places = Places::decode(0x8000 | 64, 0x2000, 0x3000 | 4);
        assert_eq!(
            places.0,
            [
                BarPart {
                    bar: 0,
                    offset: 0x2000,
                    len: 65 * 16,
                },
                BarPart {
                    bar: 4,
                    offset: 0x3000,
                    len: 16,
                },
            ]
        );
    }

    #[test]
    fn what_touches_the_interrupt_memory_is_found() {
        let places = Places::decode(0, 0x2000, 0x3008 | 4);
        for (bar, offset, len, expected) in [
            (0, 0x1000, 0x1000, false),
            (0, 0x1000, 0x1001, true),
            (0, 0x200f, 1, true),
            (0, 0x2010, u64::MAX, false),
            (4, 0x2000, 0x1000, false),
            (4, 0x3000, 0x1000, true),
            (4, 0, u64::MAX, true),
            (2, 0, u64::MAX, false),
        ] {
            assert_eq!(places.are_in(bar, offset, len), expected);
        }
    }
}
