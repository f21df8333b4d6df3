// SPDX-License-Identifier: GPL-2.0

//! Wire layouts of what the device reports on its own: asynchronous events and completion events.
//!
//! See the parent module for the naming rule.

rdma::wire! {
    /// What each asynchronous event begins with.
    pub(crate) struct AdminAenqCommonDesc {
        /// One of the groups below.
        pub(crate) group: u16,
        /// What happened, by group.
        pub(crate) syndrome: u16,
        /// Bit 0: phase.
        pub(crate) flags: u8,
        /// Reserved.
        pub(crate) reserved1: [u8; 3],
        /// Device time, bits 31:0.
        pub(crate) timestamp_low: u32,
        /// Device time, bits 63:32.
        pub(crate) timestamp_high: u32,
    }

    /// An entry of the asynchronous event notification queue: 64 bytes.
    pub(crate) struct AdminAenqEntry {
        /// The header.
        pub(crate) aenq_common_desc: AdminAenqCommonDesc,
        /// Data of the event, by group.
        pub(crate) inline_data_w4: [u32; 12],
    }

    /// Data of a completion event.
    pub(crate) struct AdminCompEvent {
        /// CQ number.
        pub(crate) cqn: u16,
        /// Reserved.
        pub(crate) reserved: u16,
        /// Reserved.
        pub(crate) reserved2: u32,
    }

    /// An entry of an event queue: 16 bytes.
    pub(crate) struct AdminEqe {
        /// Bit 0: phase; bits 8:1: type of the event.
        pub(crate) common: u32,
        /// Reserved.
        pub(crate) reserved: u32,
        /// Data of the event; only one type is known.
        pub(crate) u: AdminCompEvent,
    }
}

rdma::wire! {
    /// Phase bit of an asynchronous event's flags.
    pub(crate) const ADMIN_AENQ_COMMON_DESC_PHASE_MASK: u8 = 1 << 0;

    /// Group: the device cannot go on.
    pub(crate) const ADMIN_FATAL_ERROR: u16 = 1;
    /// Group: something is wrong, the device goes on.
    pub(crate) const ADMIN_WARNING: u16 = 2;
    /// Group: something changed.
    pub(crate) const ADMIN_NOTIFICATION: u16 = 3;
    /// Group: the device is alive.
    pub(crate) const ADMIN_KEEP_ALIVE: u16 = 4;

    /// Phase bit of an event queue entry.
    pub(crate) const ADMIN_EQE_PHASE_MASK: u32 = 1 << 0;
    /// Type of the event in an event queue entry.
    pub(crate) const ADMIN_EQE_EVENT_TYPE_MASK: u32 = 0xff << 1;
    /// The type of a completion event, in place.
    pub(crate) const ADMIN_EQE_EVENT_TYPE_COMPLETION: u32 = 0;
}
