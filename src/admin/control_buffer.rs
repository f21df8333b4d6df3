// SPDX-License-Identifier: GPL-2.0

//! Memory that a command points to.

use crate::hw::admin::*;
use kernel::{
    dma::Coherent,
    prelude::*, //
};

/// The memory that a command points to, in one or more pieces.
///
/// The admin queue keeps it for as long as the device may read it.
pub(crate) struct ControlBuffer {
    _pieces: KVVec<Coherent<[u8]>>,
    flags: u8,
}

impl ControlBuffer {
    /// What the command points to is all there is.
    pub(crate) fn direct(pieces: KVVec<Coherent<[u8]>>) -> Self {
        Self {
            _pieces: pieces,
            flags: ADMIN_AQ_COMMON_DESC_CTRL_DATA_MASK,
        }
    }

    /// What the command points to is a chain that points further.
    pub(crate) fn indirect(pieces: KVVec<Coherent<[u8]>>) -> Self {
        Self {
            _pieces: pieces,
            flags: ADMIN_AQ_COMMON_DESC_CTRL_DATA_MASK
                | ADMIN_AQ_COMMON_DESC_CTRL_DATA_INDIRECT_MASK,
        }
    }

    /// What the command's header has to say of it.
    pub(super) fn flags(&self) -> u8 {
        self.flags
    }
}
