// SPDX-License-Identifier: GPL-2.0
//! Completion queues: each is a number of sub-CQs, rings that follow each
//! other in memory.

use crate::ring::Ring;

/// A live completion queue.
#[derive(Debug, Clone)]
pub(crate) struct Cq {
    pub uar: u16,
    /// The event queue that hears of completions, where the driver asked for events.
    pub eq: Option<u16>,
    /// Bytes of an entry: 16 or 32.
    pub entry_size: u16,
    /// Entries of a sub-CQ.
    pub depth: u16,
    /// Whether entries hold the source GID of senders without an AH.
    pub with_source_gid: bool,
    /// Whether send completions hold 64-bit request ids.
    pub wide_req_id: bool,
    /// Bus address of the first sub-CQ.
    pub base: u64,
    pub sub_cqs: Vec<Ring>,
    /// Whether the next completion raises an event.
    pub armed: bool,
}
