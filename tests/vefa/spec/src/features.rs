// SPDX-License-Identifier: GPL-2.0
//! Features: the commands that get and set them, and their contents.

use crate::entries::{AcqCommonDesc, CtrlBuffInfo};
use crate::layout::layout;

layout! {
    /// Which feature a command is about.
    GetSetFeatureCommonDesc = "efa_admin_get_set_feature_common_desc", 4 {
        0 => reserved0: u8,
        1 => feature_id: u8,
        2 => reserved16: u16,
    }

    /// Feature DEVICE_ATTR.
    DeviceAttr = "efa_admin_feature_device_attr_desc", 56 {
        /// Bit n: feature n is supported.
        0 => supported_features: u64,
        /// Bit n: memory regions may use pages of 2^n bytes.
        8 => page_size_cap: u64,
        16 => fw_version: u32,
        20 => admin_api_version: u32,
        24 => device_version: u32,
        /// Number of the BAR that holds the doorbells.
        28 => db_bar: u16,
        30 => phys_addr_width: u8,
        31 => virt_addr_width: u8,
        32 => device_caps: u32,
        /// In bytes.
        36 => max_rdma_size: u32,
        40 => guid: u64,
        48 => max_link_speed_gbps: u16,
        50 => reserved0: u16,
        52 => reserved1: u32,
    }

    /// Feature QUEUE_ATTR_1.
    QueueAttr1 = "efa_admin_feature_queue_attr_desc_1", 56 {
        0 => max_qp: u32,
        4 => max_sq_depth: u32,
        8 => inline_buf_size: u32,
        12 => max_rq_depth: u32,
        16 => max_cq: u32,
        20 => max_cq_depth: u32,
        24 => sub_cqs_per_cq: u16,
        26 => min_sq_depth: u16,
        28 => max_wr_send_sges: u16,
        30 => max_wr_recv_sges: u16,
        32 => max_mr: u32,
        36 => max_mr_pages: u32,
        40 => max_pd: u32,
        44 => max_ah: u32,
        48 => max_llq_size: u32,
        52 => max_wr_rdma_sges: u16,
        54 => max_tx_batch: u16,
    }

    /// Feature QUEUE_ATTR_2.
    QueueAttr2 = "efa_admin_feature_queue_attr_desc_2", 24 {
        0 => inline_buf_size_ex: u16,
        2 => reserved: [u8; 6],
        8 => supported_event_counter_qp_events: u32,
        12 => max_event_counters: u32,
        16 => event_counter_max_val: u64,
    }

    /// Feature EVENT_QUEUE_ATTR.
    EventQueueAttr = "efa_admin_event_queue_attr_desc", 12 {
        0 => max_eq: u32,
        4 => max_eq_depth: u32,
        8 => event_bitmask: u32,
    }

    /// Feature AENQ_CONFIG: bit n stands for event group n.
    AenqConfig = "efa_admin_feature_aenq_desc", 8 {
        0 => supported_groups: u32,
        4 => enabled_groups: u32,
    }

    /// Feature NETWORK_ATTR.
    NetworkAttr = "efa_admin_feature_network_attr_desc", 20 {
        /// The port's GID.
        0 => addr: [u8; 16],
        /// In bytes.
        16 => mtu: u32,
    }

    /// Feature HW_HINTS; all in milliseconds, 0 for no hint.
    HwHints = "efa_admin_hw_hints", 8 {
        0 => mmio_read_timeout: u16,
        2 => driver_watchdog_timeout: u16,
        4 => admin_completion_timeout: u16,
        6 => poll_interval: u16,
    }

    /// GET_FEATURE.
    GetFeatureCmd = "efa_admin_get_feature_cmd", 60 {
        0 => control_buffer: CtrlBuffInfo,
        12 => feature_common: GetSetFeatureCommonDesc,
        16 => raw: [u32; 11],
    }

    /// Answer to GET_FEATURE; the feature's contents follow the common part.
    GetFeatureResp = "efa_admin_get_feature_resp", 64 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => raw: [u32; 14] as "u.raw",
    }

    /// SET_FEATURE; the feature's contents follow the feature id.
    SetFeatureCmd = "efa_admin_set_feature_cmd", 60 {
        0 => control_buffer: CtrlBuffInfo,
        12 => feature_common: GetSetFeatureCommonDesc,
        16 => raw: [u32; 11] as "u.raw",
    }

    SetFeatureResp = "efa_admin_set_feature_resp", 64 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => raw: [u32; 14] as "u.raw",
    }

    /// Feature HOST_INFO, in a control buffer.
    HostInfo = "efa_admin_host_info", 180 {
        0 => os_dist_str: [u8; 128],
        128 => os_type: u32,
        132 => kernel_ver_str: [u8; 32],
        164 => kernel_ver: u32,
        168 => driver_ver: u32,
        172 => bdf: u16,
        174 => spec_ver: u16,
        176 => flags: u32,
    }
}
