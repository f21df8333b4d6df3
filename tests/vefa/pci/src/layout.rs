// SPDX-License-Identifier: GPL-2.0
//! What a function presents, and whether that can exist.

use crate::{regs, Bar, BarKind};
use thiserror::Error;

/// BAR slots of a type 0 function.
pub const BAR_COUNT: usize = 6;
/// Most vectors that MSI-X can have: 11 bits of table size.
pub const MSIX_MAX_VECTORS: u16 = 2048;

/// MSI-X table and pending bit array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Msix {
    /// Number of vectors.
    pub vectors: u16,
    /// BAR that holds both the table and the pending bit array.
    pub bar: usize,
    /// Offset of the table in that BAR, in bytes; a multiple of 8.
    pub table: u64,
    /// Offset of the pending bit array in that BAR, in bytes; a multiple of 8.
    pub pba: u64,
}

/// Identity, BARs and interrupts of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub vendor_id: u16,
    pub device_id: u16,
    pub revision: u8,
    /// Base class, subclass and programming interface, as `0xCCSSPP`.
    pub class: u32,
    pub subsystem_vendor_id: u16,
    pub subsystem_id: u16,
    /// BARs by number. `None` is a BAR that the function does not have.
    pub bars: [Option<Bar>; BAR_COUNT],
    /// Interrupts; `None` when the function has no MSI-X.
    pub msix: Option<Msix>,
}

/// Why a function cannot exist.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LayoutError {
    #[error("BAR {0}: size {1} is not a power of two of at least 16 bytes")]
    BarSize(usize, u64),
    #[error("BAR {0}: {1} bytes do not fit into 32 bits of address")]
    BarTooLarge(usize, u64),
    #[error("BAR {0}: a 64-bit BAR also needs the slot after it")]
    BarSlot(usize),
    #[error("MSI-X: {0} vectors, expected 1 to {MSIX_MAX_VECTORS}")]
    MsixVectors(u16),
    #[error("MSI-X: table and pending bits do not fit into BAR {0}, or overlap")]
    MsixPlacement(usize),
}

impl Function {
    /// An Elastic Fabric Adapter with the given BARs and interrupts.
    ///
    /// EFA shows itself as an Ethernet controller whose subsystem ids repeat vendor and device.
    pub fn efa(device_id: u16, bars: [Option<Bar>; BAR_COUNT], msix: Option<Msix>) -> Self {
        const VENDOR_AMAZON: u16 = 0x1d0f;
        const CLASS_ETHERNET: u32 = 0x02_00_00;
        Function {
            vendor_id: VENDOR_AMAZON,
            device_id,
            revision: 0,
            class: CLASS_ETHERNET,
            subsystem_vendor_id: VENDOR_AMAZON,
            subsystem_id: device_id,
            bars,
            msix,
        }
    }

    /// Checks BAR sizes and slots, and the placement of the MSI-X structures.
    ///
    /// # Errors
    ///
    /// The first rule that does not hold, as a [`LayoutError`].
    pub fn check(&self) -> Result<(), LayoutError> {
        self.check_bars()?;
        self.msix.map_or(Ok(()), |msix| self.check_msix(msix))
    }

    fn check_bars(&self) -> Result<(), LayoutError> {
        const MIN_SIZE: u64 = 16;
        for (index, bar) in self.present_bars() {
            if !bar.size.is_power_of_two() || bar.size < MIN_SIZE {
                return Err(LayoutError::BarSize(index, bar.size));
            }
            if bar.kind == BarKind::Memory32 && bar.size > 1 << 31 {
                return Err(LayoutError::BarTooLarge(index, bar.size));
            }
            let others = self.bars.iter().skip(index + 1).take(bar.slots() - 1);
            if index + bar.slots() > BAR_COUNT || others.flatten().next().is_some() {
                return Err(LayoutError::BarSlot(index));
            }
        }
        Ok(())
    }

    fn check_msix(&self, msix: Msix) -> Result<(), LayoutError> {
        if msix.vectors == 0 || msix.vectors > MSIX_MAX_VECTORS {
            return Err(LayoutError::MsixVectors(msix.vectors));
        }
        let misplaced = LayoutError::MsixPlacement(msix.bar);
        let Some(Some(bar)) = self.bars.get(msix.bar) else {
            return Err(misplaced);
        };
        let table = Span::new(msix.table, u64::from(msix.vectors) * regs::MSIX_ENTRY_SIZE);
        let pba = Span::new(msix.pba, u64::from(msix.vectors).div_ceil(64) * 8);
        let aligned = msix.table % 8 == 0 && msix.pba % 8 == 0;
        if !aligned || !table.fits(bar.size) || !pba.fits(bar.size) || table.overlaps(&pba) {
            return Err(misplaced);
        }
        Ok(())
    }

    /// The BARs that exist, with their numbers.
    pub(crate) fn present_bars(&self) -> impl Iterator<Item = (usize, Bar)> + '_ {
        let numbered = self.bars.iter().enumerate();
        numbered.filter_map(|(index, bar)| bar.map(|bar| (index, bar)))
    }
}

/// A range of bytes in a BAR; the MSI-X capability has 32 bits for its start.
struct Span {
    start: u64,
    len: u64,
}

impl Span {
    fn new(start: u64, len: u64) -> Self {
        Span { start, len }
    }

    fn fits(&self, size: u64) -> bool {
        self.start <= u64::from(u32::MAX) && self.start.saturating_add(self.len) <= size
    }

    fn overlaps(&self, other: &Span) -> bool {
        self.start < other.start.saturating_add(other.len)
            && other.start < self.start.saturating_add(self.len)
    }
}
