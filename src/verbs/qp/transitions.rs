// SPDX-License-Identifier: GPL-2.0

//! Which changes of a queue pair's state are allowed, and what may or must change with them.

use crate::admin::commands::qp::Transport;
use rdma::qp::{
    is_ud_transition,
    QpAttrs,
    QpState,
    QpState::*, //
};

/// Says whether a queue pair may go from one state to another while `attrs` change.
pub(super) fn is_allowed(transport: Transport, from: QpState, to: QpState, attrs: QpAttrs) -> bool {
    match transport {
        Transport::Ud => is_ud_transition(from, to, attrs),
        Transport::Srd => is_srd_transition(from, to, attrs),
    }
}

/// Those of `attrs` that must, and those that may change while a queue pair goes from one state to
/// another. `None`: it cannot go there.
pub(super) fn attrs_of(
    transport: Transport,
    from: QpState,
    to: QpState,
    attrs: QpAttrs,
) -> Option<(QpAttrs, QpAttrs)> {
    // All of them are tried, since of its own table the RDMA core tells no more than this.
    attrs
        .subsets()
        .filter(|attrs| is_allowed(transport, from, to, *attrs))
        .map(|attrs| (attrs, attrs))
        .reduce(|(required, allowed), (attrs, _)| (required.common(attrs), allowed | attrs))
}

/// Says whether a process may tell that a queue pair is in state `claimed` while the driver brought
/// it to `known`. A failed send stops the send queue of a queue pair of unreliable datagrams.
pub(super) fn is_plausible(transport: Transport, known: QpState, claimed: QpState) -> bool {
    claimed == known || (transport == Transport::Ud && (known, claimed) == (Rts, Sqe))
}

fn is_srd_transition(from: QpState, to: QpState, attrs: QpAttrs) -> bool {
    let Some((required, optional)) = srd_rule(from, to) else {
        return false;
    };
    // A state to come from can be told only where sends are possible, or nearly so.
    let tells_state = attrs.contain(QpAttrs::CUR_STATE);
    if tells_state && !matches!(from, Rtr | Rts | Sqd | Sqe) {
        return false;
    }
    attrs.contain(required) && (required | optional | QpAttrs::STATE).contain(attrs)
}

/// The attributes that must and those that may change with a change of an SRD queue pair's state.
/// `None`: it cannot change so.
fn srd_rule(from: QpState, to: QpState) -> Option<(QpAttrs, QpAttrs)> {
    const NONE: QpAttrs = QpAttrs::NONE;
    const PKEY_INDEX: QpAttrs = QpAttrs::PKEY_INDEX;
    const QKEY: QpAttrs = QpAttrs::QKEY;
    const ADDRESS: QpAttrs = PKEY_INDEX.and(QpAttrs::PORT).and(QKEY);
    const TELL_STATE: QpAttrs = QpAttrs::CUR_STATE;

    Some(match (from, to) {
        (_, Reset) => (NONE, NONE),
        (Reset, Init) => (ADDRESS, NONE),
        (Reset, _) => return None,
        (_, Error) => (NONE, NONE),
        (Init, Init) => (NONE, ADDRESS),
        (Init, Rtr) => (NONE, PKEY_INDEX | QKEY),
        (Rtr, Rts) => (QpAttrs::SQ_PSN, TELL_STATE | QKEY | QpAttrs::RNR_RETRY),
        (Rts | Sqd | Sqe, Rts) => (NONE, TELL_STATE | QKEY),
        (Rts, Sqd) => (NONE, QpAttrs::SQ_DRAINED_EVENT),
        (Sqd, Sqd) => (NONE, PKEY_INDEX | QKEY),
        _ => return None,
    })
}

#[kernel::macros::kunit_tests(efa_qp_transitions)]
mod tests {
    use super::*;

    /// Each attribute that a queue pair of EFA has.
    const ATTRS: [QpAttrs; 8] = [
        QpAttrs::STATE,
        QpAttrs::CUR_STATE,
        QpAttrs::SQ_DRAINED_EVENT,
        QpAttrs::PKEY_INDEX,
        QpAttrs::PORT,
        QpAttrs::QKEY,
        QpAttrs::SQ_PSN,
        QpAttrs::RNR_RETRY,
    ];

    /// The set of attributes that has those whose bits in `choice` are 1.
    fn chosen(choice: u32) -> QpAttrs {
        ATTRS
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| choice >> bit & 1 == 1)
            .fold(QpAttrs::NONE, |attrs, (_, attr)| attrs | attr)
    }

    fn allowed(transport: Transport, from: QpState, to: QpState, attrs: QpAttrs) -> bool {
        is_allowed(transport, from, to, QpAttrs::STATE | attrs)
    }

    #[test]
    fn srd_goes_where_ud_goes_and_only_rnr_retry_differs() {
        for choice in 0..1 << ATTRS.len() {
            let attrs = chosen(choice);
            for from in QpState::ALL {
                for to in QpState::ALL {
                    let ud = is_allowed(Transport::Ud, from, to, attrs);
                    let srd = is_allowed(Transport::Srd, from, to, attrs);
                    if attrs.contain(QpAttrs::RNR_RETRY) {
                        assert!(!ud);
                        let rest = choice & !(1 << 7);
                        let rest_is_allowed = is_allowed(Transport::Srd, from, to, chosen(rest));
                        assert_eq!(srd, (from, to) == (Rtr, Rts) && rest_is_allowed);
                    } else {
                        assert_eq!(srd, ud);
                    }
                }
            }
        }
    }

    #[test]
    fn the_way_to_sending_needs_each_of_its_attributes() {
        let address = [QpAttrs::PKEY_INDEX, QpAttrs::PORT, QpAttrs::QKEY];
        let all = address
            .into_iter()
            .fold(QpAttrs::NONE, |all, attr| all | attr);
        for transport in [Transport::Ud, Transport::Srd] {
            assert!(allowed(transport, Reset, Init, all));
            for missing in 0..3 {
                let rest = (0..3).zip(address).filter(|(at, _)| *at != missing);
                let rest = rest.fold(QpAttrs::NONE, |all, (_, attr)| all | attr);
                assert!(!allowed(transport, Reset, Init, rest));
            }
            assert!(allowed(transport, Init, Rtr, QpAttrs::NONE));
            assert!(allowed(transport, Rtr, Rts, QpAttrs::SQ_PSN));
            assert!(!allowed(transport, Rtr, Rts, QpAttrs::NONE));
        }
    }

    #[test]
    fn no_state_is_skipped_and_reset_and_error_are_always_near() {
        let steps = [
            (Reset, Init),
            (Init, Rtr),
            (Rtr, Rts),
            (Rts, Sqd),
            (Sqd, Rts),
        ];
        for from in QpState::ALL {
            assert_eq!(srd_rule(from, Reset), Some((QpAttrs::NONE, QpAttrs::NONE)));
            assert_eq!(srd_rule(from, Error).is_some(), from != Reset);
            // Only a device stops a send queue because of an error.
            assert!(srd_rule(from, Sqe).is_none());
            for to in [Init, Rtr, Rts, Sqd] {
                let stays = from == to && matches!(to, Init | Rts | Sqd);
                let revives = (from, to) == (Sqe, Rts);
                let expected = stays || revives || steps.contains(&(from, to));
                assert_eq!(srd_rule(from, to).is_some(), expected);
            }
        }
    }

    #[test]
    fn a_process_may_only_claim_the_state_that_a_device_can_have_gone_to() {
        for known in QpState::ALL {
            for claimed in QpState::ALL {
                let same = known == claimed;
                assert_eq!(is_plausible(Transport::Srd, known, claimed), same);
                let stopped = (known, claimed) == (Rts, Sqe);
                assert_eq!(is_plausible(Transport::Ud, known, claimed), same || stopped);
            }
        }
    }
}
