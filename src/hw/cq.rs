// SPDX-License-Identifier: GPL-2.0

//! Wire layouts of the admin commands of completion queues.

use super::admin::{
    AdminAcqCommonDesc,
    CommonMemAddr, //
};

rdma::wire! {
    /// Creates a completion queue.
    pub(crate) struct AdminCreateCqCmd {
        /// `ADMIN_CREATE_CQ_CMD_INTERRUPT_MODE_ENABLED_MASK`.
        pub(crate) cq_caps_1: u8,
        /// Size of an entry in 32-bit words in bits 4:0, and the masks below.
        pub(crate) cq_caps_2: u8,
        /// Entries of each sub-CQ, a power of two.
        pub(crate) sub_cq_depth: u16,
        /// The event queue, where there are interrupts.
        pub(crate) eqn: u16,
        /// Must be zero.
        pub(crate) reserved: u16,
        /// Address of the sub-CQs, which follow each other.
        pub(crate) cq_ba: CommonMemAddr,
        /// The ring's memory region, where its address is one of that.
        pub(crate) l_key: u32,
        /// Number of sub-CQs: what QUEUE_ATTR_1 says.
        pub(crate) num_sub_cqs: u16,
        /// The user access region.
        pub(crate) uar: u16,
    }

    /// Completion of [`AdminCreateCqCmd`].
    pub(crate) struct AdminCreateCqResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// The new completion queue's number.
        pub(crate) cq_idx: u16,
        /// Entries that each sub-CQ got.
        pub(crate) sub_cq_actual_depth: u16,
        /// Offset of the doorbell in the doorbell BAR, in bytes.
        pub(crate) db_offset: u32,
        /// `ADMIN_CREATE_CQ_RESP_DB_VALID_MASK`.
        pub(crate) flags: u32,
    }

    /// Destroys a completion queue.
    pub(crate) struct AdminDestroyCqCmd {
        /// Its number.
        pub(crate) cq_idx: u16,
        /// Must be zero.
        pub(crate) reserved1: u16,
    }

    /// Completion of [`AdminDestroyCqCmd`].
    pub(crate) struct AdminDestroyCqResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }
}

rdma::wire! {
    /// Opcode: create a completion queue.
    pub(crate) const ADMIN_CREATE_CQ: u8 = 9;
    /// Opcode: destroy a completion queue.
    pub(crate) const ADMIN_DESTROY_CQ: u8 = 10;

    /// `cq_caps_1`: there are completion events, through an event queue.
    pub(crate) const ADMIN_CREATE_CQ_CMD_INTERRUPT_MODE_ENABLED_MASK: u8 = 1 << 5;
    /// `cq_caps_2`: receive completions have the source GID of unknown senders.
    pub(crate) const ADMIN_CREATE_CQ_CMD_SET_SRC_ADDR_MASK: u8 = 1 << 5;
    /// `cq_caps_2`: send completions have 64-bit work request ids.
    pub(crate) const ADMIN_CREATE_CQ_CMD_SQ_COMP_64_BIT_REQ_ID_MASK: u8 = 1 << 6;
    /// `cq_caps_2`: the size of an entry.
    pub(crate) const ADMIN_CREATE_CQ_CMD_CQ_ENTRY_SIZE_WORDS_MASK: u8 = 0x1f;

    /// `flags` of a completion: there is a doorbell.
    pub(crate) const ADMIN_CREATE_CQ_RESP_DB_VALID_MASK: u32 = 1 << 0;
}
