// SPDX-License-Identifier: GPL-2.0

//! The admin queue's wire layouts: entries, commands, responses and features.
//!
//! See the parent module for the naming rule. All integers are little endian. Commands of the data
//! path have files of their own beside this one.

rdma::wire! {
    /// A 64-bit DMA address in two words.
    pub(crate) struct CommonMemAddr {
        /// Bits 31:0.
        pub(crate) mem_addr_low: u32,
        /// Bits 63:32.
        pub(crate) mem_addr_high: u32,
    }

    /// A buffer that a command points to.
    pub(crate) struct AdminCtrlBuffInfo {
        /// Length in bytes.
        pub(crate) length: u32,
        /// Where it is.
        pub(crate) address: CommonMemAddr,
    }

    /// What each submission entry begins with.
    pub(crate) struct AdminAqCommonDesc {
        /// Bits 11:0: the command's id, returned in its completion.
        pub(crate) command_id: u16,
        /// One of the opcodes below.
        pub(crate) opcode: u8,
        /// Bit 0: phase; bit 1: the control buffer's address is valid.
        pub(crate) flags: u8,
    }

    /// What each submission entry begins with from API version 0.3.
    pub(crate) struct AdminAqCommonDescV2 {
        /// As before 0.3.
        pub(crate) common: AdminAqCommonDesc,
        /// CRC16 of the whole entry, with zero here.
        pub(crate) checksum: u16,
        /// Version of the payload, zero.
        pub(crate) payload_ver: u8,
        /// Must be zero.
        pub(crate) reserved: [u8; 5],
    }

    /// A submission entry before API version 0.3: 64 bytes.
    pub(crate) struct AdminAqEntry {
        /// The header.
        pub(crate) aq_common_descriptor: AdminAqCommonDesc,
        /// The command's own part.
        pub(crate) request_payload: [u32; 15],
    }

    /// A submission entry from API version 0.3: 128 bytes.
    pub(crate) struct AdminAqEntryV2 {
        /// The header.
        pub(crate) aq_common_descriptor: AdminAqCommonDescV2,
        /// The command's own part.
        pub(crate) request_payload: [u32; 29],
    }

    /// What each completion entry begins with.
    pub(crate) struct AdminAcqCommonDesc {
        /// Bits 11:0: the id of the command that is complete.
        pub(crate) command: u16,
        /// One of the status values below.
        pub(crate) status: u8,
        /// Bit 0: phase.
        pub(crate) flags: u8,
        /// CRC16 of the whole entry, with zero here; valid from API version 0.2.
        pub(crate) checksum: u16,
        /// Reserved.
        pub(crate) reserved: u16,
    }

    /// A completion entry: 64 bytes.
    pub(crate) struct AdminAcqEntry {
        /// The header.
        pub(crate) acq_common_descriptor: AdminAcqCommonDesc,
        /// The response's own part.
        pub(crate) response_specific_data: [u32; 14],
    }

    /// Creates an address handle. The device accepts one per (PD, destination) only.
    pub(crate) struct AdminCreateAhCmd {
        /// Destination GID in network byte order.
        pub(crate) dest_addr: [u8; 16],
        /// PD number.
        pub(crate) pd: u16,
        /// Must be zero.
        pub(crate) reserved: u16,
    }

    /// Response to [`AdminCreateAhCmd`].
    pub(crate) struct AdminCreateAhResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// AH number.
        pub(crate) ah: u16,
        /// Reserved.
        pub(crate) reserved: u16,
    }

    /// Destroys an address handle.
    pub(crate) struct AdminDestroyAhCmd {
        /// AH number.
        pub(crate) ah: u16,
        /// PD number.
        pub(crate) pd: u16,
    }

    /// Response to [`AdminDestroyAhCmd`].
    pub(crate) struct AdminDestroyAhResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }

    /// Response to an ALLOC_PD command, which has no payload.
    pub(crate) struct AdminAllocPdResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// PD number.
        pub(crate) pd: u16,
        /// Reserved.
        pub(crate) reserved: u16,
    }

    /// Frees a protection domain.
    pub(crate) struct AdminDeallocPdCmd {
        /// PD number.
        pub(crate) pd: u16,
        /// Must be zero.
        pub(crate) reserved: u16,
    }

    /// Response to [`AdminDeallocPdCmd`].
    pub(crate) struct AdminDeallocPdResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }

    /// Response to an ALLOC_UAR command, which has no payload.
    pub(crate) struct AdminAllocUarResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// UAR number.
        pub(crate) uar: u16,
        /// Reserved.
        pub(crate) reserved: u16,
    }

    /// Frees a user access region.
    pub(crate) struct AdminDeallocUarCmd {
        /// UAR number.
        pub(crate) uar: u16,
        /// Must be zero.
        pub(crate) reserved: u16,
    }

    /// Response to [`AdminDeallocUarCmd`].
    pub(crate) struct AdminDeallocUarResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }

    /// Creates an event queue.
    pub(crate) struct AdminCreateEqCmd {
        /// Size in entries, a power of two.
        pub(crate) depth: u16,
        /// Index into the MSI-X table.
        pub(crate) msix_vec: u8,
        /// Bits 4:0: size of an entry in 32-bit words.
        pub(crate) caps: u8,
        /// Where the ring is.
        pub(crate) ba: CommonMemAddr,
        /// Bit 0: completion events.
        pub(crate) event_bitmask: u32,
        /// Must be zero.
        pub(crate) reserved: u32,
    }

    /// Response to [`AdminCreateEqCmd`].
    pub(crate) struct AdminCreateEqResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// EQ number.
        pub(crate) eqn: u16,
        /// Reserved.
        pub(crate) reserved: u16,
    }

    /// Destroys an event queue.
    pub(crate) struct AdminDestroyEqCmd {
        /// EQ number.
        pub(crate) eqn: u16,
        /// Must be zero.
        pub(crate) reserved: u16,
    }

    /// Response to [`AdminDestroyEqCmd`].
    pub(crate) struct AdminDestroyEqResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }

    /// Which feature a GET_FEATURE or SET_FEATURE command is about.
    pub(crate) struct AdminGetSetFeatureCommonDesc {
        /// Must be zero.
        pub(crate) reserved0: u8,
        /// One of the feature ids below.
        pub(crate) feature_id: u8,
        /// Must be zero.
        pub(crate) reserved16: u16,
    }

    /// Reads a feature.
    pub(crate) struct AdminGetFeatureCmd {
        /// Not used by any feature so far.
        pub(crate) control_buffer: AdminCtrlBuffInfo,
        /// The feature.
        pub(crate) feature_common: AdminGetSetFeatureCommonDesc,
        /// Must be zero.
        pub(crate) raw: [u32; 11],
    }

    /// Response to [`AdminGetFeatureCmd`].
    pub(crate) struct AdminGetFeatureResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// One of the feature descriptions below, by feature.
        pub(crate) u: [u32; 14],
    }

    /// Sets a feature.
    pub(crate) struct AdminSetFeatureCmd {
        /// The host information, for that feature.
        pub(crate) control_buffer: AdminCtrlBuffInfo,
        /// The feature.
        pub(crate) feature_common: AdminGetSetFeatureCommonDesc,
        /// [`AdminFeatureAenqDesc`], for that feature.
        pub(crate) u: [u32; 11],
    }

    /// Response to [`AdminSetFeatureCmd`].
    pub(crate) struct AdminSetFeatureResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// Not used by any feature so far.
        pub(crate) u: [u32; 14],
    }

    /// Feature DEVICE_ATTR.
    pub(crate) struct AdminFeatureDeviceAttrDesc {
        /// Bit N set: the device has feature id N.
        pub(crate) supported_features: u64,
        /// Bit N set: pages of 2^N bytes can be registered.
        pub(crate) page_size_cap: u64,
        /// Firmware version.
        pub(crate) fw_version: u32,
        /// Version of the admin interface, 1 or more.
        pub(crate) admin_api_version: u32,
        /// Device version.
        pub(crate) device_version: u32,
        /// BAR that holds the doorbells.
        pub(crate) db_bar: u16,
        /// Bits of a physical address.
        pub(crate) phys_addr_width: u8,
        /// Bits of a virtual address.
        pub(crate) virt_addr_width: u8,
        /// What the device can do, bits as in the C header.
        pub(crate) device_caps: u32,
        /// Largest RDMA transfer in bytes.
        pub(crate) max_rdma_size: u32,
        /// Unique id of the device.
        pub(crate) guid: u64,
        /// Link speed in Gbit/s; 0: not told.
        pub(crate) max_link_speed_gbps: u16,
        /// Reserved.
        pub(crate) reserved0: u16,
        /// Reserved.
        pub(crate) reserved1: u32,
    }

    /// Feature QUEUE_ATTR_1.
    pub(crate) struct AdminFeatureQueueAttrDesc1 {
        /// Most queue pairs.
        pub(crate) max_qp: u32,
        /// Most work requests in a send queue.
        pub(crate) max_sq_depth: u32,
        /// Most bytes inline in a send work request.
        pub(crate) inline_buf_size: u32,
        /// Most buffer descriptors in a receive queue.
        pub(crate) max_rq_depth: u32,
        /// Most completion queues.
        pub(crate) max_cq: u32,
        /// Most entries in a completion queue.
        pub(crate) max_cq_depth: u32,
        /// Sub-CQs that each CQ is made of.
        pub(crate) sub_cqs_per_cq: u16,
        /// Fewest work requests in a send queue.
        pub(crate) min_sq_depth: u16,
        /// Most buffers in a send work request.
        pub(crate) max_wr_send_sges: u16,
        /// Most buffers in a receive work request.
        pub(crate) max_wr_recv_sges: u16,
        /// Most memory regions.
        pub(crate) max_mr: u32,
        /// Most pages in a memory region.
        pub(crate) max_mr_pages: u32,
        /// Most protection domains.
        pub(crate) max_pd: u32,
        /// Most address handles.
        pub(crate) max_ah: u32,
        /// Most bytes of LLQ memory of a send queue.
        pub(crate) max_llq_size: u32,
        /// Most buffers in an RDMA work request.
        pub(crate) max_wr_rdma_sges: u16,
        /// Most 64-byte units written to a send queue between two doorbells; 0: no limit.
        pub(crate) max_tx_batch: u16,
    }

    /// Feature QUEUE_ATTR_2.
    pub(crate) struct AdminFeatureQueueAttrDesc2 {
        /// Most bytes inline in a send work request, instead of QUEUE_ATTR_1's limit.
        pub(crate) inline_buf_size_ex: u16,
        /// Reserved.
        pub(crate) reserved: [u8; 6],
        /// Events of a QP that can be counted, bits as in the C header.
        pub(crate) supported_event_counter_qp_events: u32,
        /// Most event counters.
        pub(crate) max_event_counters: u32,
        /// Largest value of an event counter, which then wraps to 0.
        pub(crate) event_counter_max_val: u64,
    }

    /// Feature EVENT_QUEUE_ATTR.
    pub(crate) struct AdminEventQueueAttrDesc {
        /// Most event queues.
        pub(crate) max_eq: u32,
        /// Most entries in an event queue.
        pub(crate) max_eq_depth: u32,
        /// Kinds of events; bit 0: completion events.
        pub(crate) event_bitmask: u32,
    }

    /// Feature AENQ_CONFIG.
    pub(crate) struct AdminFeatureAenqDesc {
        /// Bit N set: the device can report group N.
        pub(crate) supported_groups: u32,
        /// Bit N set: the device does report group N.
        pub(crate) enabled_groups: u32,
    }

    /// Feature NETWORK_ATTR.
    pub(crate) struct AdminFeatureNetworkAttrDesc {
        /// The device's GID in network byte order.
        pub(crate) addr: [u8; 16],
        /// Largest payload of a packet in bytes.
        pub(crate) mtu: u32,
    }

    /// Feature HW_HINTS. A value of 0 leaves the choice to the driver.
    pub(crate) struct AdminHwHints {
        /// Timeout of a register read in milliseconds.
        pub(crate) mmio_read_timeout: u16,
        /// Longest time between keep-alives in milliseconds.
        pub(crate) driver_watchdog_timeout: u16,
        /// Timeout of an admin command in milliseconds.
        pub(crate) admin_completion_timeout: u16,
        /// Time between two polls in milliseconds.
        pub(crate) poll_interval: u16,
    }

    /// What the driver tells about its host (feature HOST_INFO, in a control buffer).
    pub(crate) struct AdminHostInfo {
        /// The distribution's kernel release, zero terminated.
        pub(crate) os_dist_str: [u8; 128],
        /// Operating system; 0: Linux.
        pub(crate) os_type: u32,
        /// The kernel's version text, zero terminated.
        pub(crate) kernel_ver_str: [u8; 32],
        /// The kernel's version: major 31:16, minor 15:8, patch level 7:0.
        pub(crate) kernel_ver: u32,
        /// The driver's version: major 31:24, minor 23:16, sub minor 15:8, module type 7:0.
        pub(crate) driver_ver: u32,
        /// PCI address: bus 15:8, device 7:3, function 2:0.
        pub(crate) bdf: u16,
        /// Version of the specification: major 15:8, minor 7:0.
        pub(crate) spec_ver: u16,
        /// Bit 0: the driver is part of the kernel; bit 1: it supports GPUDirect.
        pub(crate) flags: u32,
    }

    /// The device's answer to a register read.
    pub(crate) struct AdminMmioReqReadLessResp {
        /// Sequence number of the request.
        pub(crate) req_id: u16,
        /// Offset of the register.
        pub(crate) reg_off: u16,
        /// Its value.
        pub(crate) reg_val: u32,
    }
}

rdma::wire! {
    /// `device_caps`: RDMA read.
    pub(crate) const ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_READ_MASK: u32 = 1 << 0;
    /// `device_caps`: retries when the receiver is not ready.
    pub(crate) const ADMIN_FEATURE_DEVICE_ATTR_DESC_RNR_RETRY_MASK: u32 = 1 << 1;
    /// `device_caps`: polling of 128 bytes of data.
    pub(crate) const ADMIN_FEATURE_DEVICE_ATTR_DESC_DATA_POLLING_128_MASK: u32 = 1 << 2;
    /// `device_caps`: RDMA write.
    pub(crate) const ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK: u32 = 1 << 3;
    /// `device_caps`: receives of writes with immediate data without a receive work request.
    pub(crate) const ADMIN_FEATURE_DEVICE_ATTR_DESC_UNSOLICITED_WRITE_RECV_MASK: u32 = 1 << 4;
    /// `device_caps`: event counters.
    pub(crate) const ADMIN_FEATURE_DEVICE_ATTR_DESC_EVENT_COUNTERS_MASK: u32 = 1 << 5;
    /// `device_caps`: work request ids of 64 bits.
    pub(crate) const ADMIN_FEATURE_DEVICE_ATTR_DESC_SQ_64_BIT_REQ_ID_MASK: u32 = 1 << 10;
}

rdma::wire! {
    /// Bits of a command id.
    pub(crate) const ADMIN_AQ_COMMON_DESC_COMMAND_ID_MASK: u16 = 0xfff;
    /// Phase bit of a submission entry's flags.
    pub(crate) const ADMIN_AQ_COMMON_DESC_PHASE_MASK: u8 = 1 << 0;
    /// A submission entry's control buffer is valid.
    pub(crate) const ADMIN_AQ_COMMON_DESC_CTRL_DATA_MASK: u8 = 1 << 1;
    /// The control buffer is a chain of buffers.
    pub(crate) const ADMIN_AQ_COMMON_DESC_CTRL_DATA_INDIRECT_MASK: u8 = 1 << 2;
    /// Bits of the id in a completion entry.
    pub(crate) const ADMIN_ACQ_COMMON_DESC_COMMAND_ID_MASK: u16 = 0xfff;
    /// Phase bit of a completion entry's flags.
    pub(crate) const ADMIN_ACQ_COMMON_DESC_PHASE_MASK: u8 = 1 << 0;

    /// Opcode: create an address handle.
    pub(crate) const ADMIN_CREATE_AH: u8 = 5;
    /// Opcode: destroy an address handle.
    pub(crate) const ADMIN_DESTROY_AH: u8 = 6;
    /// Opcode: read a feature.
    pub(crate) const ADMIN_GET_FEATURE: u8 = 11;
    /// Opcode: set a feature.
    pub(crate) const ADMIN_SET_FEATURE: u8 = 12;
    /// Opcode: allocate a protection domain.
    pub(crate) const ADMIN_ALLOC_PD: u8 = 14;
    /// Opcode: free a protection domain.
    pub(crate) const ADMIN_DEALLOC_PD: u8 = 15;
    /// Opcode: allocate a user access region.
    pub(crate) const ADMIN_ALLOC_UAR: u8 = 16;
    /// Opcode: free a user access region.
    pub(crate) const ADMIN_DEALLOC_UAR: u8 = 17;
    /// Opcode: create an event queue.
    pub(crate) const ADMIN_CREATE_EQ: u8 = 18;
    /// Opcode: destroy an event queue.
    pub(crate) const ADMIN_DESTROY_EQ: u8 = 19;

    /// Status: the command succeeded.
    pub(crate) const ADMIN_SUCCESS: u8 = 0;
    /// Status: the device has no such resource left.
    pub(crate) const ADMIN_RESOURCE_ALLOCATION_FAILURE: u8 = 1;
    /// Status: no such opcode.
    pub(crate) const ADMIN_BAD_OPCODE: u8 = 2;
    /// Status: this device lacks the opcode.
    pub(crate) const ADMIN_UNSUPPORTED_OPCODE: u8 = 3;
    /// Status: the entry is malformed.
    pub(crate) const ADMIN_MALFORMED_REQUEST: u8 = 4;
    /// Status: a parameter is not acceptable.
    pub(crate) const ADMIN_ILLEGAL_PARAMETER: u8 = 5;
    /// Status: the device cannot say what went wrong.
    pub(crate) const ADMIN_UNKNOWN_ERROR: u8 = 6;
    /// Status: the resource is in use.
    pub(crate) const ADMIN_RESOURCE_BUSY: u8 = 7;

    /// Feature id, see [`AdminFeatureDeviceAttrDesc`].
    pub(crate) const ADMIN_DEVICE_ATTR: u8 = 1;
    /// Feature id, see [`AdminFeatureAenqDesc`].
    pub(crate) const ADMIN_AENQ_CONFIG: u8 = 2;
    /// Feature id, see [`AdminFeatureNetworkAttrDesc`].
    pub(crate) const ADMIN_NETWORK_ATTR: u8 = 3;
    /// Feature id, see [`AdminFeatureQueueAttrDesc1`].
    pub(crate) const ADMIN_QUEUE_ATTR_1: u8 = 4;
    /// Feature id, see [`AdminHwHints`].
    pub(crate) const ADMIN_HW_HINTS: u8 = 5;
    /// Feature id, see [`AdminHostInfo`].
    pub(crate) const ADMIN_HOST_INFO: u8 = 6;
    /// Feature id, see [`AdminEventQueueAttrDesc`].
    pub(crate) const ADMIN_EVENT_QUEUE_ATTR: u8 = 7;
    /// Feature id, see [`AdminFeatureQueueAttrDesc2`].
    pub(crate) const ADMIN_QUEUE_ATTR_2: u8 = 9;

    /// An event queue reports completion events.
    pub(crate) const ADMIN_CREATE_EQ_CMD_COMPLETION_EVENTS_MASK: u32 = 1 << 0;
}
