// SPDX-License-Identifier: GPL-2.0

//! Who can reach the send ring of a queue pair.
//!
//! The ring is in memory of the device, which gives it to another queue pair as soon as this one is
//! destroyed. So that has to wait for as long as a process has the ring mapped: it would read and
//! write the work requests of somebody else. rdma-core unmaps first.

use super::Variable;
use kernel::{
    sync::{
        atomic::{
            ordering::{
                Acquire,
                Full,
                Relaxed, //
            },
            Atomic, //
        },
        Arc, //
    }, //
};
use rdma::{
    deferred::Work,
    mmap::Watched, //
};

/// No process can reach it, now or later.
const UNREACHABLE: u32 = 0;
/// A process may have it mapped, or map it.
const REACHABLE: u32 = 1;
/// The same, and the queue pair waits for the end of that.
const AWAITED: u32 = 2;

/// Who can reach the send ring of a queue pair.
pub(super) struct SendRing {
    state: Atomic<u32>,
    /// What gives the queue pair back to the device then.
    work: Work,
}

impl SendRing {
    /// One that nobody can reach so far.
    pub(super) fn new(work: Work) -> Self {
        Self {
            state: Atomic::new(UNREACHABLE),
            work,
        }
    }

    /// It can be reached for as long as the result lives, which is dropped for `variable`, that
    /// this is part of.
    pub(super) fn watch(&self, variable: Arc<Variable>) -> Watched {
        self.state.store(REACHABLE, Relaxed);
        Watched::by(variable)
    }

    /// Says whether a process can reach it.
    pub(super) fn is_reachable(&self) -> bool {
        self.state.load(Acquire) != UNREACHABLE
    }

    /// Has the work run when nobody can reach it any more. It may come to that meanwhile.
    pub(super) fn await_end(&self) {
        // Where it is unreachable already it stays so.
        let _ = self.state.cmpxchg(REACHABLE, AWAITED, Full);
    }

    /// Notes that nobody can reach it any more. Any context.
    pub(super) fn set_unreachable(&self) {
        if self.state.xchg(UNREACHABLE, Full) == AWAITED {
            self.work.kick();
        }
    }
}

#[kernel::macros::kunit_tests(efa_qp_send_ring)]
mod tests {
    use super::*;
    use kernel::prelude::*;

    /// The states through which a ring goes, from one that a process may map.
    fn reachable() -> Result<SendRing> {
        let ring = SendRing::new(Work::new()?);
        assert!(!ring.is_reachable());
        ring.state.store(REACHABLE, Relaxed);
        assert!(ring.is_reachable());
        Ok(ring)
    }

    #[test]
    fn a_ring_that_is_waited_for_stays_reachable_until_it_is_unmapped() -> Result {
        let ring = reachable()?;
        ring.await_end();
        assert!(ring.is_reachable());
        ring.set_unreachable();
        assert!(!ring.is_reachable());
        Ok(())
    }

    #[test]
    fn a_ring_that_was_unmapped_meanwhile_is_not_waited_for() -> Result {
        let ring = reachable()?;
        ring.set_unreachable();
        ring.await_end();
        assert!(!ring.is_reachable());
        Ok(())
    }
}
