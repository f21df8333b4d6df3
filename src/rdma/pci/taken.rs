// SPDX-License-Identifier: GPL-2.0

//! What a driver takes of a device and has to give back.

use super::as_raw;
use crate::bindings;
use kernel::{
    pci,
    prelude::*,
    sync::aref::ARef, //
};

/// Something of a device that is given back when this is dropped.
///
/// # Invariants
///
/// The driver has it, and nobody else gives it back.
pub(crate) struct Taken {
    pub(crate) pdev: ARef<pci::Device>,
    pub(crate) what: What,
}

/// What it is.
pub(crate) enum What {
    /// The device is turned on.
    Memory,
    /// It may master the bus.
    Bus,
    /// This BAR is reserved.
    Bar(c_int),
    /// Its MSI-X vectors are allocated. Each [`Registration`](crate::irq::Registration) holds the
    /// `Vectors` this belongs to, and devres releases in reverse order, so no handler is left on
    /// any of them when they are given back.
    Vectors,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let pdev = as_raw(&self.pdev);
        // SAFETY: The device is valid, and by the type invariant what is given back is the driver's.
        // There is no handler on the vectors.
        unsafe {
            match self.what {
                What::Memory => bindings::pci_disable_device(pdev),
                What::Bus => bindings::pci_clear_master(pdev),
                What::Bar(bar) => bindings::pci_release_region(pdev, bar),
                What::Vectors => bindings::pci_free_irq_vectors(pdev),
            }
        }
    }
}
