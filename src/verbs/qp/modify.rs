// SPDX-License-Identifier: GPL-2.0

//! Changing queue pairs.

use super::{
    transitions::{
        attrs_of,
        is_allowed,
        is_plausible, //
    },
    Qp, //
};
use crate::{
    admin::commands::qp::{
        ModifyQp,
        ResetQp,
        Transport, //
    },
    verbs::{
        device::Device,
        port::PORTS,
        request::{
            check,
            expect_none,
            Refusal,
            Rule, //
        }, //
    }, //
};
use kernel::prelude::*;
use rdma::{
    qp::{
        QpAttrs,
        QpChange,
        QpState, //
    },
    ratelimited,
    udata::Udata, //
};

/// The only port.
pub(super) const PORT: u32 = PORTS;

/// Most tries when the receiver is not ready; it means that there is no limit.
const MAX_RNR_RETRY: u8 = 7;

/// What can be changed.
const CHANGEABLE: QpAttrs = QpAttrs::STATE
    .and(QpAttrs::CUR_STATE)
    .and(QpAttrs::SQ_DRAINED_EVENT)
    .and(QpAttrs::PKEY_INDEX)
    .and(QpAttrs::PORT)
    .and(QpAttrs::QKEY)
    .and(QpAttrs::SQ_PSN)
    .and(QpAttrs::RNR_RETRY);

/// Changes a queue pair. After an error it is as it was before.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the request has a private part that says something; or it wants to change what
///   EFA does not have, or another port or partition key than the only one.
/// - `EINVAL`: the state cannot change so, or an attribute is missing or not allowed with it, or
///   the device refuses the change.
/// - `EIO`: the device was reset since the queue pair was created.
/// - What the admin queue fails with.
pub(super) fn modify(dev: &Device<'_>, qp: &Qp, change: &QpChange, udata: &Udata<'_>) -> Result {
    let refuse = |refusal| dev.refuse(c"modify_qp", refusal);
    expect_none(udata).map_err(refuse)?;
    dev.expect_current(qp.generation)?;

    // Held over the command, so that two changes at once come one after the other.
    let mut state = qp.variable.state.lock();
    let to = state_after(qp.transport, *state, change).map_err(refuse)?;
    let changed = dev.admin.exec(&ModifyQp {
        handle: qp.handle,
        states: change
            .state
            .map(|to| (change.cur_state.unwrap_or(*state), to)),
        qkey: change.qkey,
        sq_psn: change.sq_psn,
        sq_drained_event: change.sq_drained_event,
        rnr_retry: change.rnr_retry,
    });
    // Whatever came of it, what the device told before may not be so any more.
    *qp.variable.told.lock() = None;
    changed?;
    *state = to;
    Ok(())
}

/// Has the device drop the work requests of a queue pair, without completions: that is what its
/// process believes to be destroyed.
pub(super) fn reset(dev: &Device<'_>, qp: &Qp) {
    let mut state = qp.variable.state.lock();
    // A closed device is asked nothing: its reset ends all.
    let can_be = dev.admin.is_open() && dev.is_current(qp.generation);
    if *state == QpState::Reset || !can_be {
        return;
    }
    let handle = qp.handle;
    let reset_from = |from| dev.admin.exec(&ResetQp { handle, from });
    let reset = match reset_from(*state) {
        // A device goes to the error state by itself.
        Err(EINVAL) => reset_from(QpState::Error),
        result => result,
    };
    match reset {
        Ok(()) => *state = QpState::Reset,
        // Closed meanwhile.
        Err(ENODEV) => {}
        Err(error) => ratelimited!(dev_warn!(
            dev.pdev,
            "destroy_qp: QP {} works on until its send ring is unmapped: not reset ({error:?})\n",
            qp.number
        )),
    }
}

/// Checks a change of a queue pair that is in state `state`; returns its state afterwards.
fn state_after(
    transport: Transport,
    state: QpState,
    change: &QpChange,
) -> Result<QpState, Refusal> {
    let attrs = change.attrs;
    check_attrs(EOPNOTSUPP, attrs, Rule::OnlyBitsOf, CHANGEABLE)?;
    let from = change.cur_state.unwrap_or(state);
    let to = change.state.unwrap_or(from);
    if !is_plausible(transport, state, from) {
        let known = Rule::Exactly(state.as_raw().into());
        return Err(Refusal::new(EINVAL, c"cur_qp_state", from.as_raw(), known));
    }
    if !is_allowed(transport, from, to, attrs) {
        let Some((required, allowed)) = attrs_of(transport, from, to, CHANGEABLE) else {
            let known = Rule::StateAfter(from.as_raw().into());
            return Err(Refusal::new(EINVAL, c"qp_state", to.as_raw(), known));
        };
        check_attrs(EINVAL, attrs, Rule::AllBitsOf, required)?;
        let allowed = Rule::OnlyBitsOf(allowed.as_raw().into());
        return Err(Refusal::new(EINVAL, c"attr_mask", attrs.as_raw(), allowed));
    }
    if let Some(port) = change.port {
        check(EOPNOTSUPP, c"port_num", port, Rule::Exactly(PORT.into()))?;
    }
    if let Some(index) = change.pkey_index {
        check(EOPNOTSUPP, c"pkey_index", index, Rule::Exactly(0))?;
    }
    if let Some(tries) = change.rnr_retry {
        let most = Rule::AtMost(MAX_RNR_RETRY.into());
        check(EINVAL, c"rnr_retry", tries, most)?;
    }
    Ok(to)
}

/// Checks which attributes are to change.
fn check_attrs(
    error: Error,
    attrs: QpAttrs,
    rule: fn(u64) -> Rule,
    of: QpAttrs,
) -> Result<(), Refusal> {
    let rule = rule(of.as_raw().into());
    check(error, c"attr_mask", attrs.as_raw(), rule)
}

#[kernel::macros::kunit_tests(efa_qp_modify)]
mod tests {
    use super::*;

    /// The state afterwards, or what the process is told.
    fn check(transport: Transport, state: QpState, change: &QpChange) -> Result<QpState> {
        state_after(transport, state, change).map_err(|refusal| refusal.error)
    }

    fn to(state: QpState, attrs: QpAttrs) -> QpChange {
        QpChange {
            attrs: attrs | QpAttrs::STATE,
            state: Some(state),
            cur_state: None,
            sq_drained_event: None,
            pkey_index: None,
            port: None,
            qkey: None,
            sq_psn: None,
            rnr_retry: None,
        }
    }

    fn init() -> QpChange {
        QpChange {
            pkey_index: Some(0),
            port: Some(1),
            ..to(
                QpState::Init,
                QpAttrs::PKEY_INDEX | QpAttrs::PORT | QpAttrs::QKEY,
            )
        }
    }

    fn ready_to_send(transport: Transport, rnr_retry: u8) -> Result<QpState> {
        let change = QpChange {
            rnr_retry: Some(rnr_retry),
            ..to(QpState::Rts, QpAttrs::SQ_PSN | QpAttrs::RNR_RETRY)
        };
        check(transport, QpState::Rtr, &change)
    }

    #[test]
    fn there_is_one_port_and_one_partition_key() {
        let check = |change: &QpChange| check(Transport::Srd, QpState::Reset, change);
        assert_eq!(check(&init()), Ok(QpState::Init));
        let port = QpChange {
            port: Some(2),
            ..init()
        };
        assert_eq!(check(&port), Err(EOPNOTSUPP));
        let pkey_index = QpChange {
            pkey_index: Some(1),
            ..init()
        };
        assert_eq!(check(&pkey_index), Err(EOPNOTSUPP));
    }

    #[test]
    fn retries_when_a_receiver_is_not_ready_need_srd() {
        for tries in 0..=MAX_RNR_RETRY {
            let ready = ready_to_send(Transport::Srd, tries);
            assert_eq!(ready, Ok(QpState::Rts));
        }
        assert_eq!(ready_to_send(Transport::Srd, 8), Err(EINVAL));
        assert_eq!(ready_to_send(Transport::Ud, 1), Err(EINVAL));
    }

    #[test]
    fn what_is_not_efas_is_not_supported_whatever_the_state() {
        for state in QpState::ALL {
            let change = to(QpState::Reset, QpAttrs::CAP);
            let result = check(Transport::Ud, state, &change);
            assert_eq!(result, Err(EOPNOTSUPP));
        }
    }

    #[test]
    fn a_claimed_state_counts_only_if_it_can_be_true() {
        let claim = |cur_state, known| {
            let change = QpChange {
                cur_state: Some(cur_state),
                ..to(QpState::Rts, QpAttrs::CUR_STATE)
            };
            check(Transport::Ud, known, &change)
        };
        assert_eq!(claim(QpState::Sqe, QpState::Rts), Ok(QpState::Rts));
        assert_eq!(claim(QpState::Rts, QpState::Rts), Ok(QpState::Rts));
        for known in [QpState::Reset, QpState::Init, QpState::Rtr, QpState::Error] {
            assert_eq!(claim(QpState::Rts, known), Err(EINVAL));
            assert_eq!(claim(QpState::Sqe, known), Err(EINVAL));
        }
    }

    #[test]
    fn a_change_without_a_state_stays_where_it_is() {
        let change = QpChange {
            attrs: QpAttrs::QKEY,
            state: None,
            ..to(QpState::Rts, QpAttrs::NONE)
        };
        let check = |state| check(Transport::Srd, state, &change);
        assert_eq!(check(QpState::Rts), Ok(QpState::Rts));
        assert_eq!(check(QpState::Reset), Err(EINVAL));
    }
}
