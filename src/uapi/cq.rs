// SPDX-License-Identifier: GPL-2.0

//! Completion queues, between the driver and user space.
//!
//! See the parent module for the interface and its names.

rdma::wire! {
    /// Request of `create_cq`.
    pub(crate) struct IbvCreateCq {
        /// Nothing is known: must be 0.
        pub(crate) comp_mask: u32,
        /// Size of an entry in bytes.
        pub(crate) cq_entry_size: u32,
        /// Number of sub-CQs: what `alloc_ucontext` said.
        pub(crate) num_sub_cqs: u16,
        /// What the queue is to have (`CREATE_CQ_WITH_*`).
        pub(crate) flags: u8,
        /// Must be 0.
        pub(crate) reserved_58: [u8; 5],
    }

    /// Response of `create_cq`.
    pub(crate) struct IbvCreateCqResp {
        /// Which fields are there (`CREATE_CQ_RESP_*`).
        pub(crate) comp_mask: u32,
        pub(crate) reserved_20: [u8; 4],
        /// Key of the queue's memory, where the kernel brought it.
        pub(crate) q_mmap_key: u64,
        /// Length of that mapping in bytes.
        pub(crate) q_mmap_size: u64,
        /// The device's number of the queue.
        pub(crate) cq_idx: u16,
        pub(crate) reserved_d0: [u8; 2],
        /// Offset of the doorbell in its page.
        pub(crate) db_off: u32,
        /// Key of the page with the doorbell.
        pub(crate) db_mmap_key: u64,
    }
}

rdma::wire! {
    /// There are completion events.
    pub(crate) const CREATE_CQ_WITH_COMPLETION_CHANNEL: u8 = 1 << 0;
    /// Receive completions have the source GID of unknown senders.
    pub(crate) const CREATE_CQ_WITH_SGID: u8 = 1 << 1;
    /// Send completions have 64-bit work request ids.
    pub(crate) const CREATE_CQ_WITH_SQ_COMP_64_BIT_REQ_ID: u8 = 1 << 2;

    /// The doorbell's key and offset are there.
    pub(crate) const CREATE_CQ_RESP_DB_OFF: u32 = 1 << 0;
}
