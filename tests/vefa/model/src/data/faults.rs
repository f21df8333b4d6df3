// SPDX-License-Identifier: GPL-2.0
//! Scripted faults of the data path: which work request shall go wrong, and how.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::faults::check_argument;
use crate::names::{Operation, WorkStatus};

/// What a fault does to a work request that it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkFaultAction {
    /// It is not carried out, and completes with `status`.
    Status,
    /// It starts `ms` milliseconds later.
    Delay,
    /// All packets that carry it are lost.
    Lose,
}

/// A fault as the control socket asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkFaultRequest {
    /// Hits only work requests of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// Hits only work requests of this QP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qp: Option<u16>,
    /// Which of the matching work requests to come is the first hit; 1 is the next.
    #[serde(default = "one")]
    pub nth: u32,
    /// How many matching work requests in a row are hit; 0 for all.
    #[serde(default = "one")]
    pub count: u32,
    /// What happens to them.
    pub action: WorkFaultAction,
    /// For [`WorkFaultAction::Status`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<WorkStatus>,
    /// For [`WorkFaultAction::Delay`], in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

fn one() -> u32 {
    1
}

/// A fault that still has hits to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingWorkFault {
    /// Matching work requests seen since it was scripted.
    pub seen: u32,
    /// What was asked for.
    #[serde(flatten)]
    pub request: WorkFaultRequest,
}

/// What the faults that hit one work request make of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WorkEffects {
    /// Complete with this status, and do not carry it out.
    pub status: Option<WorkStatus>,
    /// Start this much later.
    pub delay: Option<Duration>,
    /// Lose its packets.
    pub lose: bool,
}

/// The faults to come.
#[derive(Debug, Default)]
pub(crate) struct WorkFaults {
    pending: Vec<PendingWorkFault>,
}

impl WorkFaults {
    /// Adds a fault.
    ///
    /// # Errors
    /// Says what is wrong with the request.
    pub fn add(&mut self, request: WorkFaultRequest) -> Result<(), String> {
        if request.nth == 0 {
            return Err("nth counts from 1".to_owned());
        }
        let has_status = request.action == WorkFaultAction::Status;
        check_argument("status", request.status.is_some(), has_status, "`status`")?;
        let has_ms = request.action == WorkFaultAction::Delay;
        check_argument("ms", request.ms.is_some(), has_ms, "`delay`")?;
        self.pending.push(PendingWorkFault { seen: 0, request });
        Ok(())
    }

    /// The faults to come.
    pub fn pending(&self) -> &[PendingWorkFault] {
        &self.pending
    }

    pub fn clear(&mut self) {
        self.pending.clear();
    }

    /// What hits the next work request, which is this.
    pub fn hit(&mut self, operation: Operation, qp: u16) -> WorkEffects {
        let mut effects = WorkEffects::default();
        self.pending.retain_mut(|fault| {
            let request = &fault.request;
            let differs = request.operation.is_some_and(|only| only != operation)
                || request.qp.is_some_and(|only| only != qp);
            if differs {
                return true;
            }
            fault.seen = fault.seen.saturating_add(1);
            if fault.seen >= request.nth {
                effects.add(request);
            }
            let past_hits = fault.seen.saturating_sub(request.nth);
            request.count == 0 || fault.seen < request.nth || past_hits + 1 < request.count
        });
        effects
    }
}

impl WorkEffects {
    fn add(&mut self, request: &WorkFaultRequest) {
        match request.action {
            WorkFaultAction::Status => self.status = request.status,
            WorkFaultAction::Delay => self.delay = request.ms.map(Duration::from_millis),
            WorkFaultAction::Lose => self.lose = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(nth: u32, count: u32) -> WorkFaultRequest {
        WorkFaultRequest {
            operation: Some(Operation::Send),
            qp: Some(7),
            nth,
            count,
            action: WorkFaultAction::Lose,
            status: None,
            ms: None,
        }
    }

    #[test]
    fn faults_hit_the_nth_matching_work_request_and_count_ones_from_there() {
        let mut faults = WorkFaults::default();
        faults.add(request(2, 2)).unwrap();
        let mut hit = |operation, qp| faults.hit(operation, qp).lose;
        assert!(!hit(Operation::Send, 7));
        assert!(!hit(Operation::Send, 8));
        assert!(!hit(Operation::Read, 7));
        assert!(hit(Operation::Send, 7));
        assert!(hit(Operation::Send, 7));
        assert!(!hit(Operation::Send, 7));
        assert!(faults.pending().is_empty());
    }

    #[test]
    fn faults_that_make_no_sense_are_refused() {
        let mut faults = WorkFaults::default();
        assert!(faults.add(request(0, 1)).is_err());
        for action in [WorkFaultAction::Status, WorkFaultAction::Delay] {
            let request = WorkFaultRequest {
                action,
                ..request(1, 1)
            };
            assert!(faults.add(request).is_err());
        }
    }
}
