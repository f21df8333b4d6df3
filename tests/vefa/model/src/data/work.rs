// SPDX-License-Identifier: GPL-2.0
//! What the data path keeps of each queue pair.

use crate::data::traffic::Traffic;

/// A queue pair's work: how far its queues have come, and what is outstanding.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Traffic of this queue pair since it was created.
    pub traffic: Traffic,
}
