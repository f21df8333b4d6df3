// SPDX-License-Identifier: GPL-2.0
//! Scripted faults: what shall go wrong, and with which command.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answers::check_fields;
use crate::names::{Opcode, Status};

/// What a fault does to a command that it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultAction {
    /// The command is not executed, and completes with `status`.
    Status,
    /// The command is executed, and completes with `status` all the same.
    Deny,
    /// The completion comes `ms` milliseconds later.
    Delay,
    /// The command is executed, and never completes.
    DropCompletion,
    /// The completion comes without its interrupt.
    DropInterrupt,
    /// The interrupt comes `ms` milliseconds after the completion.
    LateInterrupt,
    /// A completion with a wrong checksum comes first.
    BadCrc,
    /// A completion with the id of no command comes first.
    WrongId,
    /// The completion comes twice.
    Duplicate,
    /// A stale entry whose phase bit has already flipped comes first.
    EarlyPhase,
    /// The completion comes when the faults are cleared.
    Hold,
    /// From this command on the device answers nothing, until it is reset.
    Mute,
    /// The command is executed, and its answer has other `fields`.
    Answer,
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
    /// How many commands are hit; 0 for all.
    #[serde(default = "one")]
    pub count: u32,
    /// From one hit to the next, in matching commands; 1 hits them in a row.
    #[serde(default = "one")]
    pub every: u32,
    /// What happens to them.
    pub action: FaultAction,
    /// For [`FaultAction::Status`] and [`FaultAction::Deny`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// For [`FaultAction::Delay`] and [`FaultAction::LateInterrupt`], in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// For [`FaultAction::Answer`]: fields of the answer by their names in the C headers.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// Whether the bad entry takes the place of the right completion instead
    /// of coming before it.
    #[serde(default)]
    pub alone: bool,
}

fn one() -> u32 {
    1
}

/// A fault that still has hits to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingFault {
    /// What `fault` answered.
    pub fault: u64,
    /// Matching commands seen since it was scripted.
    pub seen: u32,
    /// What was asked for.
    #[serde(flatten)]
    pub request: FaultRequest,
}

/// What the faults that hit one command make of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Names of the actions, for the log.
    pub names: Vec<FaultAction>,
    /// Complete with this status, and do not execute.
    pub status: Option<Status>,
    /// Execute, then complete with this status.
    pub denial: Option<Status>,
    /// Complete this much later.
    pub delay: Option<Duration>,
    /// Complete when the faults are cleared.
    pub hold: bool,
    /// Bad entries to write before the right completion.
    pub bad_entries: Vec<BadEntry>,
    /// Whether the right completion is left out.
    pub drop_completion: bool,
    /// Whether the interrupt is left out.
    pub drop_interrupt: bool,
    /// Interrupt this much later.
    pub interrupt_delay: Option<Duration>,
    /// Whether the completion is written twice.
    pub duplicate: bool,
    /// Whether the device goes mute.
    pub mute: bool,
    /// Fields that the answer has instead of its own.
    pub fields: Map<String, Value>,
}

/// A completion entry that a driver must not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadEntry {
    Checksum,
    Id,
    EarlyPhase,
}

/// The faults to come.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    pending: Vec<PendingFault>,
    last_id: u64,
}

/// Checks that an argument is there if the action needs it, and only then.
///
/// # Errors
/// Says which of the two it is not; `actions` are those that have the argument.
pub(crate) fn check_argument(
    name: &str,
    is_given: bool,
    is_needed: bool,
    actions: &str,
) -> Result<(), String> {
    match (is_given, is_needed) {
        (true, false) => Err(format!("`{name}` is for {actions} only")),
        (false, true) => Err(format!("this action needs `{name}`")),
        _ => Ok(()),
    }
}

impl FaultPlan {
    /// Adds a fault and returns its id.
    ///
    /// # Errors
    /// Says what is wrong with the request.
    pub fn add(&mut self, request: FaultRequest) -> Result<u64, String> {
        let mut opcodes = Opcode::ALL.iter().copied();
        let opcode = opcodes.find(|opcode| opcode.name() == request.command);
        if request.command != "*" && opcode.is_none() {
            return Err(format!("no command is named `{}`", request.command));
        }
        let is_answer = request.action == FaultAction::Answer;
        check_argument("fields", !request.fields.is_empty(), is_answer, "`answer`")?;
        match opcode {
            Some(opcode) => check_fields(opcode, &request.fields)?,
            None if request.fields.is_empty() => {}
            None => return Err("`answer` needs the name of a command".to_owned()),
        }
        if request.nth == 0 {
            return Err("nth counts from 1".to_owned());
        }
        if request.every == 0 {
            return Err("every is at least 1".to_owned());
        }
        let has_status = matches!(request.action, FaultAction::Status | FaultAction::Deny);
        let given = request.status.is_some();
        check_argument("status", given, has_status, "`status` and `deny`")?;
        let has_ms = matches!(
            request.action,
            FaultAction::Delay | FaultAction::LateInterrupt
        );
        let given = request.ms.is_some();
        check_argument("ms", given, has_ms, "`delay` and `late_interrupt`")?;
        self.last_id += 1;
        self.pending.push(PendingFault {
            fault: self.last_id,
            seen: 0,
            request,
        });
        Ok(self.last_id)
    }

    /// The faults to come.
    pub fn pending(&self) -> &[PendingFault] {
        &self.pending
    }

    pub fn clear(&mut self) {
        self.pending.clear();
    }

    /// What hits the next command, which has this name.
    pub fn hit(&mut self, command: &str) -> Effects {
        let mut effects = Effects::default();
        self.pending.retain_mut(|fault| {
            let request = &fault.request;
            if request.command != "*" && request.command != command {
                return true;
            }
            fault.seen = fault.seen.saturating_add(1);
            let Some(since_first) = fault.seen.checked_sub(request.nth) else {
                return true;
            };
            if since_first % request.every == 0 {
                effects.add(request);
            }
            request.count == 0 || since_first / request.every + 1 < request.count
        });
        effects
    }
}

impl Effects {
    fn add(&mut self, request: &FaultRequest) {
        self.names.push(request.action);
        match request.action {
            FaultAction::Status => self.status = request.status,
            FaultAction::Deny => self.denial = request.status,
            FaultAction::Delay => self.delay = request.ms.map(Duration::from_millis),
            FaultAction::DropCompletion => self.drop_completion = true,
            FaultAction::DropInterrupt => self.drop_interrupt = true,
            FaultAction::LateInterrupt => {
                self.interrupt_delay = request.ms.map(Duration::from_millis);
            }
            FaultAction::BadCrc => self.bad_entry(BadEntry::Checksum, request.alone),
            FaultAction::WrongId => self.bad_entry(BadEntry::Id, request.alone),
            FaultAction::EarlyPhase => self.bad_entry(BadEntry::EarlyPhase, request.alone),
            FaultAction::Duplicate => self.duplicate = true,
            FaultAction::Hold => self.hold = true,
            FaultAction::Mute => self.mute = true,
            FaultAction::Answer => self.fields.extend(request.fields.clone()),
        }
    }

    fn bad_entry(&mut self, entry: BadEntry, alone: bool) {
        self.bad_entries.push(entry);
        self.drop_completion |= alone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(command: &str, nth: u32, count: u32) -> FaultRequest {
        FaultRequest {
            command: command.to_owned(),
            nth,
            count,
            every: 1,
            action: FaultAction::Duplicate,
            status: None,
            ms: None,
            fields: Map::new(),
            alone: false,
        }
    }

    fn hits(plan: &mut FaultPlan, commands: &[&str]) -> Vec<bool> {
        commands
            .iter()
            .map(|name| plan.hit(name).duplicate)
            .collect()
    }

    #[test]
    fn faults_hit_the_nth_matching_command_and_count_ones_from_there() {
        let mut plan = FaultPlan::default();
        plan.add(request("create_ah", 2, 2)).unwrap();
        let commands = [
            "create_ah",
            "alloc_pd",
            "create_ah",
            "create_ah",
            "create_ah",
        ];
        assert_eq!(
            hits(&mut plan, &commands),
            [false, false, true, true, false]
        );
        assert!(plan.pending().is_empty());
    }

    #[test]
    fn faults_can_leave_commands_out_between_two_hits() {
        let mut plan = FaultPlan::default();
        let every_third = FaultRequest {
            every: 3,
            ..request("create_ah", 2, 2)
        };
        plan.add(every_third).unwrap();
        let expected = [false, true, false, false, true, false, false, false];
        assert_eq!(hits(&mut plan, &["create_ah"; 8]), expected);
        assert!(plan.pending().is_empty());
    }

    #[test]
    fn faults_with_count_zero_stay_until_cleared() {
        let mut plan = FaultPlan::default();
        plan.add(request("*", 1, 0)).unwrap();
        assert_eq!(hits(&mut plan, &["alloc_pd", "opcode_99"]), [true, true]);
        plan.clear();
        assert_eq!(hits(&mut plan, &["alloc_pd"]), [false]);
    }

    #[test]
    fn faults_that_make_no_sense_are_refused() {
        let mut plan = FaultPlan::default();
        assert!(plan.add(request("create_foo", 1, 1)).is_err());
        assert!(plan.add(request("create_ah", 0, 1)).is_err());
        let never = FaultRequest {
            every: 0,
            ..request("*", 1, 1)
        };
        assert!(plan.add(never).is_err());
        let status = FaultRequest {
            action: FaultAction::Status,
            ..request("*", 1, 1)
        };
        assert!(plan.add(status).is_err());
        let delay = FaultRequest {
            action: FaultAction::Delay,
            ..request("*", 1, 1)
        };
        assert!(plan.add(delay).is_err());
    }
}
