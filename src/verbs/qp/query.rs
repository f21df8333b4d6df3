// SPDX-License-Identifier: GPL-2.0

//! Querying queue pairs.
//!
//! A process that wants to know something of its queue pair is told what the device says now. But
//! any user can have all queue pairs listed, by netlink (`rdma resource show qp`): the RDMA core then
//! queries each, and asks for no attribute. Such a query is answered with what the device said not
//! long ago.

use super::{
    modify::PORT,
    Qp, //
};
use crate::{
    admin::commands::qp::{
        QueriedQp,
        QueryQp, //
    },
    verbs::{
        device::Device,
        request::{
            check,
            Rule, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    time::{
        Delta,
        Instant,
        Monotonic, //
    }, //
};
use rdma::qp::{
    QpAttrs,
    QpStatus, //
};

/// What can be queried.
const QUERYABLE: QpAttrs = QpAttrs::STATE
    .and(QpAttrs::PKEY_INDEX)
    .and(QpAttrs::PORT)
    .and(QpAttrs::QKEY)
    .and(QpAttrs::SQ_PSN)
    .and(QpAttrs::CAP)
    .and(QpAttrs::RNR_RETRY);

/// For how long a list of queue pairs shows what the device said before: so it is sent one command a
/// second for each queue pair at most, whoever asks.
const LISTED_FOR: Delta = Delta::from_secs(1);

/// What the device said of a queue pair.
pub(super) struct Told {
    when: Instant<Monotonic>,
    answer: Result<QueriedQp>,
}

/// Reports the state of a queue pair, as the device has it, or had it lately if the caller wants
/// nothing.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the caller wants to know what EFA does not have.
/// - `EINVAL`: the device does not know the queue pair.
/// - `EIO`: the device was reset since the queue pair was created.
/// - What the admin queue fails with.
pub(super) fn query(dev: &Device<'_>, qp: &Qp, wanted: QpAttrs) -> Result<QpStatus> {
    let known = Rule::OnlyBitsOf(QUERYABLE.as_raw().into());
    check(EOPNOTSUPP, c"attr_mask", wanted.as_raw(), known)
        .map_err(|refusal| dev.refuse(c"query_qp", refusal))?;
    dev.expect_current(qp.generation)?;
    let queried = if wanted == QpAttrs::NONE {
        list(dev, qp)
    } else {
        ask(dev, qp)
    }?;
    Ok(QpStatus {
        state: queried.state,
        sq_draining: queried.sq_draining,
        port: PORT,
        qkey: queried.qkey,
        sq_psn: queried.sq_psn,
        rnr_retry: queried.rnr_retry,
        cap: qp.cap,
    })
}

/// Asks the device, unless it was asked for a list not long ago.
fn list(dev: &Device<'_>, qp: &Qp) -> Result<QueriedQp> {
    // Held over the command, so that many who ask at once cause one.
    let mut told = qp.variable.told.lock();
    if let Some(Told { when, answer }) = &*told {
        if when.elapsed() < LISTED_FOR {
            return *answer;
        }
    }
    let when = Instant::now();
    let answer = ask(dev, qp);
    // That a process was killed says nothing of the queue pair.
    *told = (answer.as_ref().err() != Some(&EINTR)).then_some(Told { when, answer });
    answer
}

fn ask(dev: &Device<'_>, qp: &Qp) -> Result<QueriedQp> {
    dev.admin.exec(&QueryQp { handle: qp.handle })
}
