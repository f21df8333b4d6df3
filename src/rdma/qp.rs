// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: what creating, changing and querying one is given.

use crate::{
    bindings,
    mmap::Mappings,
    provider::QueuePairs,
    udata::Udata, //
};
use core::ops::BitOr;

/// The state of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QpState {
    /// New, or as if it were.
    Reset,
    /// Receives can be posted.
    Init,
    /// Ready to receive.
    Rtr,
    /// Ready to send, too.
    Rts,
    /// The send queue is drained, or being drained.
    Sqd,
    /// A send failed; receiving goes on.
    Sqe,
    /// All work requests fail.
    Error,
}

impl QpState {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Reset,
        Self::Init,
        Self::Rtr,
        Self::Rts,
        Self::Sqd,
        Self::Sqe,
        Self::Error,
    ];

    /// The number that verbs have for it.
    pub const fn as_raw(self) -> bindings::ib_qp_state {
        match self {
            Self::Reset => bindings::ib_qp_state_IB_QPS_RESET,
            Self::Init => bindings::ib_qp_state_IB_QPS_INIT,
            Self::Rtr => bindings::ib_qp_state_IB_QPS_RTR,
            Self::Rts => bindings::ib_qp_state_IB_QPS_RTS,
            Self::Sqd => bindings::ib_qp_state_IB_QPS_SQD,
            Self::Sqe => bindings::ib_qp_state_IB_QPS_SQE,
            Self::Error => bindings::ib_qp_state_IB_QPS_ERR,
        }
    }

    fn from_raw(raw: bindings::ib_qp_state) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_raw() == raw)
    }
}

/// Attributes of a queue pair, a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpAttrs(bindings::ib_qp_attr_mask);

impl QpAttrs {
    /// None.
    pub const NONE: Self = Self(0);
    /// The state.
    pub const STATE: Self = Self(bindings::ib_qp_attr_mask_IB_QP_STATE);
    /// The state it comes from.
    pub const CUR_STATE: Self = Self(bindings::ib_qp_attr_mask_IB_QP_CUR_STATE);
    /// Whether it is reported that the send queue is drained.
    pub const SQ_DRAINED_EVENT: Self = Self(bindings::ib_qp_attr_mask_IB_QP_EN_SQD_ASYNC_NOTIFY);
    /// The index of the partition key.
    pub const PKEY_INDEX: Self = Self(bindings::ib_qp_attr_mask_IB_QP_PKEY_INDEX);
    /// The port.
    pub const PORT: Self = Self(bindings::ib_qp_attr_mask_IB_QP_PORT);
    /// The queue key.
    pub const QKEY: Self = Self(bindings::ib_qp_attr_mask_IB_QP_QKEY);
    /// The sequence number of the first packet sent.
    pub const SQ_PSN: Self = Self(bindings::ib_qp_attr_mask_IB_QP_SQ_PSN);
    /// How often a send is tried again when the receiver is not ready.
    pub const RNR_RETRY: Self = Self(bindings::ib_qp_attr_mask_IB_QP_RNR_RETRY);
    /// Sizes.
    pub const CAP: Self = Self(bindings::ib_qp_attr_mask_IB_QP_CAP);

    pub(crate) const fn from_raw(raw: bindings::ib_qp_attr_mask) -> Self {
        Self(raw)
    }

    /// The set as verbs have it.
    pub const fn as_raw(self) -> bindings::ib_qp_attr_mask {
        self.0
    }

    /// All sets of these, none of them first.
    pub fn subsets(self) -> impl Iterator<Item = Self> {
        let next = move |set: &Self| match set.0.wrapping_sub(self.0) & self.0 {
            0 => None,
            set => Some(Self(set)),
        };
        core::iter::successors(Some(Self::NONE), next)
    }

    /// What is in both sets.
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Both sets together.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Says whether all of the others are among these.
    pub const fn contain(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for QpAttrs {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

/// Says whether verbs allow a queue pair of unreliable datagrams to go from one state to another
/// while `attrs` change.
pub fn is_ud_transition(from: QpState, to: QpState, attrs: QpAttrs) -> bool {
    // SAFETY: The function looks into a table by two states, which there are, and a type.
    unsafe {
        bindings::ib_modify_qp_is_ok(
            from.as_raw(),
            to.as_raw(),
            bindings::ib_qp_type_IB_QPT_UD,
            attrs.0,
        )
    }
}

/// What a queue pair is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QpType {
    /// Unreliable datagrams.
    Ud,
    /// A type that the driver and its provider library know.
    Driver,
    /// Another one of verbs' types, by its number.
    Other(u32),
}

impl QpType {
    /// The number of [`QpType::Driver`].
    pub const DRIVER: u32 = bindings::ib_qp_type_IB_QPT_DRIVER;

    fn from_raw(raw: bindings::ib_qp_type) -> Self {
        match raw {
            bindings::ib_qp_type_IB_QPT_UD => Self::Ud,
            bindings::ib_qp_type_IB_QPT_DRIVER => Self::Driver,
            other => Self::Other(other),
        }
    }
}

/// Sizes of a queue pair.
#[derive(Clone, Copy)]
pub struct QpCap {
    /// Sends that can be outstanding.
    pub max_send_wr: u32,
    /// Receives that can be outstanding.
    pub max_recv_wr: u32,
    /// Scatter entries of a send.
    pub max_send_sge: u32,
    /// Scatter entries of a receive.
    pub max_recv_sge: u32,
    /// Inline data of a send in bytes.
    pub max_inline_data: u32,
}

impl QpCap {
    fn from_raw(raw: &bindings::ib_qp_cap) -> Self {
        Self {
            max_send_wr: raw.max_send_wr,
            max_recv_wr: raw.max_recv_wr,
            max_send_sge: raw.max_send_sge,
            max_recv_sge: raw.max_recv_sge,
            max_inline_data: raw.max_inline_data,
        }
    }

    pub(crate) fn store(&self, raw: &mut bindings::ib_qp_cap) {
        raw.max_send_wr = self.max_send_wr;
        raw.max_recv_wr = self.max_recv_wr;
        raw.max_send_sge = self.max_send_sge;
        raw.max_recv_sge = self.max_recv_sge;
        raw.max_inline_data = self.max_inline_data;
    }
}

/// A queue pair that is being created.
pub struct NewQp<'a, P: QueuePairs> {
    /// What it is for.
    pub qp_type: QpType,
    /// Its sizes.
    pub cap: QpCap,
    /// Receives are to come from a shared receive queue, or to be spread over several.
    pub has_shared_receives: bool,
    /// Flags of `enum ib_qp_create_flags`.
    pub create_flags: u32,
    /// The user context.
    pub ucontext: &'a P::UContext,
    /// The protection domain.
    pub pd: &'a P::Pd,
    /// Where sends complete; each queue pair of the types [`QpType::Ud`] and [`QpType::Driver`] has
    /// both, unless it has shared receives.
    pub send_cq: Option<&'a P::Cq>,
    /// Where receives complete.
    pub recv_cq: Option<&'a P::Cq>,
    /// The private part of the call.
    pub udata: Udata<'a>,
    /// What processes can map of it.
    pub mappings: Mappings<'a>,
}

/// The plain attributes of a queue pair that is being created.
pub(crate) struct InitAttr {
    pub(crate) qp_type: QpType,
    pub(crate) cap: QpCap,
    pub(crate) has_shared_receives: bool,
    pub(crate) create_flags: u32,
}

impl InitAttr {
    pub(crate) fn from_raw(raw: &bindings::ib_qp_init_attr) -> Self {
        Self {
            qp_type: QpType::from_raw(raw.qp_type),
            cap: QpCap::from_raw(&raw.cap),
            has_shared_receives: !raw.srq.is_null() || !raw.rwq_ind_tbl.is_null(),
            create_flags: raw.create_flags,
        }
    }
}

/// How a queue pair is to change. What is `None` stays as it is.
pub struct QpChange {
    /// All that is to change, also what has no field here.
    pub attrs: QpAttrs,
    /// The state to go to.
    pub state: Option<QpState>,
    /// The state to come from.
    pub cur_state: Option<QpState>,
    /// Whether to report that the send queue is drained.
    pub sq_drained_event: Option<bool>,
    /// The index of the partition key.
    pub pkey_index: Option<u16>,
    /// The port.
    pub port: Option<u32>,
    /// The queue key.
    pub qkey: Option<u32>,
    /// The sequence number of the first packet sent.
    pub sq_psn: Option<u32>,
    /// How often a send is tried again when the receiver is not ready.
    pub rnr_retry: Option<u8>,
}

impl QpChange {
    /// What a callback was given; `None`: it names a state that there is not.
    pub(crate) fn from_raw(raw: &bindings::ib_qp_attr, attrs: QpAttrs) -> Option<Self> {
        let state = match attrs.contain(QpAttrs::STATE) {
            true => Some(QpState::from_raw(raw.qp_state)?),
            false => None,
        };
        let cur_state = match attrs.contain(QpAttrs::CUR_STATE) {
            true => Some(QpState::from_raw(raw.cur_qp_state)?),
            false => None,
        };
        Some(Self {
            attrs,
            state,
            cur_state,
            sq_drained_event: attrs
                .contain(QpAttrs::SQ_DRAINED_EVENT)
                .then_some(raw.en_sqd_async_notify != 0),
            pkey_index: attrs.contain(QpAttrs::PKEY_INDEX).then_some(raw.pkey_index),
            port: attrs.contain(QpAttrs::PORT).then_some(raw.port_num),
            qkey: attrs.contain(QpAttrs::QKEY).then_some(raw.qkey),
            sq_psn: attrs.contain(QpAttrs::SQ_PSN).then_some(raw.sq_psn),
            rnr_retry: attrs.contain(QpAttrs::RNR_RETRY).then_some(raw.rnr_retry),
        })
    }
}

/// What querying a queue pair reports.
pub struct QpStatus {
    /// The number of its state, as a [`QpState`] has it or one that nobody knows.
    pub state: u32,
    /// Whether the send queue is being drained.
    pub sq_draining: bool,
    /// The port.
    pub port: u32,
    /// The queue key.
    pub qkey: u32,
    /// The sequence number of the first packet sent.
    pub sq_psn: u32,
    /// How often a send is tried again when the receiver is not ready.
    pub rnr_retry: u8,
    /// Its sizes.
    pub cap: QpCap,
}

impl QpStatus {
    pub(crate) fn store(&self, raw: &mut bindings::ib_qp_attr) {
        raw.qp_state = self.state;
        raw.cur_qp_state = self.state;
        raw.sq_draining = self.sq_draining.into();
        raw.port_num = self.port;
        raw.qkey = self.qkey;
        raw.sq_psn = self.sq_psn;
        raw.rnr_retry = self.rnr_retry;
        self.cap.store(&mut raw.cap);
    }
}
