// SPDX-License-Identifier: GPL-2.0
//! CREATE_EQ.

use serde::Serialize;
use vefa_spec::commands::CreateEqCmd;
use vefa_spec::constants as c;

use super::{check_bits, decode};
use crate::ring::address;
use crate::rules::Breach;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct CreateEq {
    pub depth: u16,
    pub vector: u16,
    pub entry_words: u8,
    pub event_bitmask: u32,
    pub base: u64,
}

impl CreateEq {
    pub fn parse(payload: &[u8]) -> Result<Self, Breach> {
        let cmd: CreateEqCmd = decode(&CreateEqCmd::LAYOUT, payload)?;
        let (words, events) = (
            c::CREATE_EQ_CMD_ENTRY_SIZE_WORDS_MASK,
            c::CREATE_EQ_CMD_COMPLETION_EVENTS_MASK,
        );
        check_bits("create_eq.caps", cmd.caps.into(), words)?;
        check_bits("create_eq.event_bitmask", cmd.event_bitmask, events)?;
        Ok(Self {
            depth: cmd.depth,
            vector: u16::from(cmd.msix_vec),
            entry_words: cmd.caps & words as u8,
            event_bitmask: cmd.event_bitmask,
            base: address(cmd.ba),
        })
    }

    /// Whether the queue is to hear of completions.
    pub fn completions(&self) -> bool {
        self.event_bitmask & c::CREATE_EQ_CMD_COMPLETION_EVENTS_MASK != 0
    }
}
