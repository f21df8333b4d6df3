// SPDX-License-Identifier: GPL-2.0
//! Requests of the control socket and their answers, one JSON object each.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answers::Noise;
use crate::config::Config;
use crate::data::faults::WorkFaultRequest;
use crate::data::network::NetworkScript;
use crate::faults::FaultRequest;
use crate::gid::Gid;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{AenqGroup, Status};
use crate::EfaModel;

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
    /// The command log from sequence number `since` on, and the number that
    /// comes next.
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
    /// Drops all faults, un-mutes the device, and lets go what it holds.
    ClearFaults {},
    /// Scripts a fault of the data path.
    WorkFault(WorkFaultRequest),
    /// Says what happens to packets that the device sends; replaces what was
    /// said before.
    Network(NetworkScript),
    /// Holds back the completions of a QP, or of all; off, they are written.
    HoldCompletions {
        #[serde(default)]
        qp: Option<u16>,
        on: bool,
    },
    /// The guest memory that the device knows, with digests of what is in it.
    Reach {},
    /// Writes an event of a completion queue, which need not exist, to an event queue.
    CompletionEvent { eq: u16, cq: u16 },
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

impl ControlRequest {
    /// The names of all operations.
    pub const OPS: [&'static str; 19] = [
        "counters",
        "objects",
        "log",
        "violations",
        "fault",
        "faults",
        "clear_faults",
        "work_fault",
        "network",
        "hold_completions",
        "reach",
        "completion_event",
        "event",
        "keep_alive",
        "set",
        "refuse",
        "accept",
        "reset_stats",
        "quit",
    ];
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

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Carries out a request of the control socket.
    pub fn control(&mut self, request: ControlRequest) -> ControlReply {
        let done = ControlReply::done();
        match request {
            ControlRequest::Counters {} => {
                let mut counters = self.journal.counters();
                counters.traffic = self.data.traffic.by_name();
                done.with("counters", counters)
            }
            ControlRequest::Objects { detail } => {
                let reply = done.with("objects", self.objects.counts());
                if detail {
                    reply.with("detail", self.objects.detail())
                } else {
                    reply
                }
            }
            ControlRequest::Log { since } => done
                .with("log", self.journal.log_since(since))
                .with("next", self.journal.next_seq())
                .with("dropped", self.journal.dropped()),
            ControlRequest::Violations { clear } => {
                let violations = &mut self.journal.violations;
                let reply = done
                    .with("violations", violations.kept())
                    .with("dropped", violations.dropped());
                if clear {
                    violations.clear();
                }
                reply
            }
            ControlRequest::Fault(request) => match self.faults.add(request) {
                Ok(id) => done.with("fault", id),
                Err(error) => ControlReply::refused(error),
            },
            ControlRequest::Faults {} => done
                .with("faults", self.faults.pending())
                .with("work_faults", self.data.faults.pending()),
            ControlRequest::ClearFaults {} => {
                self.faults.clear();
                self.data.clear_scripts();
                self.hold_completions(None, false);
                self.muted = false;
                self.release_held();
                done
            }
            ControlRequest::WorkFault(request) => match self.data.faults.add(request) {
                Ok(()) => done,
                Err(error) => ControlReply::refused(error),
            },
            ControlRequest::Network(script) => {
                self.data.network.set(script);
                done
            }
            ControlRequest::HoldCompletions { qp, on } => {
                self.hold_completions(qp, on);
                done
            }
            ControlRequest::Reach {} => match self.reach() {
                Ok(reach) => done.with("reach", reach),
                Err(error) => ControlReply::refused(error),
            },
            ControlRequest::CompletionEvent { eq, cq } => match self.write_event(eq, cq) {
                Ok(()) => done,
                Err(error) => ControlReply::refused(error),
            },
            ControlRequest::Event { group, syndrome } => match self.event(group, syndrome) {
                Ok(()) => done,
                Err(error) => ControlReply::refused(error),
            },
            ControlRequest::KeepAlive { on } => {
                self.sends_keep_alive = on;
                done
            }
            ControlRequest::Set(values) => match self.changed_config(values) {
                Ok(config) => {
                    if config.answers_seed != self.config.answers_seed {
                        self.noise = Noise::new(config.answers_seed);
                    }
                    self.config = config;
                    done
                }
                Err(error) => ControlReply::refused(error),
            },
            ControlRequest::Refuse { gid, status } => {
                self.refused.insert(gid, status);
                done
            }
            ControlRequest::Accept { gid } => {
                self.refused.remove(&gid);
                done
            }
            ControlRequest::ResetStats {} => {
                self.journal.reset_counters();
                done
            }
            ControlRequest::Quit {} => done,
        }
    }

    /// The configuration with some keys changed.
    fn changed_config(&self, values: Map<String, Value>) -> Result<Config, String> {
        if values.is_empty() {
            return Err("nothing to change: no key is given".to_owned());
        }
        let config = self.config.with(values)?;
        self.config
            .check_change(&config)
            .map_err(|error| error.to_string())?;
        Ok(config)
    }
}
