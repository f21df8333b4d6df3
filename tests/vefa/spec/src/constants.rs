// SPDX-License-Identifier: GPL-2.0
//! Numbers of the admin protocol: opcodes, statuses, features, flag masks.
//! The names are those of the C headers without their prefix.

/// Declares constants, and a table of their full C names and values.
macro_rules! constants_table {
    ($prefix:literal $ty:ty { $($name:ident = $value:expr),+ $(,)? }) => {
        $(
            #[doc = concat!("`", $prefix, stringify!($name), "`.")]
            pub const $name: $ty = $value;
        )+

        /// The constants of this module: full C name, value.
        pub const TABLE: &[(&str, u64)] =
            &[$( (concat!($prefix, stringify!($name)), $name as u64) ),+];
    };
}
pub(crate) use constants_table;

constants_table! {
    "EFA_ADMIN_" u32 {
        API_VERSION_MAJOR = 0,
        API_VERSION_MINOR = 3,
        SUCCESS = 0,
        RESOURCE_ALLOCATION_FAILURE = 1,
        BAD_OPCODE = 2,
        UNSUPPORTED_OPCODE = 3,
        MALFORMED_REQUEST = 4,
        ILLEGAL_PARAMETER = 5,
        UNKNOWN_ERROR = 6,
        RESOURCE_BUSY = 7,
        EQE_EVENT_TYPE_COMPLETION = 0,
        AQ_COMMON_DESC_COMMAND_ID_MASK = 0xfff,
        AQ_COMMON_DESC_PHASE_MASK = 1 << 0,
        AQ_COMMON_DESC_CTRL_DATA_MASK = 1 << 1,
        AQ_COMMON_DESC_CTRL_DATA_INDIRECT_MASK = 1 << 2,
        ACQ_COMMON_DESC_COMMAND_ID_MASK = 0xfff,
        ACQ_COMMON_DESC_PHASE_MASK = 1 << 0,
        AENQ_COMMON_DESC_PHASE_MASK = 1 << 0,
        EQE_PHASE_MASK = 1 << 0,
        EQE_EVENT_TYPE_MASK = 0x1fe,
        CREATE_QP = 1,
        MODIFY_QP = 2,
        QUERY_QP = 3,
        DESTROY_QP = 4,
        CREATE_AH = 5,
        DESTROY_AH = 6,
        REG_MR = 7,
        DEREG_MR = 8,
        CREATE_CQ = 9,
        DESTROY_CQ = 10,
        GET_FEATURE = 11,
        SET_FEATURE = 12,
        GET_STATS = 13,
        ALLOC_PD = 14,
        DEALLOC_PD = 15,
        ALLOC_UAR = 16,
        DEALLOC_UAR = 17,
        CREATE_EQ = 18,
        DESTROY_EQ = 19,
        ALLOC_MR = 20,
        SERVICE = 21,
        CREATE_EVENT_COUNTER = 25,
        DESTROY_EVENT_COUNTER = 26,
        ATTACH_EVENT_COUNTER = 27,
        MODIFY_EVENT_COUNTER = 28,
        DETACH_EVENT_COUNTER = 29,
        MAX_OPCODE = 29,
        DEVICE_ATTR = 1,
        AENQ_CONFIG = 2,
        NETWORK_ATTR = 3,
        QUEUE_ATTR_1 = 4,
        HW_HINTS = 5,
        HOST_INFO = 6,
        EVENT_QUEUE_ATTR = 7,
        QUEUE_ATTR_2 = 9,
        QP_TYPE_UD = 1,
        QP_TYPE_SRD = 2,
        QP_STATE_RESET = 0,
        QP_STATE_INIT = 1,
        QP_STATE_RTR = 2,
        QP_STATE_RTS = 3,
        QP_STATE_SQD = 4,
        QP_STATE_SQE = 5,
        QP_STATE_ERR = 6,
        GET_STATS_TYPE_BASIC = 0,
        GET_STATS_TYPE_MESSAGES = 1,
        GET_STATS_TYPE_RDMA_READ = 2,
        GET_STATS_TYPE_RDMA_WRITE = 3,
        GET_STATS_TYPE_NETWORK = 4,
        GET_STATS_SCOPE_ALL = 0,
        GET_STATS_SCOPE_QUEUE = 1,
        FATAL_ERROR = 1,
        WARNING = 2,
        NOTIFICATION = 3,
        KEEP_ALIVE = 4,
        AENQ_GROUPS_NUM = 5,
        OS_LINUX = 0,
        EVENT_COUNTER_ATTACH_QP_EVENTS = 0,
        EVENT_COUNTER_MODIFY_SET = 0,
        EVENT_COUNTER_MODIFY_ADD = 1,
        CREATE_QP_CMD_SQ_VIRT_MASK = 1 << 0,
        CREATE_QP_CMD_RQ_VIRT_MASK = 1 << 1,
        CREATE_QP_CMD_UNSOLICITED_WRITE_RECV_MASK = 1 << 2,
        CREATE_QP_CMD_SQ_64_BIT_REQ_ID_SHIFT = 3,
        CREATE_QP_CMD_SQ_64_BIT_REQ_ID_MASK = 1 << 3,
        MODIFY_QP_CMD_QP_STATE_MASK = 1 << 0,
        MODIFY_QP_CMD_CUR_QP_STATE_MASK = 1 << 1,
        MODIFY_QP_CMD_QKEY_MASK = 1 << 2,
        MODIFY_QP_CMD_SQ_PSN_MASK = 1 << 3,
        MODIFY_QP_CMD_SQ_DRAINED_ASYNC_NOTIFY_MASK = 1 << 4,
        MODIFY_QP_CMD_RNR_RETRY_MASK = 1 << 5,
        REG_MR_CMD_PHYS_PAGE_SIZE_SHIFT_MASK = 0x3f,
        REG_MR_CMD_MEM_ADDR_PHY_MODE_EN_MASK = 1 << 7,
        REG_MR_CMD_LOCAL_WRITE_ENABLE_MASK = 1 << 0,
        REG_MR_CMD_REMOTE_WRITE_ENABLE_MASK = 1 << 1,
        REG_MR_CMD_REMOTE_READ_ENABLE_MASK = 1 << 2,
        REG_MR_RESP_RECV_IC_ID_MASK = 1 << 0,
        REG_MR_RESP_RDMA_READ_IC_ID_MASK = 1 << 1,
        REG_MR_RESP_RDMA_RECV_IC_ID_MASK = 1 << 2,
        CREATE_CQ_CMD_INTERRUPT_MODE_ENABLED_MASK = 1 << 5,
        CREATE_CQ_CMD_VIRT_MASK = 1 << 6,
        CREATE_CQ_CMD_CQ_ENTRY_SIZE_WORDS_MASK = 0x1f,
        CREATE_CQ_CMD_SET_SRC_ADDR_MASK = 1 << 5,
        CREATE_CQ_CMD_SQ_COMP_64_BIT_REQ_ID_SHIFT = 6,
        CREATE_CQ_CMD_SQ_COMP_64_BIT_REQ_ID_MASK = 1 << 6,
        CREATE_CQ_RESP_DB_VALID_MASK = 1 << 0,
        FEATURE_DEVICE_ATTR_DESC_RDMA_READ_MASK = 1 << 0,
        FEATURE_DEVICE_ATTR_DESC_RNR_RETRY_MASK = 1 << 1,
        FEATURE_DEVICE_ATTR_DESC_DATA_POLLING_128_MASK = 1 << 2,
        FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK = 1 << 3,
        FEATURE_DEVICE_ATTR_DESC_UNSOLICITED_WRITE_RECV_MASK = 1 << 4,
        FEATURE_DEVICE_ATTR_DESC_EVENT_COUNTERS_MASK = 1 << 5,
        FEATURE_DEVICE_ATTR_DESC_SQ_64_BIT_REQ_ID_SHIFT = 10,
        FEATURE_DEVICE_ATTR_DESC_SQ_64_BIT_REQ_ID_MASK = 1 << 10,
        FEATURE_QUEUE_ATTR_DESC_2_SEND_COMP_MASK = 1 << 0,
        FEATURE_QUEUE_ATTR_DESC_2_SEND_COMP_ERR_MASK = 1 << 1,
        FEATURE_QUEUE_ATTR_DESC_2_RECV_COMP_MASK = 1 << 2,
        FEATURE_QUEUE_ATTR_DESC_2_RECV_COMP_ERR_MASK = 1 << 3,
        FEATURE_QUEUE_ATTR_DESC_2_READ_COMP_MASK = 1 << 4,
        FEATURE_QUEUE_ATTR_DESC_2_READ_COMP_ERR_MASK = 1 << 5,
        FEATURE_QUEUE_ATTR_DESC_2_WRITE_COMP_MASK = 1 << 6,
        FEATURE_QUEUE_ATTR_DESC_2_WRITE_COMP_ERR_MASK = 1 << 7,
        FEATURE_QUEUE_ATTR_DESC_2_REMOTE_READ_COMP_MASK = 1 << 8,
        FEATURE_QUEUE_ATTR_DESC_2_REMOTE_WRITE_COMP_MASK = 1 << 9,
        CREATE_EQ_CMD_ENTRY_SIZE_WORDS_MASK = 0x1f,
        CREATE_EQ_CMD_COMPLETION_EVENTS_MASK = 1 << 0,
        HOST_INFO_DRIVER_MODULE_TYPE_MASK = 0xff,
        HOST_INFO_DRIVER_SUB_MINOR_MASK = 0xff00,
        HOST_INFO_DRIVER_MINOR_MASK = 0xff0000,
        HOST_INFO_DRIVER_MAJOR_MASK = 0xff000000,
        HOST_INFO_FUNCTION_MASK = 0x7,
        HOST_INFO_DEVICE_MASK = 0xf8,
        HOST_INFO_BUS_MASK = 0xff00,
        HOST_INFO_SPEC_MINOR_MASK = 0xff,
        HOST_INFO_SPEC_MAJOR_MASK = 0xff00,
        HOST_INFO_INTREE_MASK = 1 << 0,
        HOST_INFO_GDR_MASK = 1 << 1,
        EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK = 1 << 0,
        EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_ERR_MASK = 1 << 1,
        EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_MASK = 1 << 2,
        EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_ERR_MASK = 1 << 3,
        EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_MASK = 1 << 4,
        EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_ERR_MASK = 1 << 5,
        EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_MASK = 1 << 6,
        EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_ERR_MASK = 1 << 7,
        EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_READ_COMP_MASK = 1 << 8,
        EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_WRITE_COMP_MASK = 1 << 9,
    }
}

/// Version of the device specification that drivers report in HOST_INFO.
pub mod common {
    use super::constants_table;

    constants_table! {
        "EFA_COMMON_" u32 {
            SPEC_VERSION_MAJOR = 2,
            SPEC_VERSION_MINOR = 0,
        }
    }
}

/// Every constant of this crate: full C name, value.
pub fn constants() -> Vec<(&'static str, u64)> {
    [
        TABLE,
        common::TABLE,
        crate::regs::TABLE,
        crate::io_constants::TABLE,
    ]
    .concat()
}
