// SPDX-License-Identifier: GPL-2.0
//! What an EFA device looks like from the outside: its register map, its
//! admin protocol's constants, and the layout of every entry that crosses the
//! bus.
//!
//! The offsets are written out here, and are not taken from the driver: a
//! mistake shared by driver and device would pass every test. The `layout`
//! tests compare both with the kernel's own C headers, through [`layouts`] and
//! [`constants`].
#![forbid(unsafe_code)]

pub mod commands;
pub mod constants;
pub mod crc;
pub mod entries;
pub mod features;
pub mod io;
pub mod io_constants;
pub mod layout;
pub mod reads;
pub mod regs;
pub mod stats;

pub use constants::constants;
pub use layout::{Field, Layout, Wire};

/// Every layout of this crate, in the order of the C headers.
pub fn layouts() -> Vec<&'static Layout> {
    [
        entries::LAYOUTS,
        commands::LAYOUTS,
        stats::LAYOUTS,
        features::LAYOUTS,
        io::LAYOUTS,
    ]
    .concat()
}
