// SPDX-License-Identifier: GPL-2.0

//! Memory that an object shares with its process.

use crate::verbs::device::Device;
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
    verb: &'static CStr,
    len: usize,
    direction: DataDirection,
) -> Result<QueueMemory> {
    QueueMemory::new(dev.pdev.as_ref(), len, direction).map_err(|reason| {
        log_not_shared(dev, verb, reason);
        reason.into()
    })
}

/// Says what of the machine keeps memory from being shared.
#[cold]
pub(super) fn log_not_shared(dev: &Device<'_>, verb: &'static CStr, reason: NotShared) {
    if !matches!(reason, NotShared::Failed(_)) {
        ratelimited!(dev_warn!(
            dev.pdev,
            "{verb}: memory cannot be shared with the device: {reason}\n"
        ));
    }
}
