// SPDX-License-Identifier: GPL-2.0

//! Queue pairs.

mod create;
mod modify;
mod query;
mod send_ring;
mod transitions;

use self::send_ring::SendRing;
use super::{
    refused::{
        Name,
        Object,
        Returnable, //
    },
    ucontext::UContext, //
};
use crate::{
    admin::commands::qp::{
        DestroyQp,
        Transport, //
    },
    users::{
        LingeringUse,
        Use, //
    },
    verbs::{
        device::Device,
        Efa, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};
use rdma::{
    dma::Lent,
    mmap::Watch,
    provider::QueuePairs,
    qp::{
        NewQp,
        QpAttrs,
        QpCap,
        QpChange,
        QpState,
        QpStatus, //
    },
    queue_memory::QueueMemory,
    ratelimited,
    udata::Udata, //
};

/// A queue pair of a user context.
pub(crate) struct Qp {
    /// The reset generation in which the device handed the handle out.
    generation: u32,
    /// What the device knows it by.
    pub(super) handle: u32,
    /// What peers know it by.
    number: u16,
    transport: Transport,
    cap: QpCap,
    // Dropped in this order: memory that the device used, then the use of what it is made from.
    pub(super) receive_ring: Lent<Option<QueueMemory>, DestroyQp>,
    pub(super) variable: Arc<Variable>,
    made_from: MadeFrom,
}

/// What changes in the life of a queue pair.
#[pin_data]
pub(super) struct Variable {
    /// The state to which the driver brought it.
    #[pin]
    state: Mutex<QpState>,
    /// What lists of queue pairs show of it.
    #[pin]
    told: Mutex<Option<query::Told>>,
    /// The event counters that count its completions.
    #[pin]
    pub(super) counters: Mutex<KVec<Use>>,
    /// Who can reach its send ring.
    send_ring: SendRing,
}

impl Variable {
    /// As it is in a new queue pair.
    fn new(dev: &Device<'_>) -> impl PinInit<Self> {
        let send_ring = SendRing::new(dev.retries.work().clone());
        pin_init!(Self {
            state <- new_mutex!(QpState::Reset, "efa_qp_state"),
            told <- new_mutex!(None, "efa_qp_told"),
            counters <- new_mutex!(KVec::new(), "efa_qp_counters"),
            send_ring,
        })
    }
}

impl Watch for Variable {
    fn unreachable(&self) {
        self.send_ring.set_unreachable();
    }
}

/// What a queue pair is made from. The device has to keep all of it as long as the queue pair.
struct MadeFrom {
    _pd: Use,
    ucontext: LingeringUse,
    _send_cq: Use,
    /// `None` where it is the same.
    _recv_cq: Option<Use>,
}

impl Qp {
    /// Checks that the device was not reset since it was made; `EIO` otherwise.
    pub(super) fn expect_current(&self, dev: &Device<'_>) -> Result {
        dev.expect_current(self.generation)
    }
}

/// So many queue pairs a user context may hold back. Libraries hold none, and what a cgroup may have
/// of the device does not count them.
const MAX_LINGERING: usize = 8;

impl Qp {
    /// Checks that it can be held back, if it has to be since its process can reach its send ring.
    ///
    /// # Errors
    ///
    /// `EBUSY`: its context holds back as many as it may. The process has to unmap some.
    fn may_linger(&self, dev: &Device<'_>) -> Result {
        if !self.is_in_use() || self.made_from.ucontext.try_linger(MAX_LINGERING) {
            return Ok(());
        }
        too_many_linger(dev, "destroy_qp")
    }
}

/// Checks that a context may have a queue pair with a send ring: that has to be held back, too, if
/// creating it fails when the process can reach the ring already.
///
/// # Errors
///
/// `EBUSY`: the context holds back as many as it may. The process has to unmap some.
fn may_have_send_ring(dev: &Device<'_>, ucontext: &UContext) -> Result {
    if ucontext.users.lingering() < MAX_LINGERING {
        return Ok(());
    }
    too_many_linger(dev, "create_qp")
}

fn too_many_linger(dev: &Device<'_>, verb: &str) -> Result {
    ratelimited!(dev_warn!(
        dev.pdev,
        "{verb}: {MAX_LINGERING} destroyed QPs of this context wait until their send rings are \
         unmapped: unmap some\n"
    ));
    Err(EBUSY)
}

impl Object for Qp {
    fn name(&self) -> Name {
        Name {
            verb: "destroy_qp",
            kind: "QP",
            number: self.number.into(),
            generation: self.generation,
            handle: self.handle,
        }
    }

    /// Destroyed, its send ring would become somebody else's.
    fn is_in_use(&self) -> bool {
        self.variable.send_ring.is_reachable()
    }

    fn hold_back(&self, dev: &Device<'_>) {
        self.variable.send_ring.await_end();
        self.made_from.ucontext.linger();
        modify::reset(dev, self);
    }

    fn give_back(&self, dev: &Device<'_>) -> Result {
        // Whatever the device says now, its process is not in the way.
        self.made_from.ucontext.end_linger();
        let handle = self.handle;
        self.receive_ring
            .let_go(dev.end_use(self.generation, &DestroyQp { handle })?);
        Ok(())
    }
}

impl QueuePairs for Efa {
    type Qp = Qp;

    fn create_qp(dev: &Device<'_>, new: &mut NewQp<'_, Self>) -> Result<Qp> {
        let created = create::create(dev, new);
        dev.stats.create_qp_err.inc_on_error(&created);
        created
    }

    fn qp_number(qp: &Qp) -> u32 {
        qp.number.into()
    }

    fn modify_qp(dev: &Device<'_>, qp: &Qp, change: &QpChange, udata: &Udata<'_>) -> Result {
        modify::modify(dev, qp, change, udata)
    }

    fn query_qp(dev: &Device<'_>, qp: &Qp, wanted: QpAttrs) -> Result<QpStatus> {
        query::query(dev, qp, wanted)
    }

    fn destroy_qp(dev: &Device<'_>, qp: &Qp) -> Result {
        qp.may_linger(dev)?;
        qp.destroy(dev)
    }

    fn end_qp(dev: &Device<'_>, qp: Qp) {
        qp.end(dev);
    }
}
