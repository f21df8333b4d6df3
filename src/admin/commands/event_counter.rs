// SPDX-License-Identifier: GPL-2.0

//! Commands of event counters.

use super::{
    words,
    AdminCommand,
    Creates, //
};
use crate::hw::event_counter::*;
use kernel::fmt;
use rdma::dma::Ends;

/// Creates an event counter; replies its handle.
pub(crate) struct CreateEventCounter {
    /// The user access region it belongs to.
    pub(crate) uarn: u16,
    /// Where the device writes the value.
    pub(crate) addr: u64,
}

impl fmt::Display for CreateEventCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uar {}", self.uarn)
    }
}

impl Creates for CreateEventCounter {
    type End = DestroyEventCounter;
}

impl AdminCommand for CreateEventCounter {
    const OPCODE: u8 = ADMIN_CREATE_EVENT_COUNTER;
    const NAME: &'static str = "CREATE_EVENT_COUNTER";
    const KILLABLE: bool = true;
    type Request = AdminCreateEventCounterCmd;
    type Response = AdminCreateEventCounterResp;
    type Reply = u32;

    fn request(&self) -> Self::Request {
        AdminCreateEventCounterCmd {
            uar: self.uarn,
            reserved: 0,
            paddr: words(self.addr),
        }
    }

    fn reply(response: Self::Response) -> Self::Reply {
        response.cntr_handle
    }
}

/// Destroys an event counter.
pub(crate) struct DestroyEventCounter {
    /// What the device knows it by.
    pub(crate) handle: u32,
}

impl fmt::Display for DestroyEventCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event counter {}", self.handle)
    }
}

impl Ends for DestroyEventCounter {}

impl AdminCommand for DestroyEventCounter {
    const OPCODE: u8 = ADMIN_DESTROY_EVENT_COUNTER;
    const NAME: &'static str = "DESTROY_EVENT_COUNTER";
    const KILLABLE: bool = false;
    type Request = AdminDestroyEventCounterCmd;
    type Response = AdminDestroyEventCounterResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDestroyEventCounterCmd {
            cntr_handle: self.handle,
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// What an event counter counts: events of a queue pair.
#[derive(Clone, Copy)]
pub(crate) struct QpEvents {
    /// What the device knows the counter by.
    pub(crate) counter: u32,
    /// What the device knows the queue pair by.
    pub(crate) qp: u32,
    /// The events, `ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_*_MASK`.
    pub(crate) events: u32,
}

impl fmt::Display for QpEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event counter {}, QP handle {:#x}, events {:#x}",
            self.counter, self.qp, self.events
        )
    }
}

impl QpEvents {
    fn request(&self) -> AdminAttachDetachEventCounterCmd {
        AdminAttachDetachEventCounterCmd {
            cntr_handle: self.counter,
            attach_type: ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS,
            reserved: [0; 3],
            u: AdminEventCounterAttachQpEvents {
                qp_handle: self.qp,
                events: self.events,
            },
        }
    }
}

/// Lets an event counter count.
pub(crate) struct AttachEventCounter(pub(crate) QpEvents);

impl fmt::Display for AttachEventCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl AdminCommand for AttachEventCounter {
    const OPCODE: u8 = ADMIN_ATTACH_EVENT_COUNTER;
    const NAME: &'static str = "ATTACH_EVENT_COUNTER";
    const KILLABLE: bool = true;
    type Request = AdminAttachDetachEventCounterCmd;
    type Response = AdminAttachDetachEventCounterResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        self.0.request()
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Ends what [`AttachEventCounter`] began.
pub(crate) struct DetachEventCounter(pub(crate) QpEvents);

impl fmt::Display for DetachEventCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl AdminCommand for DetachEventCounter {
    const OPCODE: u8 = ADMIN_DETACH_EVENT_COUNTER;
    const NAME: &'static str = "DETACH_EVENT_COUNTER";
    const KILLABLE: bool = false;
    type Request = AdminAttachDetachEventCounterCmd;
    type Response = AdminAttachDetachEventCounterResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        self.0.request()
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Changes the value of an event counter.
pub(crate) struct ModifyEventCounter {
    /// What the device knows it by.
    pub(crate) handle: u32,
    /// `ADMIN_EVENT_COUNTER_MODIFY_*`.
    pub(crate) operation: u8,
    /// The new value, or what is added.
    pub(crate) value: u64,
}

impl fmt::Display for ModifyEventCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event counter {}, operation {}, value {}",
            self.handle, self.operation, self.value
        )
    }
}

impl AdminCommand for ModifyEventCounter {
    const OPCODE: u8 = ADMIN_MODIFY_EVENT_COUNTER;
    const NAME: &'static str = "MODIFY_EVENT_COUNTER";
    const KILLABLE: bool = true;
    type Request = AdminModifyEventCounterCmd;
    type Response = AdminModifyEventCounterResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminModifyEventCounterCmd {
            cntr_handle: self.handle,
            operation: self.operation,
            reserved: [0; 7],
            value: words(self.value),
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

#[kernel::macros::kunit_tests(efa_admin_commands_event_counter)]
mod tests {
    use super::*;
    use kernel::prelude::*;

    #[test]
    fn an_event_counter_is_encoded_byte_by_byte() {
        let request = CreateEventCounter {
            uarn: 0x0102,
            addr: 0x1112_1314_1516_1718,
        }
        .request();
        assert_eq!(
            request.as_bytes(),
            &[2, 1, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]
        );
        let request = DestroyEventCounter {
            handle: 0x0102_0304,
        }
        .request();
        assert_eq!(request.as_bytes(), &[4, 3, 2, 1]);
    }

    #[test]
    fn what_is_counted_is_encoded_byte_by_byte() {
        let events = QpEvents {
            counter: 0x0102_0304,
            qp: 0x1112_1314,
            events: 0x2122_2324,
        };
        let expected = [
            4, 3, 2, 1, 0, 0, 0, 0, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21,
        ];
        assert_eq!(AttachEventCounter(events).request().as_bytes(), &expected);
        assert_eq!(DetachEventCounter(events).request().as_bytes(), &expected);
    }

    #[test]
    fn a_change_is_encoded_byte_by_byte() {
        let request = ModifyEventCounter {
            handle: 0x0102_0304,
            operation: 1,
            value: 0x1112_1314_1516_1718,
        }
        .request();
        assert_eq!(
            request.as_bytes(),
            &[4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]
        );
    }
}
