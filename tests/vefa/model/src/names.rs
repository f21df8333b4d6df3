// SPDX-License-Identifier: GPL-2.0
//! Names of the protocol's numbers, as configuration, control socket and log
//! write them: snake_case of the C headers' names.

use serde::{Deserialize, Serialize};
use vefa_spec::{constants as c, io_constants as io, regs};

/// Declares an enum whose variants are the device's numbers, with their names.
macro_rules! named_numbers {
    ($(#[$doc:meta])* $name:ident: $repr:ty { $($variant:ident = $value:expr, $text:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`.")]
                #[serde(rename = $text)]
                $variant,
            )+
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The device's number.
            pub const fn number(self) -> $repr {
                match self {
                    $(Self::$variant => $value as $repr),+
                }
            }

            /// The name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// The one with this number.
            pub fn from_number(number: $repr) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.number() == number)
            }
        }
    };
}

named_numbers! {
    /// Admin opcodes.
    Opcode: u8 {
        CreateQp = c::CREATE_QP, "create_qp";
        ModifyQp = c::MODIFY_QP, "modify_qp";
        QueryQp = c::QUERY_QP, "query_qp";
        DestroyQp = c::DESTROY_QP, "destroy_qp";
        CreateAh = c::CREATE_AH, "create_ah";
        DestroyAh = c::DESTROY_AH, "destroy_ah";
        RegMr = c::REG_MR, "reg_mr";
        DeregMr = c::DEREG_MR, "dereg_mr";
        CreateCq = c::CREATE_CQ, "create_cq";
        DestroyCq = c::DESTROY_CQ, "destroy_cq";
        GetFeature = c::GET_FEATURE, "get_feature";
        SetFeature = c::SET_FEATURE, "set_feature";
        GetStats = c::GET_STATS, "get_stats";
        AllocPd = c::ALLOC_PD, "alloc_pd";
        DeallocPd = c::DEALLOC_PD, "dealloc_pd";
        AllocUar = c::ALLOC_UAR, "alloc_uar";
        DeallocUar = c::DEALLOC_UAR, "dealloc_uar";
        CreateEq = c::CREATE_EQ, "create_eq";
        DestroyEq = c::DESTROY_EQ, "destroy_eq";
        AllocMr = c::ALLOC_MR, "alloc_mr";
        Service = c::SERVICE, "service";
        CreateEventCounter = c::CREATE_EVENT_COUNTER, "create_event_counter";
        DestroyEventCounter = c::DESTROY_EVENT_COUNTER, "destroy_event_counter";
        AttachEventCounter = c::ATTACH_EVENT_COUNTER, "attach_event_counter";
        ModifyEventCounter = c::MODIFY_EVENT_COUNTER, "modify_event_counter";
        DetachEventCounter = c::DETACH_EVENT_COUNTER, "detach_event_counter";
    }
}

named_numbers! {
    /// Statuses of an admin completion.
    Status: u8 {
        Success = c::SUCCESS, "success";
        ResourceAllocationFailure = c::RESOURCE_ALLOCATION_FAILURE, "resource_allocation_failure";
        BadOpcode = c::BAD_OPCODE, "bad_opcode";
        UnsupportedOpcode = c::UNSUPPORTED_OPCODE, "unsupported_opcode";
        MalformedRequest = c::MALFORMED_REQUEST, "malformed_request";
        IllegalParameter = c::ILLEGAL_PARAMETER, "illegal_parameter";
        UnknownError = c::UNKNOWN_ERROR, "unknown_error";
        ResourceBusy = c::RESOURCE_BUSY, "resource_busy";
    }
}

named_numbers! {
    /// Features that GET_FEATURE and SET_FEATURE name.
    Feature: u8 {
        DeviceAttr = c::DEVICE_ATTR, "device_attr";
        AenqConfig = c::AENQ_CONFIG, "aenq_config";
        NetworkAttr = c::NETWORK_ATTR, "network_attr";
        QueueAttr1 = c::QUEUE_ATTR_1, "queue_attr_1";
        HwHints = c::HW_HINTS, "hw_hints";
        HostInfo = c::HOST_INFO, "host_info";
        EventQueueAttr = c::EVENT_QUEUE_ATTR, "event_queue_attr";
        QueueAttr2 = c::QUEUE_ATTR_2, "queue_attr_2";
    }
}

named_numbers! {
    /// Types of statistics.
    StatsType: u8 {
        Basic = c::GET_STATS_TYPE_BASIC, "basic";
        Messages = c::GET_STATS_TYPE_MESSAGES, "messages";
        RdmaRead = c::GET_STATS_TYPE_RDMA_READ, "rdma_read";
        RdmaWrite = c::GET_STATS_TYPE_RDMA_WRITE, "rdma_write";
        Network = c::GET_STATS_TYPE_NETWORK, "network";
    }
}

named_numbers! {
    /// Groups of asynchronous events.
    AenqGroup: u16 {
        Fatal = c::FATAL_ERROR, "fatal";
        Warning = c::WARNING, "warning";
        Notification = c::NOTIFICATION, "notification";
        KeepAlive = c::KEEP_ALIVE, "keep_alive";
    }
}

named_numbers! {
    /// Reasons that a driver gives for a reset.
    ResetReason: u32 {
        Normal = regs::RESET_NORMAL, "normal";
        KeepAliveTimeout = regs::RESET_KEEP_ALIVE_TO, "keep_alive_to";
        AdminTimeout = regs::RESET_ADMIN_TO, "admin_to";
        InitError = regs::RESET_INIT_ERR, "init_err";
        DriverInvalidState = regs::RESET_DRIVER_INVALID_STATE, "driver_invalid_state";
        OsTrigger = regs::RESET_OS_TRIGGER, "os_trigger";
        Shutdown = regs::RESET_SHUTDOWN, "shutdown";
        UserTrigger = regs::RESET_USER_TRIGGER, "user_trigger";
        Generic = regs::RESET_GENERIC, "generic";
    }
}

named_numbers! {
    /// Transports of a QP.
    QpType: u8 {
        Ud = c::QP_TYPE_UD, "ud";
        Srd = c::QP_TYPE_SRD, "srd";
    }
}

named_numbers! {
    /// States of a QP.
    QpState: u32 {
        Reset = c::QP_STATE_RESET, "reset";
        Init = c::QP_STATE_INIT, "init";
        Rtr = c::QP_STATE_RTR, "rtr";
        Rts = c::QP_STATE_RTS, "rts";
        Sqd = c::QP_STATE_SQD, "sqd";
        Sqe = c::QP_STATE_SQE, "sqe";
        Err = c::QP_STATE_ERR, "err";
    }
}

named_numbers! {
    /// What a send descriptor asks for.
    Operation: u32 {
        Send = io::SEND, "send";
        Read = io::RDMA_READ, "rdma_read";
        Write = io::RDMA_WRITE, "rdma_write";
    }
}

named_numbers! {
    /// How a work request ended.
    WorkStatus: u8 {
        Ok = io::COMP_STATUS_OK, "ok";
        Flushed = io::COMP_STATUS_FLUSHED, "flushed";
        QpInternalError = io::COMP_STATUS_LOCAL_ERROR_QP_INTERNAL_ERROR, "local_error_qp_internal_error";
        UnsupportedOp = io::COMP_STATUS_LOCAL_ERROR_UNSUPPORTED_OP, "local_error_unsupported_op";
        InvalidAh = io::COMP_STATUS_LOCAL_ERROR_INVALID_AH, "local_error_invalid_ah";
        InvalidLkey = io::COMP_STATUS_LOCAL_ERROR_INVALID_LKEY, "local_error_invalid_lkey";
        BadLength = io::COMP_STATUS_LOCAL_ERROR_BAD_LENGTH, "local_error_bad_length";
        RemoteBadAddress = io::COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS, "remote_error_bad_address";
        RemoteAbort = io::COMP_STATUS_REMOTE_ERROR_ABORT, "remote_error_abort";
        RemoteBadDestQpn = io::COMP_STATUS_REMOTE_ERROR_BAD_DEST_QPN, "remote_error_bad_dest_qpn";
        RemoteRnr = io::COMP_STATUS_REMOTE_ERROR_RNR, "remote_error_rnr";
        RemoteBadLength = io::COMP_STATUS_REMOTE_ERROR_BAD_LENGTH, "remote_error_bad_length";
        RemoteBadStatus = io::COMP_STATUS_REMOTE_ERROR_BAD_STATUS, "remote_error_bad_status";
        UnresponsiveRemote = io::COMP_STATUS_LOCAL_ERROR_UNRESP_REMOTE, "local_error_unresp_remote";
        RemoteUnknownPeer = io::COMP_STATUS_REMOTE_ERROR_UNKNOWN_PEER, "remote_error_unknown_peer";
        UnreachableRemote = io::COMP_STATUS_LOCAL_ERROR_UNREACH_REMOTE, "local_error_unreach_remote";
        RemoteFeatureMismatch = io::COMP_STATUS_REMOTE_ERROR_FEATURE_MISMATCH, "remote_error_feature_mismatch";
    }
}

named_numbers! {
    /// Capabilities in DEVICE_ATTR; the number is the bit mask.
    Capability: u32 {
        RdmaRead = c::FEATURE_DEVICE_ATTR_DESC_RDMA_READ_MASK, "rdma_read";
        RnrRetry = c::FEATURE_DEVICE_ATTR_DESC_RNR_RETRY_MASK, "rnr_retry";
        DataPolling128 = c::FEATURE_DEVICE_ATTR_DESC_DATA_POLLING_128_MASK, "data_polling_128";
        RdmaWrite = c::FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK, "rdma_write";
        UnsolicitedWriteRecv = c::FEATURE_DEVICE_ATTR_DESC_UNSOLICITED_WRITE_RECV_MASK, "unsolicited_write_recv";
        EventCounters = c::FEATURE_DEVICE_ATTR_DESC_EVENT_COUNTERS_MASK, "event_counters";
        Sq64BitReqId = c::FEATURE_DEVICE_ATTR_DESC_SQ_64_BIT_REQ_ID_MASK, "sq_64_bit_req_id";
    }
}

named_numbers! {
    /// Events of a QP that event counters can count; the number is the bit mask.
    CounterEvent: u32 {
        SendComp = c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK, "send_comp";
        SendCompErr = c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_ERR_MASK, "send_comp_err";
        RecvComp = c::EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_MASK, "recv_comp";
        RecvCompErr = c::EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_ERR_MASK, "recv_comp_err";
        ReadComp = c::EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_MASK, "read_comp";
        ReadCompErr = c::EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_ERR_MASK, "read_comp_err";
        WriteComp = c::EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_MASK, "write_comp";
        WriteCompErr = c::EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_ERR_MASK, "write_comp_err";
        RemoteReadComp = c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_READ_COMP_MASK, "remote_read_comp";
        RemoteWriteComp = c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_WRITE_COMP_MASK, "remote_write_comp";
    }
}

impl CounterEvent {
    /// The bits of all of these.
    pub fn mask(events: &[Self]) -> u32 {
        events.iter().fold(0, |mask, event| mask | event.number())
    }
}
