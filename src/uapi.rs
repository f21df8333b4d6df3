// SPDX-License-Identifier: GPL-2.0

//! What the driver and rdma-core's efa provider say to each other through verbs calls.
//!
//! The interface is the kernel's `include/uapi/rdma/efa-abi.h`; structures and constants are named
//! after the C ones as `hw.rs` has it. Only what the driver uses is declared.

// The tests of layouts compile this file in another place.
#[path = "uapi/cq.rs"]
pub(crate) mod cq;
// As above.
#[path = "uapi/qp.rs"]
pub(crate) mod qp;

rdma::wire! {
    /// Request of `alloc_ucontext`.
    pub(crate) struct IbvAllocUcontextCmd {
        /// Limits of a device that user space knows about (`ALLOC_UCONTEXT_CMD_SUPP_CAPS_*`).
        pub(crate) supported_caps: u32,
        pub(crate) reserved_20: [u8; 4],
    }

    /// Response of `alloc_ucontext`.
    pub(crate) struct IbvAllocUcontextResp {
        pub(crate) comp_mask: u32,
        /// Calls that take or give private data (`USER_CMDS_SUPP_UDATA_*`).
        pub(crate) cmds_supp_udata_mask: u32,
        /// Rings that make up a completion queue.
        pub(crate) sub_cqs_per_cq: u16,
        /// Inline data of a send, in bytes.
        pub(crate) inline_buf_size: u16,
        /// Largest send queue in bytes.
        pub(crate) max_llq_size: u32,
        /// Most that may be written before a doorbell, in units of 64 bytes; 0 is no limit.
        pub(crate) max_tx_batch: u16,
        /// Fewest work requests of a send queue.
        pub(crate) min_sq_wr: u16,
        /// Inline data of a send in a wide descriptor, in bytes; 0 is as `inline_buf_size`.
        pub(crate) inline_buf_size_ex: u16,
        pub(crate) reserved_b0: [u8; 2],
    }

    /// Response of `alloc_pd`.
    pub(crate) struct IbvAllocPdResp {
        pub(crate) comp_mask: u32,
        /// The device's number of the protection domain.
        pub(crate) pdn: u16,
        pub(crate) reserved_30: [u8; 2],
    }

    /// Response of `create_ah`.
    pub(crate) struct IbvCreateAhResp {
        pub(crate) comp_mask: u32,
        /// The device's number of the address handle.
        pub(crate) efa_address_handle: u16,
        pub(crate) reserved_30: [u8; 2],
    }

    /// Response of `query_device`.
    pub(crate) struct IbvExQueryDeviceResp {
        pub(crate) comp_mask: u32,
        /// Work requests of a send queue.
        pub(crate) max_sq_wr: u32,
        /// Work requests of a receive queue.
        pub(crate) max_rq_wr: u32,
        /// Scatter entries of a send.
        pub(crate) max_sq_sge: u16,
        /// Scatter entries of a receive.
        pub(crate) max_rq_sge: u16,
        /// Largest RDMA transfer in bytes.
        pub(crate) max_rdma_size: u32,
        /// What the device can do (`QUERY_DEVICE_CAPS_*`).
        pub(crate) device_caps: u32,
    }
}

rdma::wire! {
    /// The version of this interface.
    pub(crate) const UVERBS_ABI_VERSION: u32 = 1;

    /// User space knows `max_tx_batch`.
    pub(crate) const ALLOC_UCONTEXT_CMD_SUPP_CAPS_TX_BATCH: u32 = 1 << 0;
    /// User space knows `min_sq_wr`.
    pub(crate) const ALLOC_UCONTEXT_CMD_SUPP_CAPS_MIN_SQ_WR: u32 = 1 << 1;

    /// `query_device` has a response.
    pub(crate) const USER_CMDS_SUPP_UDATA_QUERY_DEVICE: u32 = 1 << 0;
    /// `create_ah` has a response.
    pub(crate) const USER_CMDS_SUPP_UDATA_CREATE_AH: u32 = 1 << 1;

    /// RDMA read.
    pub(crate) const QUERY_DEVICE_CAPS_RDMA_READ: u32 = 1 << 0;
    /// Retries when the receiver is not ready.
    pub(crate) const QUERY_DEVICE_CAPS_RNR_RETRY: u32 = 1 << 1;
    /// Completion events.
    pub(crate) const QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS: u32 = 1 << 2;
    /// Completion entries with the sender's GID.
    pub(crate) const QUERY_DEVICE_CAPS_CQ_WITH_SGID: u32 = 1 << 3;
    /// Polling of 128 bytes of data.
    pub(crate) const QUERY_DEVICE_CAPS_DATA_POLLING_128: u32 = 1 << 4;
    /// RDMA write.
    pub(crate) const QUERY_DEVICE_CAPS_RDMA_WRITE: u32 = 1 << 5;
    /// Receives of writes with immediate data that use no receive work request.
    pub(crate) const QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV: u32 = 1 << 6;
    /// Completion queues in memory that user space brings.
    pub(crate) const QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM: u32 = 1 << 7;
    /// Completion counters.
    pub(crate) const QUERY_DEVICE_CAPS_COMP_CNTR: u32 = 1 << 8;
    /// Work request ids of 64 bits.
    pub(crate) const QUERY_DEVICE_CAPS_SQ_64_BIT_REQ_ID: u32 = 1 << 9;

    /// Query of a memory region: `recv_ic_id` is valid.
    pub(crate) const QUERY_MR_VALIDITY_RECV_IC_ID: u16 = 1 << 0;
    /// Query of a memory region: `rdma_read_ic_id` is valid.
    pub(crate) const QUERY_MR_VALIDITY_RDMA_READ_IC_ID: u16 = 1 << 1;
    /// Query of a memory region: `rdma_recv_ic_id` is valid.
    pub(crate) const QUERY_MR_VALIDITY_RDMA_RECV_IC_ID: u16 = 1 << 2;

    /// Method of memory regions: by which interconnects the device reaches one.
    pub(crate) const IB_METHOD_MR_QUERY: u16 = 1 << 12;
    /// Attribute: which memory region is queried.
    pub(crate) const IB_ATTR_QUERY_MR_HANDLE: u16 = 1 << 12;
    /// Attribute: which of the ids are valid (`QUERY_MR_VALIDITY_*`), 16 bits.
    pub(crate) const IB_ATTR_QUERY_MR_RESP_IC_ID_VALIDITY: u16 = IB_ATTR_QUERY_MR_HANDLE + 1;
    /// Attribute: the interconnect of receives, 16 bits.
    pub(crate) const IB_ATTR_QUERY_MR_RESP_RECV_IC_ID: u16 = IB_ATTR_QUERY_MR_HANDLE + 2;
    /// Attribute: the interconnect of RDMA reads, 16 bits.
    pub(crate) const IB_ATTR_QUERY_MR_RESP_RDMA_READ_IC_ID: u16 = IB_ATTR_QUERY_MR_HANDLE + 3;
    /// Attribute: the interconnect of receives of RDMA writes, 16 bits.
    pub(crate) const IB_ATTR_QUERY_MR_RESP_RDMA_RECV_IC_ID: u16 = IB_ATTR_QUERY_MR_HANDLE + 4;

    /// Attribute: the memory of a completion counter's count of completions.
    pub(crate) const IB_ATTR_CREATE_COMP_CNTR_COMP_BUFFER: u16 = 1 << 12;
    /// Attribute: the memory of its count of completions with an error.
    pub(crate) const IB_ATTR_CREATE_COMP_CNTR_ERR_BUFFER: u16 =
        IB_ATTR_CREATE_COMP_CNTR_COMP_BUFFER + 1;
}
