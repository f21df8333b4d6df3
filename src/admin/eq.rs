// SPDX-License-Identifier: GPL-2.0

//! Completion event queues: one for each interrupt vector but the first.
//!
//! The device puts an event here when a CQ that was armed gets a completion. The CQs that want to
//! hear of theirs subscribe.

mod subscribers;

pub(super) use self::subscribers::Subscribers;

use self::subscribers::Place;
use super::{
    commands::{
        CreateEq,
        DestroyEq, //
    },
    mmio::Registers,
    ring::Cursor,
    stats::Stats,
    Core, //
};
use crate::{
    hw::{
        aenq::*,
        regs::*, //
    },
    trace,
    users::{
        Use,
        Users, //
    }, //
};
use kernel::{
    device::{
        Bound,
        Device, //
    },
    dma::Coherent,
    io::{
        io_project,
        io_read,
        Io, //
    },
    new_spinlock_irq,
    prelude::*,
    sync::{
        aref::ARef,
        barrier::{
            dma_mb,
            Read, //
        },
        Arc,
        SpinLockIrq, //
    }, //
};
use rdma::{
    cq::Notifier,
    dma::{
        DmaGeneration,
        Lent,
        UntilReset, //
    },
    irq::{
        Handler,
        Registration,
        Vectors, //
    }, //
};

/// Vector of the first event queue.
const FIRST_VECTOR: u32 = 1;

/// How many event queues there are on a device that has at most `max` with these vectors, of which
/// CREATE_EQ can name the first 256.
pub(super) fn count(max: u32, vectors: u32) -> u32 {
    let nameable = vectors.min(u32::from(u8::MAX) + 1);
    max.min(nameable.saturating_sub(FIRST_VECTOR))
}

/// Most entries of an event queue, since CREATE_EQ has 16 bits for their number.
const MAX_DEPTH: u32 = 1 << 15;

/// The depth that an event queue gets, from the limit that the device tells: a power of two. Where
/// the limit has low 16 bits, the others say nothing: C makes a queue of so many.
fn depth(max_depth: u32) -> Option<u16> {
    let limit = match max_depth & u32::from(u16::MAX) {
        0 => max_depth,
        low => low,
    };
    let depth = 1u32.checked_shl(limit.min(MAX_DEPTH).checked_ilog2()?)?;
    depth.try_into().ok()
}

/// The memory of an event queue and the position in it.
#[pin_data]
pub(crate) struct EventRing {
    dev: ARef<Device>,
    registers: Arc<Registers>,
    stats: Arc<Stats>,
    entries: Lent<Coherent<[AdminEqe]>, UntilReset>,
    depth: u16,
    #[pin]
    position: SpinLockIrq<Position>,
    subscribers: Arc<Subscribers<Notifier>>,
}

/// Where the driver is in an event queue.
struct Position {
    cursor: Cursor,
    /// The doorbell may be rung.
    open: bool,
}

impl EventRing {
    /// Allocates an event queue's memory.
    ///
    /// # Errors
    ///
    /// * `EINVAL`: the device allows no entries.
    /// * `ENOMEM`: no memory.
    pub(crate) fn new(
        dev: &Device<Bound>,
        core: &Core,
        dma: &DmaGeneration,
        max_depth: u32,
    ) -> Result<Arc<Self>> {
        let depth = depth(max_depth)
            .ok_or(EINVAL)
            .inspect_err(|_| dev_err!(dev, "the device allows no entries in an event queue\n"))?;
        let entries = Coherent::zeroed_slice(dev, depth.into(), GFP_KERNEL)?;
        Arc::pin_init(
            try_pin_init!(Self {
                dev: dev.into(),
                registers: core.registers.clone(),
                stats: core.stats.clone(),
                entries: Lent::new(entries, dma),
                depth,
                position <- new_spinlock_irq!(
                    Position {
                        cursor: Cursor::new(*depth),
                        open: true,
                    },
                    "efa_eq_position"
                ),
                subscribers: core.subscribers.clone(),
            }? Error),
            GFP_KERNEL,
        )
    }

    /// Handles new events, at most one ring full, and asks for an interrupt at the next one.
    fn poll(&self, eqn: u16) {
        let mut position = self.position.lock();
        for _ in 0..self.depth {
            let Ok(Some(entry)) = self.read(position.cursor) else {
                break;
            };
            self.handle(eqn, &entry);
            position.cursor.advance();
        }
        if position.open {
            self.registers
                .write(EQ_DB::zeroed().with_eqn(eqn).with_const_arm::<1>());
        }
    }

    /// Never rings the doorbell again: the device is about to be reset.
    pub(super) fn close(&self) {
        self.position.lock().open = false;
    }

    /// The entry at a position, if it is new.
    fn read(&self, at: Cursor) -> Result<Option<AdminEqe>> {
        let common = io_read!(*self.entries, [try: at.index()].common);
        if (common & ADMIN_EQE_PHASE_MASK != 0) != at.phase() {
            return Ok(None);
        }
        dma_mb(Read);
        Ok(Some(
            io_project!(*self.entries, [try: at.index()]).copy_read(),
        ))
    }

    fn handle(&self, eqn: u16, entry: &AdminEqe) {
        let kind = entry.common & ADMIN_EQE_EVENT_TYPE_MASK;
        let number = entry.u.cqn;
        trace::efa_eq(&self.dev, eqn, kind, number);
        if kind != ADMIN_EQE_EVENT_TYPE_COMPLETION {
            self.stats.unknown_events.inc();
            rdma::ratelimited!(dev_err!(
                self.dev,
                "event of unknown type ({:#x})\n",
                entry.common
            ));
            return;
        }
        if !self.subscribers.with(number, Notifier::notify) {
            // One that was destroyed with an event on its way is no fault.
            self.stats.unknown_events.inc();
            rdma::ratelimited!(dev_info!(
                self.dev,
                "completion event for CQ {number}, which is not there (any more)\n"
            ));
        }
    }
}

/// An event queue that the device uses.
///
/// Dropping it stops the interrupt, then destroys the queue on the device, unless the device still
/// has CQs that report to it. The ring stays: the owner frees it after the device reset that
/// follows.
pub(crate) struct CompletionEq {
    _irq: Pin<KBox<Registration<EqHandler>>>,
    destroy: DestroyOnDrop,
    ring: Arc<EventRing>,
}

/// All that a CQ needs to hear of its events, before it is created.
pub(crate) struct Reservation {
    subscribers: Arc<Subscribers<Notifier>>,
    place: Place<Notifier>,
    notifier: Arc<Notifier>,
    eq: Use,
}

impl Reservation {
    /// Lets the CQ, which the device has numbered, hear of its events.
    pub(crate) fn subscribe(self, number: u16) -> Subscription {
        self.subscribers
            .add(self.place, number, self.notifier.clone());
        Subscription {
            subscribers: self.subscribers,
            number,
            notifier: self.notifier,
            _eq: self.eq,
        }
    }
}

/// The events of one CQ, until this is dropped: after the device destroyed the CQ.
pub(crate) struct Subscription {
    subscribers: Arc<Subscribers<Notifier>>,
    number: u16,
    notifier: Arc<Notifier>,
    _eq: Use,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscribers.remove(self.number, &self.notifier);
    }
}

impl CompletionEq {
    /// Creates event queue `number`, counted from 0, in `ring`, and arms it.
    ///
    /// # Errors
    ///
    /// What the command or the interrupt request fails with.
    pub(crate) fn new(
        dev: &Device<Bound>,
        core: &Arc<Core>,
        vectors: &Arc<Vectors>,
        ring: &Arc<EventRing>,
        number: u32,
    ) -> Result<Self> {
        let vector = number + FIRST_VECTOR;
        let users = Users::new()?;
        let eqn = core.queue.exec(&CreateEq {
            depth: ring.depth,
            // CAST: 4.
            entry_words: (size_of::<AdminEqe>() / 4) as u8,
            vector: vector.try_into()?,
            ring_addr: ring.entries.dma_address(),
        })?;
        let destroy = DestroyOnDrop {
            core: core.clone(),
            eqn,
            users,
        };
        let handler = EqHandler {
            ring: ring.clone(),
            eqn,
        };
        let irq = Registration::new(
            dev,
            vectors.clone(),
            vector,
            // Who wants events on a CPU takes the vector of its number.
            number,
            fmt!("efa-comp{number}@pci:{}", dev.name()),
            handler,
        )?;
        ring.poll(eqn);
        Ok(Self {
            _irq: irq,
            destroy,
            ring: ring.clone(),
        })
    }

    /// Its number on the device.
    pub(crate) fn number(&self) -> u16 {
        self.destroy.eqn
    }

    /// Prepares for a CQ of which `notifier` is to hear.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn reserve(&self, notifier: Arc<Notifier>) -> Result<Reservation> {
        Ok(Reservation {
            subscribers: self.ring.subscribers.clone(),
            place: Place::new()?,
            notifier,
            eq: self.destroy.users.add(),
        })
    }
}

struct DestroyOnDrop {
    core: Arc<Core>,
    eqn: u16,
    /// CQs that the device has with events in it.
    users: Users,
}

impl Drop for DestroyOnDrop {
    fn drop(&mut self) {
        if self.users.any() {
            return;
        }
        // A failure is logged there. The ring is kept in any case, see `CompletionEq`.
        let _ = self.core.queue.exec(&DestroyEq { eqn: self.eqn });
    }
}

struct EqHandler {
    ring: Arc<EventRing>,
    eqn: u16,
}

impl Handler for EqHandler {
    fn handle(&self) {
        self.ring.poll(self.eqn);
    }
}

#[kernel::macros::kunit_tests(efa_admin_eq)]
mod tests {
    use super::*;

    #[test]
    fn each_event_queue_has_a_vector_that_can_be_named() {
        for (max, vectors, expected) in [
            (32, 1, 0),
            (32, 3, 2),
            (0, 3, 0),
            (1, 3, 1),
            (u32::MAX, 256, 255),
            (u32::MAX, 257, 255),
            (u32::MAX, u32::MAX, 255),
        ] {
            assert_eq!(count(max, vectors), expected);
        }
    }

    #[test]
    fn the_depth_is_a_power_of_two_within_the_limits() {
        for (max, expected) in [
            (0, None),
            (1, Some(1)),
            (1023, Some(512)),
            (1024, Some(1024)),
            (1 << 16, Some(1 << 15)),
            (0x7701_0100, Some(256)),
            (u32::MAX, Some(1 << 15)),
        ] {
            assert_eq!(depth(max), expected);
        }
    }
}
