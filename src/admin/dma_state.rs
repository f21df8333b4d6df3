// SPDX-License-Identifier: GPL-2.0

//! Whether the device may still do DMA.

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            ordering::{Acquire, Release},
            Atomic, //
        },
        Arc, //
    }, //
};

/// Whether the device may still reach the memory that it was given.
///
/// Until DMA is over, memory of an object that the device did not destroy must not be freed.
#[derive(Clone)]
pub(crate) struct DmaState(Arc<Atomic<bool>>);

impl DmaState {
    /// The state of a device that may do DMA.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(Arc::new(Atomic::new(false), GFP_KERNEL)?))
    }

    /// Says whether the device was reset, or is gone: what it was given is not reached any more.
    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Acquire)
    }

    /// Notes that DMA is over.
    pub(crate) fn end(&self) {
        self.0.store(true, Release);
    }
}
