// SPDX-License-Identifier: GPL-2.0

//! Work that is done later.

use super::Provider;
use crate::deferred::Work;
use kernel::time::Msecs;

/// A device with work that no call should wait for.
pub trait DeferredWork: Provider {
    /// The handle by which the driver asks for the work.
    fn work<'a>(dev: &'a Self::Data<'_>) -> &'a Work;

    /// Does some of the work, in a thread of the kernel; never two at a time for one device.
    ///
    /// Returns in how many milliseconds it is to be called again, unless it is asked for earlier.
    /// It may sleep, but the end of the device waits for it.
    fn run(dev: &Self::Data<'_>) -> Option<Msecs>;
}
