// SPDX-License-Identifier: GPL-2.0
//! CREATE_CQ.

use serde::Serialize;
use vefa_spec::commands::CreateCqCmd;
use vefa_spec::constants as c;

use super::{check_bits, decode};
use crate::ring::address;
use crate::rules::Breach;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct CreateCq {
    pub uar: u16,
    /// Where the driver asks for events.
    pub eq: Option<u16>,
    /// Whether the ring is in a memory region.
    pub is_virtual: bool,
    /// Of a sub-CQ.
    pub depth: u16,
    pub sub_cqs: u16,
    pub entry_words: u8,
    pub with_source_gid: bool,
    pub wide_req_id: bool,
    pub base: u64,
}

impl CreateCq {
    pub fn parse(payload: &[u8]) -> Result<Self, Breach> {
        let cmd: CreateCqCmd = decode(&CreateCqCmd::LAYOUT, payload)?;
        let (caps_1, caps_2) = (u32::from(cmd.cq_caps_1), u32::from(cmd.cq_caps_2));
        let (events, is_virtual) = (
            c::CREATE_CQ_CMD_INTERRUPT_MODE_ENABLED_MASK,
            c::CREATE_CQ_CMD_VIRT_MASK,
        );
        let (words, source_gid, wide) = (
            c::CREATE_CQ_CMD_CQ_ENTRY_SIZE_WORDS_MASK,
            c::CREATE_CQ_CMD_SET_SRC_ADDR_MASK,
            c::CREATE_CQ_CMD_SQ_COMP_64_BIT_REQ_ID_MASK,
        );
        check_bits("create_cq.cq_caps_1", caps_1, events | is_virtual)?;
        check_bits("create_cq.cq_caps_2", caps_2, words | source_gid | wide)?;
        Ok(Self {
            uar: cmd.uar,
            eq: (caps_1 & events != 0).then_some(cmd.eqn),
            is_virtual: caps_1 & is_virtual != 0,
            depth: cmd.sub_cq_depth,
            sub_cqs: cmd.num_sub_cqs,
            entry_words: (caps_2 & words) as u8,
            with_source_gid: caps_2 & source_gid != 0,
            wide_req_id: caps_2 & wide != 0,
            base: address(cmd.cq_ba),
        })
    }
}
