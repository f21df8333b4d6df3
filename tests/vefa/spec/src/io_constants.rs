// SPDX-License-Identifier: GPL-2.0
//! Numbers of the data path: operations, statuses, flag masks. The names are
//! those of `efa_io_defs.h` without their prefix.

use crate::constants::constants_table;

constants_table! {
    "EFA_IO_" u32 {
        TX_DESC_NUM_BUFS = 2,
        TX_DESC_NUM_RDMA_BUFS = 1,
        TX_DESC_INLINE_MAX_SIZE = 32,
        TX_DESC_IMM_DATA_SIZE = 4,
        TX_DESC_INLINE_PBL_SIZE = 1,
        SEND_QUEUE = 1,
        RECV_QUEUE = 2,
        SEND = 0,
        RDMA_READ = 1,
        RDMA_WRITE = 2,
        FAST_REG = 3,
        FAST_INV = 4,
        COMP_STATUS_OK = 0,
        COMP_STATUS_FLUSHED = 1,
        COMP_STATUS_LOCAL_ERROR_QP_INTERNAL_ERROR = 2,
        COMP_STATUS_LOCAL_ERROR_UNSUPPORTED_OP = 3,
        COMP_STATUS_LOCAL_ERROR_INVALID_AH = 4,
        COMP_STATUS_LOCAL_ERROR_INVALID_LKEY = 5,
        COMP_STATUS_LOCAL_ERROR_BAD_LENGTH = 6,
        COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS = 7,
        COMP_STATUS_REMOTE_ERROR_ABORT = 8,
        COMP_STATUS_REMOTE_ERROR_BAD_DEST_QPN = 9,
        COMP_STATUS_REMOTE_ERROR_RNR = 10,
        COMP_STATUS_REMOTE_ERROR_BAD_LENGTH = 11,
        COMP_STATUS_REMOTE_ERROR_BAD_STATUS = 12,
        COMP_STATUS_LOCAL_ERROR_UNRESP_REMOTE = 13,
        COMP_STATUS_REMOTE_ERROR_UNKNOWN_PEER = 14,
        COMP_STATUS_LOCAL_ERROR_UNREACH_REMOTE = 15,
        COMP_STATUS_REMOTE_ERROR_FEATURE_MISMATCH = 18,
        FRWR_INLINE_PBL = 0,
        FRWR_DIRECT_PBL = 1,
        PROCESSING_HINT_BURST_PPS_SENSITIVE = 1,
        TX_META_DESC_OP_TYPE_MASK = 0x0f,
        TX_META_DESC_HAS_IMM_MASK = 0x10,
        TX_META_DESC_INLINE_MSG_MASK = 0x20,
        TX_META_DESC_META_EXTENSION_MASK = 0x40,
        TX_META_DESC_META_DESC_MASK = 0x80,
        TX_META_DESC_PHASE_MASK = 0x01,
        TX_META_DESC_FIRST_MASK = 0x04,
        TX_META_DESC_LAST_MASK = 0x08,
        TX_META_DESC_COMP_REQ_MASK = 0x10,
        TX_META_DESC_PROCESSING_HINTS_MASK = 0x03,
        TX_BUF_DESC_LKEY_MASK = 0x00ff_ffff,
        FAST_MR_REG_REQ_LOCAL_WRITE_ENABLE_MASK = 0x01,
        FAST_MR_REG_REQ_REMOTE_WRITE_ENABLE_MASK = 0x02,
        FAST_MR_REG_REQ_REMOTE_READ_ENABLE_MASK = 0x04,
        FAST_MR_REG_REQ_PHYS_PAGE_SIZE_SHIFT_MASK = 0x1f,
        FAST_MR_REG_REQ_PBL_MODE_MASK = 0x60,
        RX_DESC_LKEY_MASK = 0x00ff_ffff,
        RX_DESC_FIRST_MASK = 0x4000_0000,
        RX_DESC_LAST_MASK = 0x8000_0000,
        CDESC_COMMON_PHASE_MASK = 0x01,
        CDESC_COMMON_Q_TYPE_MASK = 0x06,
        CDESC_COMMON_HAS_IMM_MASK = 0x08,
        CDESC_COMMON_OP_TYPE_MASK = 0x70,
        CDESC_COMMON_UNSOLICITED_MASK = 0x80,
    }
}

/// The doorbell of a completion queue. The kernel's headers do not describe
/// it, since only user space rings it; the masks are libefa's.
pub mod cq_doorbell {
    /// How many completions have been consumed, in 16 bits.
    pub const CONSUMER_INDEX_MASK: u32 = 0xffff;
    /// Counts the events that the consumer has seen.
    pub const CMD_SN_MASK: u32 = 0x6000_0000;
    /// The next completion shall raise an event.
    pub const ARM_MASK: u32 = 0x8000_0000;
}
