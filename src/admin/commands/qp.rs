// SPDX-License-Identifier: GPL-2.0

//! The commands of queue pairs.

use super::{
    mem_addr,
    AdminCommand,
    Creates, //
};
use crate::hw::qp::*;
use kernel::{
    fmt,
    prelude::*, //
};
use rdma::{
    dma::Ends,
    qp::QpState, //
};
use zerocopy::FromZeros;

/// What kind of datagrams a queue pair sends and receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Unreliable.
    Ud,
    /// Scalable and reliable.
    Srd,
}

/// Creates a queue pair.
pub(crate) struct CreateQp {
    /// Its protection domain.
    pub(crate) pdn: u16,
    /// Its doorbell page.
    pub(crate) uarn: u16,
    /// Its transport.
    pub(crate) transport: Transport,
    /// Writes with immediate data use no receive work request.
    pub(crate) unsolicited_write_recv: bool,
    /// Sends have work request ids of 64 bits.
    pub(crate) wide_req_ids: bool,
    /// CQ of sends.
    pub(crate) send_cq: u16,
    /// CQ of receives.
    pub(crate) recv_cq: u16,
    /// The DMA address of the receive ring, 0 where there is none.
    pub(crate) rq_addr: u64,
    /// Sizes of the queues.
    pub(crate) sizes: AdminQpAllocSize,
    /// Service level.
    pub(crate) sl: u8,
}

impl fmt::Display for CreateQp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = &self.sizes;
        f.write_fmt(fmt!(
            "{:?}, pd {}, uar {}, cqs {} and {}, {} sends in {} bytes, {} receives in {} bytes, \
             sl {}",
            self.transport,
            self.pdn,
            self.uarn,
            self.send_cq,
            self.recv_cq,
            sizes.send_queue_depth,
            sizes.send_queue_ring_size,
            sizes.recv_queue_depth,
            sizes.recv_queue_ring_size,
            self.sl
        ))
    }
}

impl Creates for CreateQp {
    type End = DestroyQp;
}

impl AdminCommand for CreateQp {
    const OPCODE: u8 = ADMIN_CREATE_QP;
    const NAME: &'static str = "CREATE_QP";
    const KILLABLE: bool = true;
    type Request = AdminCreateQpCmd;
    type Response = AdminCreateQpResp;
    type Reply = AdminCreateQpResp;

    fn request(&self) -> Self::Request {
        let mut request = AdminCreateQpCmd::new_zeroed();
        request.pd = self.pdn;
        request.qp_type = match self.transport {
            Transport::Ud => ADMIN_QP_TYPE_UD,
            Transport::Srd => ADMIN_QP_TYPE_SRD,
        };
        if self.unsolicited_write_recv {
            request.flags |= ADMIN_CREATE_QP_CMD_UNSOLICITED_WRITE_RECV_MASK;
        }
        if self.wide_req_ids {
            request.flags |= ADMIN_CREATE_QP_CMD_SQ_64_BIT_REQ_ID_MASK;
        }
        request.rq_base_addr = mem_addr(self.rq_addr);
        request.send_cq_idx = self.send_cq.into();
        request.recv_cq_idx = self.recv_cq.into();
        request.qp_alloc_size = self.sizes;
        request.uar = self.uarn;
        request.sl = self.sl;
        request
    }

    fn reply(response: Self::Response) -> Self::Reply {
        response
    }
}

/// Changes a queue pair. What is `None` stays as it is.
pub(crate) struct ModifyQp {
    /// The queue pair.
    pub(crate) handle: u32,
    /// The states to come from and to go to.
    pub(crate) states: Option<(QpState, QpState)>,
    /// Key that received datagrams must have.
    pub(crate) qkey: Option<u32>,
    /// Sequence number of the first packet sent.
    pub(crate) sq_psn: Option<u32>,
    /// Whether to report that the send queue is drained.
    pub(crate) sq_drained_event: Option<bool>,
    /// How often a send is tried again when the receiver is not ready.
    pub(crate) rnr_retry: Option<u8>,
}

impl fmt::Display for ModifyQp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!("handle {:#x}", self.handle))?;
        if let Some((from, to)) = self.states {
            f.write_fmt(fmt!(", {from:?} to {to:?}"))?;
        }
        if let Some(rnr_retry) = self.rnr_retry {
            f.write_fmt(fmt!(", RNR retry {rnr_retry}"))?;
        }
        Ok(())
    }
}

impl AdminCommand for ModifyQp {
    const OPCODE: u8 = ADMIN_MODIFY_QP;
    const NAME: &'static str = "MODIFY_QP";
    const KILLABLE: bool = true;
    type Request = AdminModifyQpCmd;
    type Response = AdminModifyQpResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        let mut request = AdminModifyQpCmd::new_zeroed();
        request.qp_handle = self.handle;
        if let Some((from, to)) = self.states {
            request.modify_mask |= ADMIN_MODIFY_QP_CMD_QP_STATE_MASK;
            request.modify_mask |= ADMIN_MODIFY_QP_CMD_CUR_QP_STATE_MASK;
            request.cur_qp_state = to_wire(from);
            request.qp_state = to_wire(to);
        }
        if let Some(qkey) = self.qkey {
            request.modify_mask |= ADMIN_MODIFY_QP_CMD_QKEY_MASK;
            request.qkey = qkey;
        }
        if let Some(sq_psn) = self.sq_psn {
            request.modify_mask |= ADMIN_MODIFY_QP_CMD_SQ_PSN_MASK;
            request.sq_psn = sq_psn;
        }
        if let Some(event) = self.sq_drained_event {
            request.modify_mask |= ADMIN_MODIFY_QP_CMD_SQ_DRAINED_ASYNC_NOTIFY_MASK;
            request.sq_drained_async_notify = event.into();
        }
        if let Some(rnr_retry) = self.rnr_retry {
            request.modify_mask |= ADMIN_MODIFY_QP_CMD_RNR_RETRY_MASK;
            request.rnr_retry = rnr_retry;
        }
        request
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Resets a queue pair whose process believes it to be destroyed.
pub(crate) struct ResetQp {
    /// The queue pair.
    pub(crate) handle: u32,
    /// The state that it comes from.
    pub(crate) from: QpState,
}

impl fmt::Display for ResetQp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handle {:#x}, {:?} to Reset", self.handle, self.from)
    }
}

impl AdminCommand for ResetQp {
    const OPCODE: u8 = ADMIN_MODIFY_QP;
    const NAME: &'static str = "MODIFY_QP";
    const KILLABLE: bool = false;
    // Who sends it says what that means.
    const OPTIONAL: bool = true;
    type Request = AdminModifyQpCmd;
    type Response = AdminModifyQpResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        let change = ModifyQp {
            handle: self.handle,
            states: Some((self.from, QpState::Reset)),
            qkey: None,
            sq_psn: None,
            sq_drained_event: None,
            rnr_retry: None,
        };
        change.request()
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Asks for the state of a queue pair.
pub(crate) struct QueryQp {
    /// The queue pair.
    pub(crate) handle: u32,
}

/// The state of a queue pair as the device has it.
#[derive(Clone, Copy)]
pub(crate) struct QueriedQp {
    /// Its state, as verbs number them; the device may tell one that nobody knows.
    pub(crate) state: u32,
    /// Key that received datagrams must have.
    pub(crate) qkey: u32,
    /// Sequence number of the first packet sent.
    pub(crate) sq_psn: u32,
    /// Whether the send queue is being drained.
    pub(crate) sq_draining: bool,
    /// How often a send is tried again when the receiver is not ready.
    pub(crate) rnr_retry: u8,
}

impl fmt::Display for QueryQp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!("handle {:#x}", self.handle))
    }
}

impl AdminCommand for QueryQp {
    const OPCODE: u8 = ADMIN_QUERY_QP;
    const NAME: &'static str = "QUERY_QP";
    const KILLABLE: bool = true;
    type Request = AdminQueryQpCmd;
    type Response = AdminQueryQpResp;
    type Reply = QueriedQp;

    fn request(&self) -> Self::Request {
        AdminQueryQpCmd {
            qp_handle: self.handle,
        }
    }

    fn reply(response: Self::Response) -> Self::Reply {
        QueriedQp {
            state: response.qp_state,
            qkey: response.qkey,
            sq_psn: response.sq_psn,
            sq_draining: response.sq_draining != 0,
            rnr_retry: response.rnr_retry,
        }
    }
}

/// Destroys a queue pair.
pub(crate) struct DestroyQp {
    /// The queue pair.
    pub(crate) handle: u32,
}

impl fmt::Display for DestroyQp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!("handle {:#x}", self.handle))
    }
}

impl Ends for DestroyQp {}

impl AdminCommand for DestroyQp {
    const OPCODE: u8 = ADMIN_DESTROY_QP;
    const NAME: &'static str = "DESTROY_QP";
    const KILLABLE: bool = false;
    type Request = AdminDestroyQpCmd;
    type Response = AdminDestroyQpResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDestroyQpCmd {
            qp_handle: self.handle,
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

fn to_wire(state: QpState) -> u32 {
    match state {
        QpState::Reset => ADMIN_QP_STATE_RESET,
        QpState::Init => ADMIN_QP_STATE_INIT,
        QpState::Rtr => ADMIN_QP_STATE_RTR,
        QpState::Rts => ADMIN_QP_STATE_RTS,
        QpState::Sqd => ADMIN_QP_STATE_SQD,
        QpState::Sqe => ADMIN_QP_STATE_SQE,
        QpState::Error => ADMIN_QP_STATE_ERR,
    }
}

#[kernel::macros::kunit_tests(efa_admin_commands_qp)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_pair_is_encoded_byte_by_byte() {
        let request = CreateQp {
            pdn: 0x0102,
            uarn: 0x0304,
            transport: Transport::Srd,
            unsolicited_write_recv: true,
            wide_req_ids: true,
            send_cq: 0x0506,
            recv_cq: 0x0708,
            rq_addr: 0x1122_3344_5566_7788,
            sizes: AdminQpAllocSize {
                send_queue_ring_size: 0x100,
                send_queue_depth: 4,
                recv_queue_ring_size: 0x80,
                recv_queue_depth: 8,
            },
            sl: 9,
        }
        .request();
        #[rustfmt::skip]
        assert_eq!(
            request.as_bytes(),
            &[
                2, 1, 2, 0b1100,
                0, 0, 0, 0, 0, 0, 0, 0,
                0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                6, 5, 0, 0, 8, 7, 0, 0,
                0, 0, 0, 0, 0, 0, 0, 0,
                0, 1, 0, 0, 4, 0, 0, 0, 0x80, 0, 0, 0, 8, 0, 0, 0,
                4, 3, 9, 0,
                0, 0, 0, 0,
            ]
        );
    }

    fn change() -> ModifyQp {
        ModifyQp {
            handle: 0x0102_0304,
            states: None,
            qkey: None,
            sq_psn: None,
            sq_drained_event: None,
            rnr_retry: None,
        }
    }

    #[test]
    fn a_change_names_what_is_to_change_and_nothing_else() {
        for (at, byte) in change().request().as_bytes().iter().enumerate() {
            let expected = if (4..8).contains(&at) { 8 - at } else { 0 };
            assert_eq!(usize::from(*byte), expected);
        }
        let request = ModifyQp {
            states: Some((QpState::Rtr, QpState::Rts)),
            sq_psn: Some(0x11),
            rnr_retry: Some(7),
            ..change()
        }
        .request();
        assert_eq!(request.modify_mask, 0b10_1011);
        assert_eq!((request.cur_qp_state, request.qp_state), (2, 3));
        assert_eq!((request.sq_psn, request.rnr_retry), (0x11, 7));
        let request = ModifyQp {
            qkey: Some(0x22),
            sq_drained_event: Some(true),
            ..change()
        }
        .request();
        assert_eq!(request.modify_mask, 0b1_0100);
        assert_eq!((request.qkey, request.sq_drained_async_notify), (0x22, 1));
    }

    #[test]
    fn a_state_has_the_number_that_verbs_have_for_it() {
        for (number, state) in (0..).zip(QpState::ALL) {
            assert_eq!(to_wire(state), number);
        }
    }
}
