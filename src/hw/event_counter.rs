// SPDX-License-Identifier: GPL-2.0

//! The admin queue's wire layouts of event counters.

use super::admin::AdminAcqCommonDesc;

rdma::wire! {
    /// Creates an event counter.
    pub(crate) struct AdminCreateEventCounterCmd {
        /// UAR number.
        pub(crate) uar: u16,
        /// Must be zero.
        pub(crate) reserved: u16,
        /// Where the device writes the 64-bit value: low word, high word.
        pub(crate) paddr: [u32; 2],
    }

    /// Response to [`AdminCreateEventCounterCmd`].
    pub(crate) struct AdminCreateEventCounterResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
        /// What the device knows the counter by.
        pub(crate) cntr_handle: u32,
        /// Reserved.
        pub(crate) reserved: u32,
    }

    /// Destroys an event counter.
    pub(crate) struct AdminDestroyEventCounterCmd {
        /// What the device knows the counter by.
        pub(crate) cntr_handle: u32,
    }

    /// Response to [`AdminDestroyEventCounterCmd`].
    pub(crate) struct AdminDestroyEventCounterResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }

    /// Events of a queue pair, in an attach or detach command.
    pub(crate) struct AdminEventCounterAttachQpEvents {
        /// What the device knows the queue pair by.
        pub(crate) qp_handle: u32,
        /// The events, `ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_*_MASK`.
        pub(crate) events: u32,
    }

    /// Attaches an event counter to what it counts, or detaches it.
    pub(crate) struct AdminAttachDetachEventCounterCmd {
        /// What the device knows the counter by.
        pub(crate) cntr_handle: u32,
        /// What it counts, one of the types below.
        pub(crate) attach_type: u8,
        /// Must be zero.
        pub(crate) reserved: [u8; 3],
        /// By type.
        pub(crate) u: AdminEventCounterAttachQpEvents,
    }

    /// Response to [`AdminAttachDetachEventCounterCmd`].
    pub(crate) struct AdminAttachDetachEventCounterResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }

    /// Changes the value of an event counter.
    pub(crate) struct AdminModifyEventCounterCmd {
        /// What the device knows the counter by.
        pub(crate) cntr_handle: u32,
        /// One of the operations below.
        pub(crate) operation: u8,
        /// Must be zero.
        pub(crate) reserved: [u8; 7],
        /// The new value, or what is added: low word, high word.
        pub(crate) value: [u32; 2],
    }

    /// Response to [`AdminModifyEventCounterCmd`].
    pub(crate) struct AdminModifyEventCounterResp {
        /// The header.
        pub(crate) acq_common_desc: AdminAcqCommonDesc,
    }
}

rdma::wire! {
    /// Opcode: create an event counter.
    pub(crate) const ADMIN_CREATE_EVENT_COUNTER: u8 = 25;
    /// Opcode: destroy an event counter.
    pub(crate) const ADMIN_DESTROY_EVENT_COUNTER: u8 = 26;
    /// Opcode: attach an event counter.
    pub(crate) const ADMIN_ATTACH_EVENT_COUNTER: u8 = 27;
    /// Opcode: change the value of an event counter.
    pub(crate) const ADMIN_MODIFY_EVENT_COUNTER: u8 = 28;
    /// Opcode: detach an event counter.
    pub(crate) const ADMIN_DETACH_EVENT_COUNTER: u8 = 29;

    /// Type of attachment: events of a queue pair.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS: u8 = 0;

    /// Operation: set the value.
    pub(crate) const ADMIN_EVENT_COUNTER_MODIFY_SET: u8 = 0;
    /// Operation: add to the value.
    pub(crate) const ADMIN_EVENT_COUNTER_MODIFY_ADD: u8 = 1;

    /// Event: a send completed.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK: u32 = 1 << 0;
    /// Event: a send completed with an error.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_ERR_MASK: u32 = 1 << 1;
    /// Event: a receive completed.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_MASK: u32 = 1 << 2;
    /// Event: a receive completed with an error.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_ERR_MASK: u32 = 1 << 3;
    /// Event: an RDMA read completed.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_MASK: u32 = 1 << 4;
    /// Event: an RDMA read completed with an error.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_ERR_MASK: u32 = 1 << 5;
    /// Event: an RDMA write completed.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_MASK: u32 = 1 << 6;
    /// Event: an RDMA write completed with an error.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_ERR_MASK: u32 = 1 << 7;
    /// Event: a remote RDMA read completed.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_READ_COMP_MASK: u32 = 1 << 8;
    /// Event: a remote RDMA write completed.
    pub(crate) const ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_WRITE_COMP_MASK: u32 = 1 << 9;
}
