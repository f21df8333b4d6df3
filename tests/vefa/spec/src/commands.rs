// SPDX-License-Identifier: GPL-2.0
//! Admin commands on resources, and their answers (`efa_admin_cmds_defs.h`).
//! A command's layout starts at the entry's request payload.

use crate::entries::{AcqCommonDesc, MemAddr};
use crate::layout::layout;

layout! {
    QpAllocSize = "efa_admin_qp_alloc_size", 16 {
        0 => send_queue_ring_size: u32,
        4 => send_queue_depth: u32,
        8 => recv_queue_ring_size: u32,
        12 => recv_queue_depth: u32,
    }

    CreateQpCmd = "efa_admin_create_qp_cmd", 60 {
        0 => pd: u16,
        2 => qp_type: u8,
        3 => flags: u8,
        4 => sq_base_addr: u64,
        12 => rq_base_addr: u64,
        20 => send_cq_idx: u32,
        24 => recv_cq_idx: u32,
        28 => sq_l_key: u32,
        32 => rq_l_key: u32,
        36 => qp_alloc_size: QpAllocSize,
        52 => uar: u16,
        54 => sl: u8,
        55 => reserved: u8,
        56 => reserved2: u32,
    }

    CreateQpResp = "efa_admin_create_qp_resp", 32 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => qp_handle: u32,
        12 => qp_num: u16,
        14 => reserved: u16,
        16 => send_sub_cq_idx: u16,
        18 => recv_sub_cq_idx: u16,
        20 => sq_db_offset: u32,
        24 => rq_db_offset: u32,
        28 => llq_descriptors_offset: u32,
    }

    ModifyQpCmd = "efa_admin_modify_qp_cmd", 28 {
        0 => modify_mask: u32,
        4 => qp_handle: u32,
        8 => qp_state: u32,
        12 => cur_qp_state: u32,
        16 => qkey: u32,
        20 => sq_psn: u32,
        24 => sq_drained_async_notify: u8,
        25 => rnr_retry: u8,
        26 => reserved2: u16,
    }

    ModifyQpResp = "efa_admin_modify_qp_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    QueryQpCmd = "efa_admin_query_qp_cmd", 4 {
        0 => qp_handle: u32,
    }

    QueryQpResp = "efa_admin_query_qp_resp", 24 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => qp_state: u32,
        12 => qkey: u32,
        16 => sq_psn: u32,
        20 => sq_draining: u8,
        21 => rnr_retry: u8,
        22 => reserved2: u16,
    }

    DestroyQpCmd = "efa_admin_destroy_qp_cmd", 4 {
        0 => qp_handle: u32,
    }

    DestroyQpResp = "efa_admin_destroy_qp_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    CreateAhCmd = "efa_admin_create_ah_cmd", 20 {
        /// The destination's GID.
        0 => dest_addr: [u8; 16],
        16 => pd: u16,
        18 => reserved: u16,
    }

    CreateAhResp = "efa_admin_create_ah_resp", 12 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => ah: u16,
        10 => reserved: u16,
    }

    DestroyAhCmd = "efa_admin_destroy_ah_cmd", 4 {
        0 => ah: u16,
        2 => pd: u16,
    }

    DestroyAhResp = "efa_admin_destroy_ah_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    RegMrCmd = "efa_admin_reg_mr_cmd", 60 {
        0 => pd: u16,
        2 => reserved16_w1: u16,
        4 => inline_pbl_array: [u64; 4] as "pbl.inline_pbl_array",
        36 => mr_length: u64,
        44 => flags: u8,
        45 => permissions: u8,
        46 => reserved16_w5: u16,
        48 => page_num: u32,
        52 => iova: u64,
    }

    RegMrResp = "efa_admin_reg_mr_resp", 20 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => l_key: u32,
        12 => r_key: u32,
        16 => validity: u8,
        17 => recv_ic_id: u8,
        18 => rdma_read_ic_id: u8,
        19 => rdma_recv_ic_id: u8,
    }

    DeregMrCmd = "efa_admin_dereg_mr_cmd", 4 {
        0 => l_key: u32,
    }

    DeregMrResp = "efa_admin_dereg_mr_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    AllocMrCmd = "efa_admin_alloc_mr_cmd", 8 {
        0 => pd: u16,
        2 => reserved1: u16,
        4 => max_pages: u32,
    }

    AllocMrResp = "efa_admin_alloc_mr_resp", 16 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => l_key: u32,
        12 => r_key: u32,
    }

    CreateCqCmd = "efa_admin_create_cq_cmd", 24 {
        0 => cq_caps_1: u8,
        1 => cq_caps_2: u8,
        2 => sub_cq_depth: u16,
        4 => eqn: u16,
        6 => reserved: u16,
        8 => cq_ba: MemAddr,
        16 => l_key: u32,
        20 => num_sub_cqs: u16,
        22 => uar: u16,
    }

    CreateCqResp = "efa_admin_create_cq_resp", 20 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => cq_idx: u16,
        10 => sub_cq_actual_depth: u16,
        12 => db_offset: u32,
        16 => flags: u32,
    }

    DestroyCqCmd = "efa_admin_destroy_cq_cmd", 4 {
        0 => cq_idx: u16,
        2 => reserved1: u16,
    }

    DestroyCqResp = "efa_admin_destroy_cq_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    AllocPdResp = "efa_admin_alloc_pd_resp", 12 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => pd: u16,
        10 => reserved: u16,
    }

    DeallocPdCmd = "efa_admin_dealloc_pd_cmd", 4 {
        0 => pd: u16,
        2 => reserved: u16,
    }

    DeallocPdResp = "efa_admin_dealloc_pd_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    AllocUarResp = "efa_admin_alloc_uar_resp", 12 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => uar: u16,
        10 => reserved: u16,
    }

    DeallocUarCmd = "efa_admin_dealloc_uar_cmd", 4 {
        0 => uar: u16,
        2 => reserved: u16,
    }

    DeallocUarResp = "efa_admin_dealloc_uar_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    CreateEqCmd = "efa_admin_create_eq_cmd", 20 {
        0 => depth: u16,
        2 => msix_vec: u8,
        /// Bits 4:0 the size of an element in 32-bit words.
        3 => caps: u8,
        4 => ba: MemAddr,
        12 => event_bitmask: u32,
        16 => reserved: u32,
    }

    CreateEqResp = "efa_admin_create_eq_resp", 12 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => eqn: u16,
        10 => reserved: u16,
    }

    DestroyEqCmd = "efa_admin_destroy_eq_cmd", 4 {
        0 => eqn: u16,
        2 => reserved: u16,
    }

    DestroyEqResp = "efa_admin_destroy_eq_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    ServiceCmd = "efa_admin_service_cmd", 60 {
        0 => buffer: [u8; 60],
    }

    ServiceResp = "efa_admin_service_resp", 64 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => buffer: [u8; 56],
    }

    CreateEventCounterCmd = "efa_admin_create_event_counter_cmd", 12 {
        0 => uar: u16,
        2 => reserved: u16,
        4 => paddr: u64,
    }

    CreateEventCounterResp = "efa_admin_create_event_counter_resp", 16 {
        0 => acq_common_desc: AcqCommonDesc,
        8 => cntr_handle: u32,
        12 => reserved: u32,
    }

    DestroyEventCounterCmd = "efa_admin_destroy_event_counter_cmd", 4 {
        0 => cntr_handle: u32,
    }

    DestroyEventCounterResp = "efa_admin_destroy_event_counter_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    EventCounterAttachQpEvents = "efa_admin_event_counter_attach_qp_events", 8 {
        0 => qp_handle: u32,
        4 => events: u32,
    }

    AttachDetachEventCounterCmd = "efa_admin_attach_detach_event_counter_cmd", 16 {
        0 => cntr_handle: u32,
        4 => attach_type: u8,
        5 => reserved: [u8; 3],
        8 => qp_events: EventCounterAttachQpEvents as "u.qp_events",
    }

    AttachDetachEventCounterResp = "efa_admin_attach_detach_event_counter_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }

    ModifyEventCounterCmd = "efa_admin_modify_event_counter_cmd", 20 {
        0 => cntr_handle: u32,
        4 => operation: u8,
        5 => reserved: [u8; 7],
        12 => value: u64,
    }

    ModifyEventCounterResp = "efa_admin_modify_event_counter_resp", 8 {
        0 => acq_common_desc: AcqCommonDesc,
    }
}
