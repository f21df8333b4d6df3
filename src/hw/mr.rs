// SPDX-License-Identifier: GPL-2.0

//! The admin queue's wire layouts of memory regions.

use super::admin::AdminAcqCommonDesc;

rdma::wire! {
    /// Registers a memory region. The two words of a 64-bit field are low, high.
    pub(crate) struct AdminRegMrCmd {
        /// PD number.
        pub(crate) pd: u16,
        /// Must be zero.
        pub(crate) reserved16_w1: u16,
        /// Up to four page addresses; or, where the header says that there is a control buffer,
        /// an `AdminCtrlBuffInfo` of the page list.
        pub(crate) pbl: [u32; 8],
        /// Length in bytes.
        pub(crate) mr_length: [u32; 2],
        /// Bits 5:0: logarithm of the page size in bytes.
        pub(crate) flags: u8,
        /// What may be done to the memory, see `ADMIN_REG_MR_CMD_*_ENABLE_MASK`.
        pub(crate) permissions: u8,
        /// Must be zero.
        pub(crate) reserved16_w5: u16,
        /// Number of pages; zero leaves it to the device to count them.
        pub(crate) page_num: u32,
        /// The address that work requests have for the first byte.
        pub(crate) iova: [u32; 2],
    }

    /// Response to [`AdminRegMrCmd`].
    pub(crate) struct AdminRegMrResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// The key by which local work requests name the region.
        pub(crate) l_key: u32,
        /// The key by which remote ones do.
        pub(crate) r_key: u32,
        /// Which of the three ids are valid, see `ADMIN_REG_MR_RESP_*_ID_MASK`.
        pub(crate) validity: u8,
        /// The interconnect by which the device reaches the memory to receive.
        pub(crate) recv_ic_id: u8,
        /// The same to read for RDMA.
        pub(crate) rdma_read_ic_id: u8,
        /// The same to receive RDMA writes.
        pub(crate) rdma_recv_ic_id: u8,
    }

    /// Deregisters a memory region.
    pub(crate) struct AdminDeregMrCmd {
        /// The key of local work requests.
        pub(crate) l_key: u32,
    }

    /// Response to [`AdminDeregMrCmd`].
    pub(crate) struct AdminDeregMrResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }
}

rdma::wire! {
    /// Opcode: register a memory region.
    pub(crate) const ADMIN_REG_MR: u8 = 7;
    /// Opcode: deregister a memory region.
    pub(crate) const ADMIN_DEREG_MR: u8 = 8;

    /// Bits of the page size's logarithm.
    pub(crate) const ADMIN_REG_MR_CMD_PHYS_PAGE_SIZE_SHIFT_MASK: u8 = 0x3f;
    /// The device itself may write: receive, or read by RDMA.
    pub(crate) const ADMIN_REG_MR_CMD_LOCAL_WRITE_ENABLE_MASK: u8 = 1 << 0;
    /// Remote devices may write by RDMA.
    pub(crate) const ADMIN_REG_MR_CMD_REMOTE_WRITE_ENABLE_MASK: u8 = 1 << 1;
    /// Remote devices may read by RDMA.
    pub(crate) const ADMIN_REG_MR_CMD_REMOTE_READ_ENABLE_MASK: u8 = 1 << 2;

    /// `recv_ic_id` is valid.
    pub(crate) const ADMIN_REG_MR_RESP_RECV_IC_ID_MASK: u8 = 1 << 0;
    /// `rdma_read_ic_id` is valid.
    pub(crate) const ADMIN_REG_MR_RESP_RDMA_READ_IC_ID_MASK: u8 = 1 << 1;
    /// `rdma_recv_ic_id` is valid.
    pub(crate) const ADMIN_REG_MR_RESP_RDMA_RECV_IC_ID_MASK: u8 = 1 << 2;
}
