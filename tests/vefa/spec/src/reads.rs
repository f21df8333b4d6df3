// SPDX-License-Identifier: GPL-2.0
//! What the kernel's C driver reads of the device's answers: the one table of it, with the place
//! in the driver's source that looks at each field.
//!
//! Firmware has been tried with that driver. What it does not read may be anything, and what is
//! not listed here counts as unread. So do reserved bits, and bits of masks that nobody knows yet.
//! What the driver hands on to user space as it came counts as read.

use crate::entries::{AcqCommonDesc, AenqCommonDesc, CompEvent, Eqe, MmioReadResp};
use crate::features::{
    AenqConfig, DeviceAttr, EventQueueAttr, HwHints, NetworkAttr, QueueAttr1, QueueAttr2,
};
use crate::layout::Layout;
use crate::{commands, constants as c, regs, stats};

/// A field that is read.
#[derive(Debug, Clone, Copy)]
pub struct Read {
    /// Its name, as in the layout.
    pub field: &'static str,
    /// The bits that count; `None`: all.
    pub bits: Option<u64>,
}

/// What one function reads of one layout.
#[derive(Debug, Clone, Copy)]
pub struct Reads {
    /// The layout.
    pub layout: &'static Layout,
    /// The file of the C driver.
    pub file: &'static str,
    /// The function in it.
    pub function: &'static str,
    /// What it reads.
    pub fields: &'static [Read],
}

/// A register that is read.
#[derive(Debug, Clone, Copy)]
pub struct RegisterRead {
    /// Its offset.
    pub register: u32,
    /// Its name in the C driver.
    pub name: &'static str,
    /// The bits that count.
    pub bits: u32,
    /// The file of the C driver.
    pub file: &'static str,
    /// The function in it.
    pub function: &'static str,
}

macro_rules! reads {
    (@bits) => { None };
    (@bits $bits:expr) => { Some(($bits) as u64) };
    ($( $file:literal $function:literal $layout:path { $( $field:literal $(& $bits:expr)? ),+ $(,)? } )+) => {
        /// What is read of each layout, in the order of the C headers.
        pub const READS: &[Reads] = &[$(
            Reads {
                layout: &$layout,
                file: $file,
                function: $function,
                fields: &[$( Read { field: $field, bits: reads!(@bits $($bits)?) } ),+],
            }
        ),+];
    };
}

/// The features that the driver knows. Of the others it does not see whether they are there.
const KNOWN_FEATURES: u64 = (1 << c::DEVICE_ATTR)
    | (1 << c::AENQ_CONFIG)
    | (1 << c::NETWORK_ATTR)
    | (1 << c::QUEUE_ATTR_1)
    | (1 << c::HW_HINTS)
    | (1 << c::HOST_INFO)
    | (1 << c::EVENT_QUEUE_ATTR)
    | (1 << c::QUEUE_ATTR_2);

const KNOWN_CAPS: u32 = c::FEATURE_DEVICE_ATTR_DESC_RDMA_READ_MASK
    | c::FEATURE_DEVICE_ATTR_DESC_RNR_RETRY_MASK
    | c::FEATURE_DEVICE_ATTR_DESC_DATA_POLLING_128_MASK
    | c::FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK
    | c::FEATURE_DEVICE_ATTR_DESC_UNSOLICITED_WRITE_RECV_MASK
    | c::FEATURE_DEVICE_ATTR_DESC_EVENT_COUNTERS_MASK
    | c::FEATURE_DEVICE_ATTR_DESC_SQ_64_BIT_REQ_ID_MASK;

/// It keeps the number of the doorbell BAR in a byte.
const DOORBELL_BAR: u16 = 0xff;

/// It makes event queues of a depth of 16 bits, and tells user space of so many inline bytes.
const LOW_HALF: u32 = 0xffff;

const KNOWN_GROUPS: u32 =
    (1 << c::FATAL_ERROR) | (1 << c::WARNING) | (1 << c::NOTIFICATION) | (1 << c::KEEP_ALIVE);

const KNOWN_COUNTER_EVENTS: u32 = c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_ERR_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_ERR_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_ERR_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_ERR_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_READ_COMP_MASK
    | c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_WRITE_COMP_MASK;

const VALID_INTERCONNECTS: u8 = (c::REG_MR_RESP_RECV_IC_ID_MASK
    | c::REG_MR_RESP_RDMA_READ_IC_ID_MASK
    | c::REG_MR_RESP_RDMA_RECV_IC_ID_MASK) as u8;

reads! {
    "efa_com.c" "efa_com_handle_single_admin_completion" AcqCommonDesc::LAYOUT {
        "command" & c::ACQ_COMMON_DESC_COMMAND_ID_MASK,
    }
    "efa_com.c" "efa_com_handle_admin_completion" AcqCommonDesc::LAYOUT {
        "flags" & c::ACQ_COMMON_DESC_PHASE_MASK,
    }
    "efa_com.c" "efa_com_wait_and_process_admin_cq_interrupts" AcqCommonDesc::LAYOUT { "status" }
    "efa_com.c" "efa_com_aenq_intr_handler" AenqCommonDesc::LAYOUT {
        "group",
        "flags" & c::AENQ_COMMON_DESC_PHASE_MASK,
    }
    "efa_com.c" "efa_com_eq_comp_intr_handler" Eqe::LAYOUT { "common" & c::EQE_PHASE_MASK }
    "efa_main.c" "efa_process_eqe" Eqe::LAYOUT { "common" & c::EQE_EVENT_TYPE_MASK }
    "efa_main.c" "efa_process_comp_eqe" CompEvent::LAYOUT { "cqn" }
    "efa_com.c" "efa_com_reg_read32" MmioReadResp::LAYOUT { "req_id", "reg_off", "reg_val" }

    "efa_com_cmd.c" "efa_com_create_qp" commands::CreateQpResp::LAYOUT {
        "qp_handle", "qp_num", "send_sub_cq_idx", "recv_sub_cq_idx", "sq_db_offset",
        "rq_db_offset", "llq_descriptors_offset",
    }
    "efa_com_cmd.c" "efa_com_query_qp" commands::QueryQpResp::LAYOUT {
        "qp_state", "qkey", "sq_psn", "sq_draining", "rnr_retry",
    }
    "efa_com_cmd.c" "efa_com_create_ah" commands::CreateAhResp::LAYOUT { "ah" }
    "efa_com_cmd.c" "efa_com_register_mr" commands::RegMrResp::LAYOUT {
        "l_key", "r_key", "validity" & VALID_INTERCONNECTS, "recv_ic_id", "rdma_read_ic_id",
        "rdma_recv_ic_id",
    }
    "efa_com_cmd.c" "efa_com_create_cq" commands::CreateCqResp::LAYOUT {
        "cq_idx", "db_offset", "flags" & c::CREATE_CQ_RESP_DB_VALID_MASK,
    }
    "efa_com_cmd.c" "efa_com_alloc_pd" commands::AllocPdResp::LAYOUT { "pd" }
    "efa_com_cmd.c" "efa_com_alloc_uar" commands::AllocUarResp::LAYOUT { "uar" }
    "efa_com.c" "efa_com_create_eq" commands::CreateEqResp::LAYOUT { "eqn" }
    "efa_com_cmd.c" "efa_com_create_event_counter" commands::CreateEventCounterResp::LAYOUT {
        "cntr_handle",
    }

    "efa_com_cmd.c" "efa_com_get_stats" stats::BasicStats::LAYOUT {
        "tx_bytes", "tx_pkts", "rx_bytes", "rx_pkts", "rx_drops",
    }
    "efa_com_cmd.c" "efa_com_get_stats" stats::MessagesStats::LAYOUT {
        "send_bytes", "send_wrs", "recv_bytes", "recv_wrs",
    }
    "efa_com_cmd.c" "efa_com_get_stats" stats::RdmaReadStats::LAYOUT {
        "read_wrs", "read_bytes", "read_wr_err", "read_resp_bytes",
    }
    "efa_com_cmd.c" "efa_com_get_stats" stats::RdmaWriteStats::LAYOUT {
        "write_wrs", "write_bytes", "write_wr_err", "write_recv_bytes",
    }
    "efa_com_cmd.c" "efa_com_get_stats" stats::NetworkStats::LAYOUT {
        "retrans_bytes", "retrans_pkts", "retrans_timeout_events", "unresponsive_remote_events",
        "impaired_remote_conn_events",
    }

    "efa_com_cmd.c" "efa_com_get_device_attr" DeviceAttr::LAYOUT {
        "supported_features" & KNOWN_FEATURES, "page_size_cap", "admin_api_version",
        "db_bar" & DOORBELL_BAR, "device_caps" & KNOWN_CAPS, "max_rdma_size", "guid",
        "max_link_speed_gbps",
    }
    "efa_com_cmd.c" "efa_com_get_device_attr" QueueAttr1::LAYOUT {
        "max_qp", "max_sq_depth", "inline_buf_size" & LOW_HALF, "max_rq_depth", "max_cq", "max_cq_depth",
        "sub_cqs_per_cq", "min_sq_depth", "max_wr_send_sges", "max_wr_recv_sges", "max_mr",
        "max_mr_pages", "max_pd", "max_ah", "max_llq_size", "max_wr_rdma_sges", "max_tx_batch",
    }
    "efa_com_cmd.c" "efa_com_get_device_attr" QueueAttr2::LAYOUT {
        "inline_buf_size_ex", "supported_event_counter_qp_events" & KNOWN_COUNTER_EVENTS,
        "max_event_counters", "event_counter_max_val",
    }
    "efa_com_cmd.c" "efa_com_get_device_attr" EventQueueAttr::LAYOUT {
        "max_eq", "max_eq_depth" & LOW_HALF,
    }
    "efa_com_cmd.c" "efa_com_get_device_attr" NetworkAttr::LAYOUT { "addr", "mtu" }
    "efa_com_cmd.c" "efa_com_set_aenq_config" AenqConfig::LAYOUT {
        "supported_groups" & KNOWN_GROUPS,
    }
    "efa_com_cmd.c" "efa_com_get_hw_hints" HwHints::LAYOUT {
        "mmio_read_timeout", "admin_completion_timeout", "poll_interval",
    }
}

/// The checksum of a completion, which is read from API version 0.2 on
/// (`efa_com_cqe_checksum_valid` in efa_com.c): the device makes it over what it sends.
pub const CHECKSUM: &str = "checksum";

/// Fields that the driver copies or shows to who debugs it, and never acts on.
pub const COPIED: &[(&Layout, &str)] = &[
    (&DeviceAttr::LAYOUT, "fw_version"),
    (&DeviceAttr::LAYOUT, "device_version"),
    (&DeviceAttr::LAYOUT, "phys_addr_width"),
    (&DeviceAttr::LAYOUT, "virt_addr_width"),
    (&EventQueueAttr::LAYOUT, "event_bitmask"),
    (&AenqConfig::LAYOUT, "enabled_groups"),
    (&HwHints::LAYOUT, "driver_watchdog_timeout"),
];

/// The registers that are read, and what counts of them.
pub const REGISTERS: &[RegisterRead] = &[
    RegisterRead {
        register: regs::VERSION_OFF,
        name: "EFA_REGS_VERSION_OFF",
        // It is compared as a whole.
        bits: u32::MAX,
        file: "efa_com.c",
        function: "efa_com_validate_version",
    },
    RegisterRead {
        register: regs::CONTROLLER_VERSION_OFF,
        name: "EFA_REGS_CONTROLLER_VERSION_OFF",
        bits: regs::CONTROLLER_VERSION_MAJOR_VERSION_MASK
            | regs::CONTROLLER_VERSION_MINOR_VERSION_MASK
            | regs::CONTROLLER_VERSION_SUBMINOR_VERSION_MASK,
        file: "efa_com.c",
        function: "efa_com_validate_version",
    },
    RegisterRead {
        register: regs::CAPS_OFF,
        name: "EFA_REGS_CAPS_OFF",
        bits: regs::CAPS_RESET_TIMEOUT_MASK | regs::CAPS_ADMIN_CMD_TO_MASK,
        file: "efa_com.c",
        function: "efa_com_dev_reset",
    },
    RegisterRead {
        register: regs::CAPS_OFF,
        name: "EFA_REGS_CAPS_OFF",
        bits: regs::CAPS_DMA_ADDR_WIDTH_MASK,
        file: "efa_com.c",
        function: "efa_com_get_dma_width",
    },
    RegisterRead {
        register: regs::DEV_STS_OFF,
        name: "EFA_REGS_DEV_STS_OFF",
        bits: regs::DEV_STS_READY_MASK,
        file: "efa_com.c",
        function: "efa_com_dev_reset",
    },
    RegisterRead {
        register: regs::DEV_STS_OFF,
        name: "EFA_REGS_DEV_STS_OFF",
        bits: regs::DEV_STS_RESET_IN_PROGRESS_MASK,
        file: "efa_com.c",
        function: "wait_for_reset_state",
    },
];

/// Sets the bits in `mask` that are read of a layout which begins at `offset`. What is beyond the
/// end of `mask` is left out.
pub fn mark(mask: &mut [u8], layout: &Layout, offset: usize) {
    let reads = READS
        .iter()
        .filter(|reads| reads.layout.name == layout.name);
    for read in reads.flat_map(|reads| reads.fields) {
        let Some(field) = layout.field(read.field) else {
            continue;
        };
        let bits = read.bits.unwrap_or(u64::MAX).to_le_bytes();
        // Beyond 8 bytes there are arrays only, which are read whole.
        let bits = bits.into_iter().chain(std::iter::repeat(0xff));
        let bytes = mask.iter_mut().skip(offset + field.offset).take(field.size);
        for (byte, bits) in bytes.zip(bits) {
            *byte |= bits;
        }
    }
}

/// The bits that are read of a register.
pub fn register_bits(register: u32) -> u32 {
    let reads = REGISTERS.iter().filter(|read| read.register == register);
    reads.fold(0, |bits, read| bits | read.bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_that_is_listed_is_there_and_holds_its_bits() {
        for reads in READS {
            for read in reads.fields {
                let field = reads.layout.field(read.field);
                let field = field.unwrap_or_else(|| panic!("{}.{}", reads.layout.name, read.field));
                let bits = read.bits.unwrap_or(0);
                assert!(
                    field.size >= 8 || bits >> (8 * field.size) == 0,
                    "{}.{}: {bits:#x}",
                    reads.layout.name,
                    read.field
                );
                assert_ne!(read.bits, Some(0), "{}.{}", reads.layout.name, read.field);
            }
        }
        for (layout, field) in COPIED {
            assert!(layout.field(field).is_some(), "{}.{field}", layout.name);
        }
    }

    #[test]
    fn nothing_reserved_is_read() {
        let fields = READS.iter().flat_map(|reads| reads.fields);
        assert!(fields
            .into_iter()
            .all(|read| !read.field.starts_with("reserved")));
    }

    /// Numbers instead of names: the table is what is tested.
    #[test]
    fn the_bits_of_an_answer_are_where_the_driver_looks() {
        let mut mask = [0; 20];
        mark(&mut mask, &AcqCommonDesc::LAYOUT, 0);
        assert_eq!(mask[..8], [0xff, 0x0f, 0xff, 0x01, 0, 0, 0, 0]);
        mark(&mut mask, &commands::CreateCqResp::LAYOUT, 0);
        // The number, not the depth, the doorbell, and whether that is valid.
        assert_eq!(
            mask[8..],
            [0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0]
        );

        let mut mask = [0; 64];
        mark(&mut mask, &DeviceAttr::LAYOUT, 8);
        assert_eq!(mask[8..16], [0xfe, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(mask[16..24], [0xff; 8]);
        // Firmware version, then that of the features, then that of the device.
        assert_eq!(
            mask[24..36],
            [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]
        );
        // The BAR, the widths of addresses, and capabilities.
        assert_eq!(mask[36..44], [0xff, 0, 0, 0, 0x3f, 0x04, 0, 0]);
        assert_eq!(mask[56..64], [0xff, 0xff, 0, 0, 0, 0, 0, 0]);

        let mut mask = [0; 16];
        mark(&mut mask, &Eqe::LAYOUT, 0);
        mark(&mut mask, &CompEvent::LAYOUT, 8);
        assert_eq!(
            mask,
            [0xff, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn of_a_register_the_bits_count_that_the_driver_looks_at() {
        assert_eq!(register_bits(0x0), u32::MAX);
        assert_eq!(register_bits(0x4), 0x00ff_ffff);
        assert_eq!(register_bits(0x8), 0x000f_ff3e);
        assert_eq!(register_bits(0x58), 0x9);
        assert_eq!(register_bits(0x54), 0);
    }
}
