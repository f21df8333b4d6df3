// SPDX-License-Identifier: GPL-2.0

//! A device's directory in debugfs: `DRIVER/DEVICE/`, where `DEVICE` is the name on the bus.
//!
//! The kernel crate's files make all of their text at once, and know only data that is `'static`.
//! A file here is made in pieces, as it is read, so that a long table needs neither a large buffer
//! nor a lock from its start to its end. Between two pieces a reader is nothing but a place.
//!
//! The directory goes before the device is unregistered. That waits for pieces that are being
//! made; a file that is still open fails with `EIO` from then on, and keeps the module loaded until
//! it is closed. Where the kernel has no debugfs there is nothing, and that is no error.
//!
//! C headers: `include/linux/debugfs.h`, `include/linux/seq_file.h`

#[cfg(CONFIG_DEBUG_FS)]
mod dir;
#[cfg(CONFIG_DEBUG_FS)]
mod seq;

#[cfg(CONFIG_DEBUG_FS)]
pub(crate) use self::dir::{DeviceDir, DriverDir};

use crate::{provider::Provider, rhashtable::Cursor};
use kernel::{fmt, prelude::*};
use pin_init::Zeroable;

/// A file in the directory of each device of the provider `P`.
pub struct File<P: Provider> {
    /// Its name.
    pub name: &'static CStr,
    /// Writes the piece at a place, and moves the place's cursor behind it.
    ///
    /// Returns false, and writes nothing, at the end. A piece that did not fit into the reader's
    /// buffer is written again from the same place. It is kept whole in memory, so it should be
    /// small.
    pub write: fn(&P::Data<'_>, &mut Place, &mut dyn fmt::Write) -> bool,
}

/// A place in the text of a file: all zeroes at the start.
#[derive(Clone, Copy, Zeroable)]
pub struct Place {
    /// How many pieces are before it.
    pub pieces: usize,
    /// Where it is in a table.
    pub cursor: Cursor,
}

/// What stands for the directories where the kernel has no debugfs.
#[cfg(not(CONFIG_DEBUG_FS))]
mod none {
    use super::*;
    use core::{marker::PhantomData, ptr::NonNull};
    use kernel::device;

    pub(crate) enum DriverDir {}

    impl DriverDir {
        pub(crate) fn create(_name: &CStr) {}
        pub(crate) fn remove() {}
    }

    pub(crate) struct DeviceDir<P: Provider>(PhantomData<fn() -> P>);

    impl<P: Provider> DeviceDir<P> {
        /// # Safety
        ///
        /// None.
        pub(crate) unsafe fn new(
            _dev: &device::Device<device::Bound>,
            _data: NonNull<P::Data<'static>>,
        ) -> Self {
            Self(PhantomData)
        }
    }
}

#[cfg(not(CONFIG_DEBUG_FS))]
pub(crate) use self::none::{DeviceDir, DriverDir};
