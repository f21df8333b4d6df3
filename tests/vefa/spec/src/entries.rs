// SPDX-License-Identifier: GPL-2.0
//! Entries of the admin queues and the event queues (`efa_admin_defs.h`,
//! `efa_common_defs.h`).

use crate::layout::layout;

layout! {
    /// A bus address in two halves.
    MemAddr = "efa_common_mem_addr", 8 {
        0 => mem_addr_low: u32,
        4 => mem_addr_high: u32,
    }

    /// Start of every submission entry.
    AqCommonDesc = "efa_admin_aq_common_desc", 4 {
        /// Bits 11:0 the command id, the others reserved.
        0 => command_id: u16,
        2 => opcode: u8,
        /// Bit 0 phase, 1 control buffer valid, 2 control buffer indirect.
        3 => flags: u8,
    }

    /// Start of every submission entry from API version 0.3.
    AqCommonDescV2 = "efa_admin_aq_common_desc_v2", 12 {
        0 => common: AqCommonDesc,
        4 => checksum: u16,
        6 => payload_ver: u8,
        7 => reserved: [u8; 5],
    }

    /// Length and address of a control buffer, or of the next page list chunk.
    CtrlBuffInfo = "efa_admin_ctrl_buff_info", 12 {
        0 => length: u32,
        4 => address: MemAddr,
    }

    /// Submission entry before API version 0.3.
    AqEntry = "efa_admin_aq_entry", 64 {
        0 => aq_common_descriptor: AqCommonDesc,
        4 => request_payload: [u32; 15],
    }

    /// Submission entry from API version 0.3.
    AqEntryV2 = "efa_admin_aq_entry_v2", 128 {
        0 => aq_common_descriptor: AqCommonDescV2,
        12 => request_payload: [u32; 29],
    }

    /// Start of every admin completion.
    AcqCommonDesc = "efa_admin_acq_common_desc", 8 {
        /// Bits 11:0 the id of the completed command, the others reserved.
        0 => command: u16,
        2 => status: u8,
        /// Bit 0 phase.
        3 => flags: u8,
        4 => checksum: u16,
        6 => reserved: u16,
    }

    /// Admin completion.
    AcqEntry = "efa_admin_acq_entry", 64 {
        0 => acq_common_descriptor: AcqCommonDesc,
        8 => response_specific_data: [u32; 14],
    }

    /// Start of every asynchronous event.
    AenqCommonDesc = "efa_admin_aenq_common_desc", 16 {
        0 => group: u16,
        2 => syndrome: u16,
        /// Bit 0 phase.
        4 => flags: u8,
        5 => reserved1: [u8; 3],
        8 => timestamp_low: u32,
        12 => timestamp_high: u32,
    }

    /// Asynchronous event.
    AenqEntry = "efa_admin_aenq_entry", 64 {
        0 => aenq_common_desc: AenqCommonDesc,
        16 => inline_data_w4: [u32; 12],
    }

    /// The completion event of an event queue element.
    CompEvent = "efa_admin_comp_event", 8 {
        0 => cqn: u16,
        2 => reserved: u16,
        4 => reserved2: u32,
    }

    /// Event queue element.
    Eqe = "efa_admin_eqe", 16 {
        /// Bit 0 phase, bits 8:1 event type.
        0 => common: u32,
        4 => reserved: u32,
        8 => event_data: [u32; 2] as "u.event_data",
    }

    /// The device's answer to a readless register read.
    MmioReadResp = "efa_admin_mmio_req_read_less_resp", 8 {
        0 => req_id: u16,
        2 => reg_off: u16,
        4 => reg_val: u32,
    }
}
