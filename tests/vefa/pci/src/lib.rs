// SPDX-License-Identifier: GPL-2.0
//! The PCI side of the virtual EFA device: configuration space, base address registers, and the PCI
//! Express and MSI-X capabilities of one type 0 function.
//!
//! Not implemented, because the client of a vfio-user device does it: the contents of the MSI-X table and
//! pending bit array, and decoding of addresses by the values written to the BARs. There is no power
//! management capability and no extended capability.

#![forbid(unsafe_code)]

mod bar;
mod config_space;
mod layout;
pub mod regs;

pub use bar::{Bar, BarKind};
pub use config_space::{ConfigEvent, ConfigSpace};
pub use layout::{Function, LayoutError, Msix, BAR_COUNT, MSIX_MAX_VECTORS};
