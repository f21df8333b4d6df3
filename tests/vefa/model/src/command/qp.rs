// SPDX-License-Identifier: GPL-2.0
//! CREATE_QP and MODIFY_QP.

use serde::Serialize;
use vefa_spec::commands::{CreateQpCmd, ModifyQpCmd};
use vefa_spec::constants as c;

use super::{check_bits, decode};
use crate::rules::Breach;

/// The size of a queue as a command asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct QueueSize {
    /// Bytes of the ring.
    pub bytes: u32,
    /// Work requests.
    pub depth: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct CreateQp {
    #[serde(rename = "type")]
    pub kind: u8,
    pub pd: u16,
    pub uar: u16,
    pub send_cq: u32,
    pub recv_cq: u32,
    pub send: QueueSize,
    pub receive: QueueSize,
    pub rq_base: u64,
    pub sl: u8,
    /// Whether a ring is in a memory region.
    pub is_virtual: bool,
    pub unsolicited_write_recv: bool,
    pub wide_req_id: bool,
}

impl CreateQp {
    pub fn parse(payload: &[u8]) -> Result<Self, Breach> {
        let cmd: CreateQpCmd = decode(&CreateQpCmd::LAYOUT, payload)?;
        let is_virtual = c::CREATE_QP_CMD_SQ_VIRT_MASK | c::CREATE_QP_CMD_RQ_VIRT_MASK;
        let unsolicited = c::CREATE_QP_CMD_UNSOLICITED_WRITE_RECV_MASK;
        let wide = c::CREATE_QP_CMD_SQ_64_BIT_REQ_ID_MASK;
        let flags = u32::from(cmd.flags);
        check_bits("create_qp.flags", flags, is_virtual | unsolicited | wide)?;
        let size = cmd.qp_alloc_size;
        Ok(Self {
            kind: cmd.qp_type,
            pd: cmd.pd,
            uar: cmd.uar,
            send_cq: cmd.send_cq_idx,
            recv_cq: cmd.recv_cq_idx,
            send: QueueSize {
                bytes: size.send_queue_ring_size,
                depth: size.send_queue_depth,
            },
            receive: QueueSize {
                bytes: size.recv_queue_ring_size,
                depth: size.recv_queue_depth,
            },
            rq_base: cmd.rq_base_addr,
            sl: cmd.sl,
            is_virtual: flags & is_virtual != 0,
            unsolicited_write_recv: flags & unsolicited != 0,
            wide_req_id: flags & wide != 0,
        })
    }
}

/// Each field is there only where the command's mask says so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct ModifyQp {
    pub qp_handle: u32,
    pub modify_mask: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cur_state: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sq_psn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_drained: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnr_retry: Option<u8>,
}

impl ModifyQp {
    pub fn parse(payload: &[u8]) -> Result<Self, Breach> {
        let cmd: ModifyQpCmd = decode(&ModifyQpCmd::LAYOUT, payload)?;
        let known = c::MODIFY_QP_CMD_QP_STATE_MASK
            | c::MODIFY_QP_CMD_CUR_QP_STATE_MASK
            | c::MODIFY_QP_CMD_QKEY_MASK
            | c::MODIFY_QP_CMD_SQ_PSN_MASK
            | c::MODIFY_QP_CMD_SQ_DRAINED_ASYNC_NOTIFY_MASK
            | c::MODIFY_QP_CMD_RNR_RETRY_MASK;
        check_bits("modify_qp.modify_mask", cmd.modify_mask, known)?;
        let has = |mask| cmd.modify_mask & mask != 0;
        Ok(Self {
            qp_handle: cmd.qp_handle,
            modify_mask: cmd.modify_mask,
            state: has(c::MODIFY_QP_CMD_QP_STATE_MASK).then_some(cmd.qp_state),
            cur_state: has(c::MODIFY_QP_CMD_CUR_QP_STATE_MASK).then_some(cmd.cur_qp_state),
            qkey: has(c::MODIFY_QP_CMD_QKEY_MASK).then_some(cmd.qkey),
            sq_psn: has(c::MODIFY_QP_CMD_SQ_PSN_MASK).then_some(cmd.sq_psn),
            notify_drained: has(c::MODIFY_QP_CMD_SQ_DRAINED_ASYNC_NOTIFY_MASK)
                .then_some(cmd.sq_drained_async_notify),
            rnr_retry: has(c::MODIFY_QP_CMD_RNR_RETRY_MASK).then_some(cmd.rnr_retry),
        })
    }
}
