// SPDX-License-Identifier: GPL-2.0
//! Scripted faults: what shall go wrong, and with which command.

use serde::{Deserialize, Serialize};

use crate::names::Status;

/// What a fault does to a command that it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultAction {
    /// The command is not executed, and completes with `status`.
    Status,
    /// The completion comes `ms` milliseconds later.
    Delay,
    /// The command is executed, and never completes.
    DropCompletion,
    /// The completion comes without its interrupt.
    DropInterrupt,
    /// A completion with a wrong checksum comes first.
    BadCrc,
    /// A completion with the id of no command comes first.
    WrongId,
    /// The completion comes twice.
    Duplicate,
    /// A stale entry whose phase bit has already flipped comes first.
    EarlyPhase,
    /// From this command on the device answers nothing, until it is reset.
    Mute,
}

/// A fault as the control socket asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRequest {
    /// Name of the admin command to hit, or `*` for any.
    pub command: String,
    /// Which of the matching commands to come is the first hit; 1 is the next.
    #[serde(default = "one")]
    pub nth: u32,
    /// How many matching commands in a row are hit; 0 for all.
    #[serde(default = "one")]
    pub count: u32,
    /// What happens to them.
    pub action: FaultAction,
    /// For [`FaultAction::Status`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// For [`FaultAction::Delay`], in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// Whether the bad entry takes the place of the right completion instead
    /// of coming before it.
    #[serde(default)]
    pub alone: bool,
}

fn one() -> u32 {
    1
}
