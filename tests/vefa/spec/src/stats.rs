// SPDX-License-Identifier: GPL-2.0
//! Statistics: the command, and what each type of statistics returns.

use crate::entries::{AcqCommonDesc, CtrlBuffInfo};
use crate::layout::layout;

layout! {
    /// GET_STATS.
    GetStatsCmd = "efa_admin_aq_get_stats_cmd", 16 {
        0 => control_buffer: CtrlBuffInfo,
        12 => stats_type: u8 as "type",
        13 => scope: u8,
        14 => scope_modifier: u16,
    }

    BasicStats = "efa_admin_basic_stats", 48 {
        0 => tx_bytes: u64,
        8 => tx_pkts: u64,
        16 => rx_bytes: u64,
        24 => rx_pkts: u64,
        32 => rx_drops: u64,
        40 => qkey_viol: u64,
    }

    MessagesStats = "efa_admin_messages_stats", 32 {
        0 => send_bytes: u64,
        8 => send_wrs: u64,
        16 => recv_bytes: u64,
        24 => recv_wrs: u64,
    }

    RdmaReadStats = "efa_admin_rdma_read_stats", 32 {
        0 => read_wrs: u64,
        8 => read_bytes: u64,
        16 => read_wr_err: u64,
        24 => read_resp_bytes: u64,
    }

    RdmaWriteStats = "efa_admin_rdma_write_stats", 32 {
        0 => write_wrs: u64,
        8 => write_bytes: u64,
        16 => write_wr_err: u64,
        24 => write_recv_bytes: u64,
    }

    NetworkStats = "efa_admin_network_stats", 40 {
        0 => retrans_bytes: u64,
        8 => retrans_pkts: u64,
        16 => retrans_timeout_events: u64,
        24 => unresponsive_remote_events: u64,
        32 => impaired_remote_conn_events: u64,
    }

    /// Answer to GET_STATS; the statistics follow the common part.
    GetStatsResp = "efa_admin_acq_get_stats_resp", 56 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => stats: [u64; 6] as "u",
    }
}
