// SPDX-License-Identifier: GPL-2.0
//! Traffic counters, as GET_STATS reports them.

use vefa_spec::stats::{BasicStats, MessagesStats, NetworkStats, RdmaReadStats, RdmaWriteStats};

/// Traffic of one queue pair, or of the whole device, by type of statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub basic: BasicStats,
    pub messages: MessagesStats,
    pub rdma_read: RdmaReadStats,
    pub rdma_write: RdmaWriteStats,
    pub network: NetworkStats,
}
