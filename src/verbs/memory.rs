// SPDX-License-Identifier: GPL-2.0

//! Memory that an object shares with its process.

use crate::device::Device;
use kernel::{
    dma::DataDirection,
    prelude::*, //
};
use rdma::{
    queue_memory::QueueMemory,
    ratelimited,
    reach::NotShared, //
};

/// Allocates `len` bytes for a queue that `verb` creates.
///
/// # Errors
///
/// See [`QueueMemory::new`].
pub(super) fn for_queue(
    dev: &Device<'_>,
    verb: &str,
    len: usize,
    direction: DataDirection,
) -> Result<QueueMemory> {
    QueueMemory::new(dev.pdev.as_ref(), len, direction).map_err(|reason| refused(dev, verb, reason))
}

/// Says what keeps memory from being shared; returns the error for the process.
pub(super) fn refused(dev: &Device<'_>, verb: &str, reason: NotShared) -> Error {
    if !matches!(reason, NotShared::Failed(_)) {
        ratelimited!(dev_warn!(
            dev.pdev,
            "{verb}: memory cannot be shared with the device: {reason}\n"
        ));
    }
    reason.into()
}
