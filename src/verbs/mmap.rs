// SPDX-License-Identifier: GPL-2.0

//! The parts of a device that processes map.

use crate::{
    admin::{
        LLQ_BAR,
        REGISTERS_BAR, //
    },
    hw::regs::REGS_SIZE, //
    verbs::device::Device,
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};
use rdma::{
    mmap::{
        Caching,
        IoPages,
        Target,
        Watched, //
    },
    ratelimited, //
};

/// What is at a place in the registers' BAR.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Registers,
    /// None, but there are on the same page, which a process would get as a whole.
    PageWithRegisters,
    Elsewhere,
}

impl Place {
    fn of(offset: u32, page_size: usize) -> Self {
        // CAST: `usize` has 64 bits where this builds.
        let offset = offset as usize;
        if offset < REGS_SIZE {
            Self::Registers
        } else if offset < REGS_SIZE.next_multiple_of(page_size) {
            Self::PageWithRegisters
        } else {
            Self::Elsewhere
        }
    }
}

/// A part of the device that a process maps, and where in its first page it begins.
pub(super) struct DevicePart<'a> {
    pub(super) target: Target<'a>,
    pub(super) offset_in_page: u32,
}

/// The page in which the doorbell at `offset` of the doorbell BAR begins.
///
/// # Errors
///
/// `EIO`: the device told an offset outside its BAR, or on a page with its registers or where its
/// interrupts are set up.
pub(super) fn doorbell<'a>(dev: &'a Device<'_>, offset: u32) -> Result<DevicePart<'a>> {
    let bar = dev.features().doorbell_bar();
    if bar == REGISTERS_BAR {
        expect_no_registers(dev, offset)?;
    }
    part(dev, "a doorbell", (bar, offset, 1), Caching::Uncached, None)
}

/// Checks that a process gets no registers with the doorbell at `offset` of their BAR.
fn expect_no_registers(dev: &Device<'_>, offset: u32) -> Result {
    match Place::of(offset, PAGE_SIZE) {
        Place::Elsewhere => return Ok(()),
        Place::Registers => ratelimited!(dev_err!(
            dev.pdev,
            "the device told a doorbell at {offset:#x} of BAR {REGISTERS_BAR}, where its registers \
             are\n"
        )),
        Place::PageWithRegisters => ratelimited!(dev_err!(
            dev.pdev,
            "the doorbell at {offset:#x} of BAR {REGISTERS_BAR} is on a page with registers, by which \
             a process could reset the device: this kernel's pages of {} KiB are too large for it\n",
            PAGE_SIZE >> 10
        )),
    }
    Err(EIO)
}

/// The pages of the `len` bytes of LLQ memory at `offset`. Whoever is told by `watched` has to keep
/// the device from giving them to others until then.
///
/// # Errors
///
/// `EIO`: the device told an offset outside its BAR, or pages where its interrupts are set up.
pub(super) fn llq<'a>(
    dev: &'a Device<'_>,
    offset: u32,
    len: u32,
    watched: Watched,
) -> Result<DevicePart<'a>> {
    let place = (LLQ_BAR, offset, len);
    part(
        dev,
        "a send ring",
        place,
        Caching::WriteCombining,
        Some(watched),
    )
}

/// What a process is to map: `len` bytes at `offset` of `bar`.
fn part<'a>(
    dev: &'a Device<'_>,
    what: &str,
    (bar, offset, len): (u32, u32, u32),
    caching: Caching,
    watched: Option<Watched>,
) -> Result<DevicePart<'a>> {
    let pages = IoPages::of_bar(&dev.bars, bar, offset.into(), len.into());
    let pages = pages.map_err(|error| {
        let reason = if error == EACCES {
            "where its interrupts are set up"
        } else {
            "which is not there"
        };
        ratelimited!(dev_err!(
            dev.pdev,
            "the device told {what} at {offset:#x} of BAR {bar}, {reason}\n"
        ));
        EIO
    })?;
    Ok(DevicePart {
        target: Target::Device(pages, caching, watched),
        offset_in_page: pages.offset_in_page(),
    })
}

#[kernel::macros::kunit_tests(efa_mmap)]
mod tests {
    use super::*;

    #[test]
    fn larger_pages_have_more_beside_the_registers() {
        // CAST: Some hundred bytes.
        const END: u32 = REGS_SIZE as u32;
        for kib in [4, 16, 64] {
            let next_page = kib << 10;
            for (offset, expected) in [
                (0, Place::Registers),
                (END - 1, Place::Registers),
                (END, Place::PageWithRegisters),
                (next_page - 1, Place::PageWithRegisters),
                (next_page, Place::Elsewhere),
                (u32::MAX, Place::Elsewhere),
            ] {
                // CAST: `usize` has 64 bits where this builds.
                assert_eq!(Place::of(offset, next_page as usize), expected);
            }
        }
    }
}
