// SPDX-License-Identifier: GPL-2.0
//! Base address registers.

use crate::regs;

/// How a memory BAR presents itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarKind {
    /// 32-bit, not prefetchable: registers and doorbells.
    Memory32,
    /// 64-bit, prefetchable: memory that may be mapped write combining. Takes two BAR slots.
    Memory64Prefetchable,
}

/// One base address register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// Bytes; a power of two of at least 16.
    pub size: u64,
    /// Width and prefetchability.
    pub kind: BarKind,
}

impl Bar {
    /// Low-order bits that software reads back whatever it writes.
    pub(crate) fn flags(self) -> u32 {
        match self.kind {
            BarKind::Memory32 => 0,
            BarKind::Memory64Prefetchable => regs::BAR_MEMORY_64BIT | regs::BAR_MEMORY_PREFETCHABLE,
        }
    }

    /// Bits of the address that software can write; the others tell it the size.
    pub(crate) fn writable(self) -> u64 {
        !(self.size.wrapping_sub(1)) & !u64::from(regs::BAR_MEMORY_FLAGS)
    }

    /// Number of 32-bit slots that the register occupies.
    pub(crate) fn slots(self) -> usize {
        match self.kind {
            BarKind::Memory32 => 1,
            BarKind::Memory64Prefetchable => 2,
        }
    }
}
