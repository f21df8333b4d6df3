// SPDX-License-Identifier: GPL-2.0
//! What the device remembers of what happened to it: the command log, the
//! counters, the violations.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::names::{AenqGroup, Opcode, ResetReason, Status};
use crate::rules::{Breach, Violations};

/// Most log entries that are kept; older ones are dropped and counted.
const LOG_CAPACITY: usize = 65_536;

/// One admin command, or a reset (command `reset` or `function_reset`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Counts up from 1.
    pub seq: u64,
    /// Device time in microseconds.
    pub time_us: u64,
    /// Name of the command; `opcode_N` where it has none.
    pub command: String,
    /// Command id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u16>,
    /// Status of its completion; none where the device was mute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Fields of the command and of its answer.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// What happened to the commands of one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCount {
    /// Received.
    pub seen: u64,
    /// Completed with success.
    pub ok: u64,
    /// Completed with any other status.
    pub failed: u64,
}

/// Counts since power-on or `reset_stats`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// By command name; all known names are there.
    pub commands: BTreeMap<String, CommandCount>,
    /// Interrupts raised, by vector.
    pub interrupts: BTreeMap<u16, u64>,
    /// Asynchronous events written, by group.
    pub aenq_events: BTreeMap<String, u64>,
    /// Asynchronous events that found no room or no bus mastering.
    pub aenq_dropped: u64,
    /// Keep-alive events written.
    pub keep_alives: u64,
    /// Device resets, by reason.
    pub resets: BTreeMap<String, u64>,
    /// PCI function resets.
    pub function_resets: u64,
    /// Registers read through MMIO_REG_READ.
    pub register_reads: u64,
    /// Times an event queue was armed.
    pub eq_arms: u64,
    /// Doorbells of the data path rung.
    pub doorbells: u64,
    /// Times a completion queue was armed.
    pub cq_arms: u64,
    /// Events of completion queues written.
    pub cq_events: u64,
    /// Work requests that ended, by status.
    pub completions: BTreeMap<String, u64>,
    /// Traffic since the last reset, as GET_STATS reports it; not set to zero
    /// by `reset_stats`.
    pub traffic: BTreeMap<String, u64>,
    /// Violations recorded; not set to zero by `reset_stats`.
    pub violations: u64,
}

impl Counters {
    fn new() -> Self {
        let name = |opcode: &Opcode| (opcode.name().to_owned(), CommandCount::default());
        Self {
            commands: Opcode::ALL.iter().map(name).collect(),
            aenq_events: AenqGroup::ALL
                .iter()
                .map(|group| (group.name().to_owned(), 0))
                .collect(),
            resets: ResetReason::ALL
                .iter()
                .map(|reason| (reason.name().to_owned(), 0))
                .collect(),
            ..Self::default()
        }
    }
}

/// Log, counters, violations, and the clock that dates them.
#[derive(Debug)]
pub(crate) struct Journal {
    pub now: Duration,
    pub counters: Counters,
    pub violations: Violations,
    log: VecDeque<LogEntry>,
    logged: u64,
    dropped: u64,
}

impl Journal {
    pub fn new() -> Self {
        Self {
            now: Duration::ZERO,
            counters: Counters::new(),
            violations: Violations::default(),
            log: VecDeque::new(),
            logged: 0,
            dropped: 0,
        }
    }

    /// Device time in microseconds.
    pub fn time_us(&self) -> u64 {
        u64::try_from(self.now.as_micros()).unwrap_or(u64::MAX)
    }

    pub fn breach(&mut self, breach: Breach) {
        let time_us = self.time_us();
        self.violations.record(time_us, breach);
    }

    /// A command that completes with `status`, or with none never does.
    pub fn command(
        &mut self,
        name: String,
        id: u16,
        status: Option<Status>,
        fields: Map<String, Value>,
    ) {
        let count = self.counters.commands.entry(name.clone()).or_default();
        count.seen += 1;
        match status {
            Some(Status::Success) => count.ok += 1,
            Some(_) => count.failed += 1,
            None => {}
        }
        self.append(name, Some(id), status, fields);
    }

    pub fn reset(&mut self, name: &str, fields: Map<String, Value>) {
        self.append(name.to_owned(), None, None, fields);
    }

    pub fn reset_counters(&mut self) {
        self.counters = Counters::new();
    }

    pub fn counters(&self) -> Counters {
        Counters {
            violations: self.violations.total(),
            ..self.counters.clone()
        }
    }

    pub fn log_since(&self, since: u64) -> Vec<&LogEntry> {
        self.log.iter().filter(|entry| entry.seq >= since).collect()
    }

    /// Sequence number of the entry that comes next.
    pub fn next_seq(&self) -> u64 {
        self.logged + 1
    }

    /// Entries that the log no longer holds.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn append(
        &mut self,
        command: String,
        id: Option<u16>,
        status: Option<Status>,
        fields: Map<String, Value>,
    ) {
        if self.log.len() == LOG_CAPACITY {
            self.log.pop_front();
            self.dropped += 1;
        }
        self.logged += 1;
        self.log.push_back(LogEntry {
            seq: self.logged,
            time_us: self.time_us(),
            command,
            id,
            status,
            fields,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_says_what_it_dropped() {
        let mut journal = Journal::new();
        for id in 0..LOG_CAPACITY + 11 {
            let status = Some(Status::Success);
            journal.command("alloc_pd".to_owned(), id as u16, status, Map::new());
        }
        let log = journal.log_since(0);
        assert_eq!(log.len(), LOG_CAPACITY);
        assert_eq!(log[0].seq, 12);
        assert_eq!(journal.dropped(), 11);
    }
}
