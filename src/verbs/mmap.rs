// SPDX-License-Identifier: GPL-2.0

//! The parts of a device that processes map.

use crate::{
    admin::{
        LLQ_BAR,
        REGISTERS_BAR, //
    },
    device::Device,
    hw::regs::REGS_SIZE, //
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

/// Bytes at the start of the registers' BAR that share pages with registers.
// CAST: A page or a few.
const REGISTER_PAGES: u32 = REGS_SIZE.next_multiple_of(PAGE_SIZE) as u32;

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
    if bar == REGISTERS_BAR && offset < REGISTER_PAGES {
        ratelimited!(dev_err!(
            dev.pdev,
            "the device told a doorbell at {offset:#x} of BAR {bar}, where its registers are\n"
        ));
        return Err(EIO);
    }
    part(dev, bar, offset, 1, Caching::Uncached, None)
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
    let caching = Caching::WriteCombining;
    part(dev, LLQ_BAR, offset, len, caching, Some(watched))
}

fn part<'a>(
    dev: &'a Device<'_>,
    bar: u32,
    offset: u32,
    len: u32,
    caching: Caching,
    watched: Option<Watched>,
) -> Result<DevicePart<'a>> {
    let pages = IoPages::of_bar(dev.pdev, &dev.interrupts, bar, offset.into(), len.into());
    let pages = pages.map_err(|error| {
        let reason = if error == EACCES {
            "where its interrupts are set up"
        } else {
            "which are not there"
        };
        ratelimited!(dev_err!(
            dev.pdev,
            "the device told {len} bytes at {offset:#x} of BAR {bar}, {reason}\n"
        ));
        EIO
    })?;
    Ok(DevicePart {
        target: Target::Device(pages, caching, watched),
        offset_in_page: pages.offset_in_page(),
    })
}
