// SPDX-License-Identifier: GPL-2.0

//! Wire layouts of the admin command that reads statistics.

use super::admin::{
    AdminAcqCommonDesc,
    AdminCtrlBuffInfo, //
};

rdma::wire! {
    /// Reads one type of statistics.
    pub(crate) struct AdminAqGetStatsCmd {
        /// Not used by any type so far.
        pub(crate) control_buffer: AdminCtrlBuffInfo,
        /// Which statistics, one of the types below.
        pub(crate) r#type: u8,
        /// Whose, one of the scopes below.
        pub(crate) scope: u8,
        /// The queue, for that scope.
        pub(crate) scope_modifier: u16,
    }

    /// Response to [`AdminAqGetStatsCmd`].
    pub(crate) struct AdminAcqGetStatsResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// One of the statistics below, by type.
        pub(crate) u: [u64; 6],
    }

    /// Statistics of packets.
    pub(crate) struct AdminBasicStats {
        /// Bytes sent.
        pub(crate) tx_bytes: u64,
        /// Packets sent.
        pub(crate) tx_pkts: u64,
        /// Bytes received.
        pub(crate) rx_bytes: u64,
        /// Packets received.
        pub(crate) rx_pkts: u64,
        /// Packets received and dropped.
        pub(crate) rx_drops: u64,
        /// Packets received with a wrong queue key.
        pub(crate) qkey_viol: u64,
    }

    /// Statistics of sends and receives.
    pub(crate) struct AdminMessagesStats {
        /// Bytes sent.
        pub(crate) send_bytes: u64,
        /// Work requests that sent.
        pub(crate) send_wrs: u64,
        /// Bytes received.
        pub(crate) recv_bytes: u64,
        /// Work requests that received.
        pub(crate) recv_wrs: u64,
    }

    /// Statistics of RDMA reads.
    pub(crate) struct AdminRdmaReadStats {
        /// Work requests that read.
        pub(crate) read_wrs: u64,
        /// Bytes read.
        pub(crate) read_bytes: u64,
        /// Work requests that failed.
        pub(crate) read_wr_err: u64,
        /// Bytes that others read here.
        pub(crate) read_resp_bytes: u64,
    }

    /// Statistics of RDMA writes.
    pub(crate) struct AdminRdmaWriteStats {
        /// Work requests that wrote.
        pub(crate) write_wrs: u64,
        /// Bytes written.
        pub(crate) write_bytes: u64,
        /// Work requests that failed.
        pub(crate) write_wr_err: u64,
        /// Bytes that others wrote here.
        pub(crate) write_recv_bytes: u64,
    }

    /// Statistics of the network.
    pub(crate) struct AdminNetworkStats {
        /// Bytes sent again.
        pub(crate) retrans_bytes: u64,
        /// Packets sent again.
        pub(crate) retrans_pkts: u64,
        /// Times that an answer did not come in time.
        pub(crate) retrans_timeout_events: u64,
        /// Times that a peer did not answer at all.
        pub(crate) unresponsive_remote_events: u64,
        /// Times that the way to a peer was found bad.
        pub(crate) impaired_remote_conn_events: u64,
    }
}

rdma::wire! {
    /// Opcode: read statistics.
    pub(crate) const ADMIN_GET_STATS: u8 = 13;

    /// Type, see [`AdminBasicStats`].
    pub(crate) const ADMIN_GET_STATS_TYPE_BASIC: u8 = 0;
    /// Type, see [`AdminMessagesStats`].
    pub(crate) const ADMIN_GET_STATS_TYPE_MESSAGES: u8 = 1;
    /// Type, see [`AdminRdmaReadStats`].
    pub(crate) const ADMIN_GET_STATS_TYPE_RDMA_READ: u8 = 2;
    /// Type, see [`AdminRdmaWriteStats`].
    pub(crate) const ADMIN_GET_STATS_TYPE_RDMA_WRITE: u8 = 3;
    /// Type, see [`AdminNetworkStats`].
    pub(crate) const ADMIN_GET_STATS_TYPE_NETWORK: u8 = 4;

    /// Scope: the whole device.
    pub(crate) const ADMIN_GET_STATS_SCOPE_ALL: u8 = 0;
}
