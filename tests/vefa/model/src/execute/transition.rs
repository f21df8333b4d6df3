// SPDX-License-Identifier: GPL-2.0
//! MODIFY_QP: which changes of state there are, and what each one takes.

use vefa_spec::constants as c;

use super::{Answer, Outcome, Refusal};
use crate::command::ModifyQp;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, QpState, QpType, Status};
use crate::objects::Qp;
use crate::rules::Rule;
use crate::EfaModel;

const QKEY: u32 = c::MODIFY_QP_CMD_QKEY_MASK;
const SQ_PSN: u32 = c::MODIFY_QP_CMD_SQ_PSN_MASK;
const RNR_RETRY: u32 = c::MODIFY_QP_CMD_RNR_RETRY_MASK;
const NOTIFY_DRAINED: u32 = c::MODIFY_QP_CMD_SQ_DRAINED_ASYNC_NOTIFY_MASK;
const STATES: u32 = c::MODIFY_QP_CMD_QP_STATE_MASK | c::MODIFY_QP_CMD_CUR_QP_STATE_MASK;

/// Most retries that can be asked for; it stands for no limit.
const MAX_RNR_RETRY: u8 = 7;

/// A change of state, with the attributes that it needs and may have.
struct Transition {
    from: QpState,
    to: QpState,
    needs: u32,
    may_have: u32,
}

const fn transition(from: QpState, to: QpState, needs: u32, may_have: u32) -> Transition {
    Transition {
        from,
        to,
        needs,
        may_have,
    }
}

/// Besides these, every state but RESET leads to ERR, and each to RESET,
/// without attributes.
const TRANSITIONS: [Transition; 9] = {
    use QpState::{Init, Reset, Rtr, Rts, Sqd, Sqe};
    [
        transition(Reset, Init, QKEY, 0),
        transition(Init, Init, 0, QKEY),
        transition(Init, Rtr, 0, QKEY),
        transition(Rtr, Rts, SQ_PSN, QKEY | RNR_RETRY),
        transition(Rts, Rts, 0, QKEY),
        transition(Rts, Sqd, 0, NOTIFY_DRAINED),
        transition(Sqd, Rts, 0, QKEY),
        transition(Sqd, Sqd, 0, QKEY),
        transition(Sqe, Rts, 0, QKEY),
    ]
};

/// What attributes a change of state needs and may have; `None` where there is
/// no such change.
fn attributes(kind: QpType, from: QpState, to: QpState) -> Option<(u32, u32)> {
    if to == QpState::Reset || (to == QpState::Err && from != QpState::Reset) {
        return Some((0, 0));
    }
    let mut transitions = TRANSITIONS.iter();
    let known = transitions.find(|known| known.from == from && known.to == to)?;
    let may_have = match kind {
        QpType::Srd => known.may_have,
        QpType::Ud => known.may_have & !RNR_RETRY,
    };
    Some((known.needs, may_have))
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn modify_qp(&mut self, command: &ModifyQp) -> Outcome {
        let has_rnr_retry = self.config.has_cap(Capability::RnrRetry);
        let qp = self.qp(command.qp_handle)?;
        let state = check(qp, command)?;
        let retry = command.rnr_retry;
        if retry.is_some_and(|retry| !has_rnr_retry || retry > MAX_RNR_RETRY) {
            return Err(Status::IllegalParameter.into());
        }
        let (number, old) = (qp.number, qp.state);
        qp.qkey = command.qkey.unwrap_or(qp.qkey);
        qp.sq_psn = command.sq_psn.unwrap_or(qp.sq_psn);
        qp.rnr_retry = retry.unwrap_or(qp.rnr_retry);
        qp.notify_drained = command
            .notify_drained
            .map_or(qp.notify_drained, |notify| notify != 0);
        qp.state = state;
        if state != old {
            self.qp_moved(number);
        }
        let answer = Answer::default().with("qp", number);
        Ok(answer.with("from", old.name()).with("to", state.name()))
    }
}

/// The state that a command leads to.
fn check(qp: &Qp, command: &ModifyQp) -> Result<QpState, Refusal> {
    let known = |number: u32| {
        QpState::from_number(number).ok_or_else(|| {
            let text = format!("modify_qp of QP {} with state {number}", qp.number);
            Refusal::illegal(Rule::QpState, text)
        })
    };
    let to = command.state.map_or(Ok(qp.state), known)?;
    let assumed = command.cur_state.map_or(Ok(qp.state), known)?;
    // The device moves QPs to these states without being asked.
    let moved = [QpState::Sqe, QpState::Err].contains(&qp.state);
    if assumed != qp.state && !moved {
        // A program may claim any current state.
        return Err(Status::IllegalParameter.into());
    }
    let what = format!(
        "modify_qp of QP {} ({}) from {} to {}",
        qp.number,
        qp.kind.name(),
        qp.state.name(),
        to.name()
    );
    let Some((needs, may_have)) = attributes(qp.kind, qp.state, to) else {
        return Err(match assumed == qp.state {
            true => Refusal::illegal(Rule::QpTransition, what),
            false => Status::IllegalParameter.into(),
        });
    };
    let given = command.modify_mask & !STATES;
    if given & needs != needs || given & !(needs | may_have) != 0 {
        let text = format!("{what} with {given:#x}, needs {needs:#x}, may have {may_have:#x}");
        return Err(Refusal::illegal(Rule::QpAttributes, text));
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No command leads to SQE; all other states are tested from outside.
    #[test]
    fn from_sqe_a_qp_goes_to_rts_err_or_reset() {
        for kind in QpType::ALL {
            for to in QpState::ALL {
                let expected = match to {
                    QpState::Reset | QpState::Err => Some((0, 0)),
                    QpState::Rts => Some((0, QKEY)),
                    _ => None,
                };
                assert_eq!(attributes(*kind, QpState::Sqe, *to), expected);
            }
        }
    }
}
