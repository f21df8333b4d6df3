// SPDX-License-Identifier: GPL-2.0
//! Requests of the control socket and their answers, one JSON object each.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::faults::FaultRequest;
use crate::gid::Gid;
use crate::names::{AenqGroup, Status};

/// What a test or a person asks of the device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlRequest {
    /// Counts of commands, interrupts, events and resets.
    Counters {},
    /// Counts of live objects; with `detail` also each of them.
    Objects {
        #[serde(default)]
        detail: bool,
    },
    /// The command log from sequence number `since` on.
    Log {
        #[serde(default)]
        since: u64,
    },
    /// Contract violations; `clear` empties the list after the answer.
    Violations {
        #[serde(default)]
        clear: bool,
    },
    /// Scripts a fault.
    Fault(FaultRequest),
    /// The faults that are still to come.
    Faults {},
    /// Drops all faults, and un-mutes the device.
    ClearFaults {},
    /// Raises an asynchronous event.
    Event {
        group: AenqGroup,
        #[serde(default)]
        syndrome: u16,
    },
    /// Turns the periodic keep-alive event on or off.
    KeepAlive { on: bool },
    /// Changes configuration keys of the running device.
    Set(Map<String, Value>),
    /// CREATE_AH for this GID fails with `status` until it is accepted again.
    Refuse {
        gid: Gid,
        #[serde(default = "default_refusal")]
        status: Status,
    },
    /// Takes a `refuse` back.
    Accept { gid: Gid },
    /// Sets all counters to zero.
    ResetStats {},
    /// Ends the program; the server acts on it, the model only agrees.
    Quit {},
}

fn default_refusal() -> Status {
    Status::IllegalParameter
}

/// The answer to a [`ControlRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlReply {
    /// Whether the request was carried out.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was asked for.
    #[serde(flatten)]
    pub body: Map<String, Value>,
}

impl ControlReply {
    /// The request was carried out, and there is nothing to say.
    pub fn done() -> Self {
        Self {
            ok: true,
            error: None,
            body: Map::new(),
        }
    }

    /// The request was refused.
    pub fn refused(error: impl ToString) -> Self {
        Self {
            ok: false,
            error: Some(error.to_string()),
            body: Map::new(),
        }
    }

    /// Adds `value` to the answer under `key`.
    pub fn with(mut self, key: &str, value: impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => {
                self.body.insert(key.to_owned(), value);
                self
            }
            Err(error) => Self::refused(error),
        }
    }
}
