// SPDX-License-Identifier: GPL-2.0

//! Private parts of the calls that make queue pairs.

rdma::wire! {
    /// Request of `create_qp`.
    pub(crate) struct IbvCreateQp {
        pub(crate) comp_mask: u32,
        /// Receive ring in bytes.
        pub(crate) rq_ring_size: u32,
        /// Send ring in bytes.
        pub(crate) sq_ring_size: u32,
        /// One of the types below, for a queue pair whose type verbs do not know.
        pub(crate) driver_qp_type: u32,
        /// `CREATE_QP_WITH_*`
        pub(crate) flags: u16,
        /// Service level; 0 is the default one.
        pub(crate) sl: u8,
        pub(crate) reserved_98: [u8; 5],
    }

    /// Response of `create_qp`.
    pub(crate) struct IbvCreateQpResp {
        pub(crate) comp_mask: u32,
        /// Offset of the receive doorbell in its page.
        pub(crate) rq_db_offset: u32,
        /// Offset of the send doorbell in its page.
        pub(crate) sq_db_offset: u32,
        /// Offset of the send ring in its first page.
        pub(crate) llq_desc_offset: u32,
        /// Key and size in bytes of the receive ring; both 0 where there is none.
        pub(crate) rq_mmap_key: u64,
        pub(crate) rq_mmap_size: u64,
        /// Key of the receive doorbell; 0 where there is none.
        pub(crate) rq_db_mmap_key: u64,
        /// Key of the send doorbell; 0 where there is no send ring.
        pub(crate) sq_db_mmap_key: u64,
        /// Key of the send ring; 0 where there is none.
        pub(crate) llq_desc_mmap_key: u64,
        /// Which sub-CQ sends complete on.
        pub(crate) send_sub_cq_idx: u16,
        /// Which sub-CQ receives complete on.
        pub(crate) recv_sub_cq_idx: u16,
        pub(crate) reserved_1e0: [u8; 4],
    }
}

rdma::wire! {
    /// Type: scalable reliable datagrams.
    pub(crate) const QP_DRIVER_TYPE_SRD: u32 = 0;

    /// Writes with immediate data use no receive work request.
    pub(crate) const CREATE_QP_WITH_UNSOLICITED_WRITE_RECV: u16 = 1 << 0;
    /// Sends have work request ids of 64 bits.
    pub(crate) const CREATE_QP_WITH_SQ_64_BIT_REQ_ID: u16 = 1 << 1;
}
