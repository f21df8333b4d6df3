// SPDX-License-Identifier: GPL-2.0

//! Wire layouts of the admin commands of queue pairs.

use super::admin::{
    AdminAcqCommonDesc,
    CommonMemAddr, //
};

rdma::wire! {
    /// Sizes of a queue pair's queues.
    pub(crate) struct AdminQpAllocSize {
        /// Send ring in bytes.
        pub(crate) send_queue_ring_size: u32,
        /// Most sends outstanding.
        pub(crate) send_queue_depth: u32,
        /// Receive ring in bytes.
        pub(crate) recv_queue_ring_size: u32,
        /// Most receives outstanding.
        pub(crate) recv_queue_depth: u32,
    }

    /// Creates a queue pair, whose send ring is in LLQ memory.
    pub(crate) struct AdminCreateQpCmd {
        /// PD number.
        pub(crate) pd: u16,
        /// One of the types below.
        pub(crate) qp_type: u8,
        /// `ADMIN_CREATE_QP_CMD_*`
        pub(crate) flags: u8,
        /// Not used with LLQ memory.
        pub(crate) sq_base_addr: CommonMemAddr,
        /// Where the receive ring is.
        pub(crate) rq_base_addr: CommonMemAddr,
        /// CQ of sends.
        pub(crate) send_cq_idx: u32,
        /// CQ of receives.
        pub(crate) recv_cq_idx: u32,
        /// Not used with LLQ memory.
        pub(crate) sq_l_key: u32,
        /// Not used with a bus address.
        pub(crate) rq_l_key: u32,
        /// Sizes.
        pub(crate) qp_alloc_size: AdminQpAllocSize,
        /// UAR number.
        pub(crate) uar: u16,
        /// Service level; 0 is the default one.
        pub(crate) sl: u8,
        /// Must be zero.
        pub(crate) reserved: u8,
        /// Must be zero.
        pub(crate) reserved2: u32,
    }

    /// Response to [`AdminCreateQpCmd`].
    pub(crate) struct AdminCreateQpResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// What later commands know it by.
        pub(crate) qp_handle: u32,
        /// What peers know it by.
        pub(crate) qp_num: u16,
        /// Reserved.
        pub(crate) reserved: u16,
        /// Which sub-CQ sends complete on.
        pub(crate) send_sub_cq_idx: u16,
        /// Which sub-CQ receives complete on.
        pub(crate) recv_sub_cq_idx: u16,
        /// Offset of the send doorbell in the doorbell BAR.
        pub(crate) sq_db_offset: u32,
        /// Offset of the receive doorbell in the doorbell BAR.
        pub(crate) rq_db_offset: u32,
        /// Offset of the send ring in the LLQ memory.
        pub(crate) llq_descriptors_offset: u32,
    }

    /// Changes a queue pair.
    pub(crate) struct AdminModifyQpCmd {
        /// Which fields are valid, `ADMIN_MODIFY_QP_CMD_*`.
        pub(crate) modify_mask: u32,
        /// The queue pair.
        pub(crate) qp_handle: u32,
        /// The state to go to.
        pub(crate) qp_state: u32,
        /// The state to come from.
        pub(crate) cur_qp_state: u32,
        /// Key that received datagrams must have.
        pub(crate) qkey: u32,
        /// Sequence number of the first packet sent.
        pub(crate) sq_psn: u32,
        /// Whether to report that the send queue is drained.
        pub(crate) sq_drained_async_notify: u8,
        /// How often a send is tried again when the receiver is not ready; SRD only.
        pub(crate) rnr_retry: u8,
        /// Must be zero.
        pub(crate) reserved2: u16,
    }

    /// Response to [`AdminModifyQpCmd`].
    pub(crate) struct AdminModifyQpResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }

    /// Asks for the state of a queue pair.
    pub(crate) struct AdminQueryQpCmd {
        /// The queue pair.
        pub(crate) qp_handle: u32,
    }

    /// Response to [`AdminQueryQpCmd`].
    pub(crate) struct AdminQueryQpResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// Its state.
        pub(crate) qp_state: u32,
        /// Key that received datagrams must have.
        pub(crate) qkey: u32,
        /// Sequence number of the first packet sent.
        pub(crate) sq_psn: u32,
        /// Whether the send queue is being drained.
        pub(crate) sq_draining: u8,
        /// How often a send is tried again when the receiver is not ready; SRD only.
        pub(crate) rnr_retry: u8,
        /// Reserved.
        pub(crate) reserved2: u16,
    }

    /// Destroys a queue pair.
    pub(crate) struct AdminDestroyQpCmd {
        /// The queue pair.
        pub(crate) qp_handle: u32,
    }

    /// Response to [`AdminDestroyQpCmd`].
    pub(crate) struct AdminDestroyQpResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }
}

rdma::wire! {
    /// Opcode: create a queue pair.
    pub(crate) const ADMIN_CREATE_QP: u8 = 1;
    /// Opcode: change a queue pair.
    pub(crate) const ADMIN_MODIFY_QP: u8 = 2;
    /// Opcode: ask for the state of a queue pair.
    pub(crate) const ADMIN_QUERY_QP: u8 = 3;
    /// Opcode: destroy a queue pair.
    pub(crate) const ADMIN_DESTROY_QP: u8 = 4;

    /// Type: unreliable datagrams.
    pub(crate) const ADMIN_QP_TYPE_UD: u8 = 1;
    /// Type: scalable reliable datagrams.
    pub(crate) const ADMIN_QP_TYPE_SRD: u8 = 2;

    /// State: reset.
    pub(crate) const ADMIN_QP_STATE_RESET: u32 = 0;
    /// State: initialised.
    pub(crate) const ADMIN_QP_STATE_INIT: u32 = 1;
    /// State: ready to receive.
    pub(crate) const ADMIN_QP_STATE_RTR: u32 = 2;
    /// State: ready to send.
    pub(crate) const ADMIN_QP_STATE_RTS: u32 = 3;
    /// State: send queue drained.
    pub(crate) const ADMIN_QP_STATE_SQD: u32 = 4;
    /// State: send queue in error.
    pub(crate) const ADMIN_QP_STATE_SQE: u32 = 5;
    /// State: error.
    pub(crate) const ADMIN_QP_STATE_ERR: u32 = 6;

    /// Create: writes with immediate data use no receive work request.
    pub(crate) const ADMIN_CREATE_QP_CMD_UNSOLICITED_WRITE_RECV_MASK: u8 = 1 << 2;
    /// Create: sends have work request ids of 64 bits.
    pub(crate) const ADMIN_CREATE_QP_CMD_SQ_64_BIT_REQ_ID_MASK: u8 = 1 << 3;

    /// Modify: the state to go to.
    pub(crate) const ADMIN_MODIFY_QP_CMD_QP_STATE_MASK: u32 = 1 << 0;
    /// Modify: the state to come from.
    pub(crate) const ADMIN_MODIFY_QP_CMD_CUR_QP_STATE_MASK: u32 = 1 << 1;
    /// Modify: the queue key.
    pub(crate) const ADMIN_MODIFY_QP_CMD_QKEY_MASK: u32 = 1 << 2;
    /// Modify: the first sequence number.
    pub(crate) const ADMIN_MODIFY_QP_CMD_SQ_PSN_MASK: u32 = 1 << 3;
    /// Modify: the event of a drained send queue.
    pub(crate) const ADMIN_MODIFY_QP_CMD_SQ_DRAINED_ASYNC_NOTIFY_MASK: u32 = 1 << 4;
    /// Modify: the number of tries.
    pub(crate) const ADMIN_MODIFY_QP_CMD_RNR_RETRY_MASK: u32 = 1 << 5;
}
