// SPDX-License-Identifier: GPL-2.0

//! The commands of completion queues.

use super::{
    mem_addr,
    AdminCommand,
    Creates, //
};
use crate::hw::cq::*;
use kernel::fmt;
use rdma::dma::Ends;
use zerocopy::FromZeros;

/// Creates a completion queue.
pub(crate) struct CreateCq {
    /// The user access region of its doorbell.
    pub(crate) uarn: u16,
    /// The DMA address of its sub-CQs, which follow each other.
    pub(crate) addr: u64,
    /// Entries of each sub-CQ, a power of two.
    pub(crate) depth: u16,
    /// Number of sub-CQs.
    pub(crate) sub_cqs: u16,
    /// Size of an entry in bytes.
    pub(crate) entry_size: u8,
    /// The event queue that hears of completions, if any.
    pub(crate) eqn: Option<u16>,
    /// Receive completions have the source GID of unknown senders.
    pub(crate) with_source_gid: bool,
    /// Send completions have 64-bit work request ids.
    pub(crate) wide_req_id: bool,
}

/// A completion queue as the device made it.
pub(crate) struct CreatedCq {
    /// Its number.
    pub(crate) number: u16,
    /// Offset of its doorbell in the doorbell BAR, if it has one.
    pub(crate) doorbell: Option<u32>,
}

impl fmt::Display for CreateCq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "uar {}, {} sub-CQs of {} entries of {} bytes, eq {:?}",
            self.uarn, self.sub_cqs, self.depth, self.entry_size, self.eqn
        )
    }
}

impl Creates for CreateCq {
    type End = DestroyCq;
}

impl AdminCommand for CreateCq {
    const OPCODE: u8 = ADMIN_CREATE_CQ;
    const NAME: &'static str = "CREATE_CQ";
    const KILLABLE: bool = true;
    type Request = AdminCreateCqCmd;
    type Response = AdminCreateCqResp;
    type Reply = CreatedCq;

    fn request(&self) -> Self::Request {
        let mut request = AdminCreateCqCmd::new_zeroed();
        if let Some(eqn) = self.eqn {
            request.cq_caps_1 = ADMIN_CREATE_CQ_CMD_INTERRUPT_MODE_ENABLED_MASK;
            request.eqn = eqn;
        }
        request.cq_caps_2 = (self.entry_size / 4) & ADMIN_CREATE_CQ_CMD_CQ_ENTRY_SIZE_WORDS_MASK;
        if self.with_source_gid {
            request.cq_caps_2 |= ADMIN_CREATE_CQ_CMD_SET_SRC_ADDR_MASK;
        }
        if self.wide_req_id {
            request.cq_caps_2 |= ADMIN_CREATE_CQ_CMD_SQ_COMP_64_BIT_REQ_ID_MASK;
        }
        request.sub_cq_depth = self.depth;
        request.cq_ba = mem_addr(self.addr);
        request.num_sub_cqs = self.sub_cqs;
        request.uar = self.uarn;
        request
    }

    fn reply(response: Self::Response) -> Self::Reply {
        let has_doorbell = response.flags & ADMIN_CREATE_CQ_RESP_DB_VALID_MASK != 0;
        CreatedCq {
            number: response.cq_idx,
            doorbell: has_doorbell.then_some(response.db_offset),
        }
    }
}

/// Destroys a completion queue.
pub(crate) struct DestroyCq {
    /// Its number.
    pub(crate) number: u16,
}

impl fmt::Display for DestroyCq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cq {}", self.number)
    }
}

impl Ends for DestroyCq {}

impl AdminCommand for DestroyCq {
    const OPCODE: u8 = ADMIN_DESTROY_CQ;
    const NAME: &'static str = "DESTROY_CQ";
    const KILLABLE: bool = false;
    type Request = AdminDestroyCqCmd;
    type Response = AdminDestroyCqResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDestroyCqCmd {
            cq_idx: self.number,
            reserved1: 0,
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

#[kernel::macros::kunit_tests(efa_admin_commands_cq)]
mod tests {
    use super::*;
    use kernel::prelude::*;

    const POLLED: CreateCq = CreateCq {
        uarn: 0x0102,
        addr: 0x0011_2233_4455_6677,
        depth: 0x0400,
        sub_cqs: 3,
        entry_size: 16,
        eqn: None,
        with_source_gid: false,
        wide_req_id: false,
    };

    #[test]
    fn a_polled_queue_is_encoded_byte_by_byte() {
        assert_eq!(
            POLLED.request().as_bytes(),
            &[
                0, 4, 0, 4, 0, 0, 0, 0, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 3,
                0, 2, 1
            ]
        );
    }

    #[test]
    fn each_option_has_its_bits() {
        let caps = |command: &CreateCq| {
            let request = command.request();
            (request.cq_caps_1, request.cq_caps_2, request.eqn)
        };
        let with_eq = CreateCq {
            eqn: Some(5),
            ..POLLED
        };
        assert_eq!(caps(&with_eq), (1 << 5, 4, 5));
        let with_source_gid = CreateCq {
            entry_size: 32,
            with_source_gid: true,
            ..POLLED
        };
        assert_eq!(caps(&with_source_gid), (0, 1 << 5 | 8, 0));
        let wide_req_id = CreateCq {
            wide_req_id: true,
            ..POLLED
        };
        assert_eq!(caps(&wide_req_id), (0, 1 << 6 | 4, 0));
    }

    #[test]
    fn a_doorbell_that_the_device_does_not_vouch_for_is_none() {
        let mut response = AdminCreateCqResp::new_zeroed();
        response.cq_idx = 7;
        response.db_offset = 0x1010;
        let created = CreateCq::reply(response);
        assert_eq!((created.number, created.doorbell), (7, None));
        response.flags = 1;
        assert_eq!(CreateCq::reply(response).doorbell, Some(0x1010));
    }

    #[test]
    fn destroying_is_encoded_byte_by_byte() {
        let request = DestroyCq { number: 0x0102 }.request();
        assert_eq!(request.as_bytes(), &[2, 1, 0, 0]);
    }
}
