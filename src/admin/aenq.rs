// SPDX-License-Identifier: GPL-2.0

//! The asynchronous event notification queue: what the device reports on its own.
//!
//! Keep-alives are counted; all other events are logged. Acting on a fatal
//! event, or on keep-alives that stop, belongs to recovery, which is not implemented yet.

use super::{
    mmio::Registers,
    ring::Cursor,
    stats::Stats, //
};
use crate::{
    hw::{
        aenq::*,
        regs::*, //
    },
    trace, //
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
use rdma::dma::{
    DmaGeneration,
    Lent,
    UntilReset, //
};

/// Size of the queue in entries.
const DEPTH: u16 = 16;

/// The groups that the driver wants to hear of, one bit each.
pub(crate) const GROUPS: u32 =
    1 << ADMIN_FATAL_ERROR | 1 << ADMIN_WARNING | 1 << ADMIN_NOTIFICATION | 1 << ADMIN_KEEP_ALIVE;

/// The AENQ of one device.
#[pin_data]
pub(crate) struct Aenq {
    dev: ARef<Device>,
    registers: Arc<Registers>,
    stats: Arc<Stats>,
    entries: Lent<Coherent<[AdminAenqEntry]>, UntilReset>,
    #[pin]
    state: SpinLockIrq<State>,
}

struct State {
    open: bool,
    cursor: Cursor,
}

impl Aenq {
    /// Allocates the queue. The device does not know it yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: no memory.
    pub(crate) fn new<'a>(
        dev: &'a Device<Bound>,
        registers: Arc<Registers>,
        stats: Arc<Stats>,
        dma: &'a DmaGeneration,
    ) -> impl PinInit<Self, Error> + 'a {
        pin_init::pin_init_scope(move || {
            let entries = Coherent::zeroed_slice(dev, DEPTH.into(), GFP_KERNEL)?;
            Ok(try_pin_init!(Self {
                dev: dev.into(),
                registers,
                stats,
                entries: Lent::new(entries, dma),
                state <- new_spinlock_irq!(State {
                    open: true,
                    cursor: Cursor::new(DEPTH),
                }),
            }? Error))
        })
    }

    /// Hands the queue to the device, with interrupts on vector `vector`.
    ///
    /// The memory is lost if this is dropped before the device was stopped.
    pub(crate) fn start(&self, vector: u8) {
        let addr = self.entries.dma_address();
        self.registers.write(AENQ_BASE_LO::from(addr as u32));
        self.registers
            .write(AENQ_BASE_HI::from((addr >> 32) as u32));
        self.registers.write(
            AENQ_CAPS::zeroed()
                .with_aenq_depth(DEPTH)
                // CAST: 64.
                .with_aenq_entry_size(size_of::<AdminAenqEntry>() as u8)
                .with_aenq_msix_vector(vector),
        );
        // All entries are the device's.
        self.registers.write(AENQ_CONS_DB::from(0));
    }

    /// Ends the handling of events: the doorbell is not rung any more, as a reset demands.
    pub(crate) fn close(&self) {
        self.state.lock().open = false;
    }

    /// Handles new events, at most one ring full. Says whether there were any. Any context.
    pub(crate) fn poll(&self) -> bool {
        let mut state = self.state.lock();
        if !state.open {
            return false;
        }
        let cursor = &mut state.cursor;
        let first = cursor.count();
        for _ in 0..DEPTH {
            let Ok(Some(entry)) = self.read(*cursor) else {
                break;
            };
            self.handle(&entry);
            cursor.advance();
        }
        let any = cursor.count() != first;
        if any {
            // The entries are read before the device may write them again.
            dma_mb(Read);
            self.registers.write(AENQ_CONS_DB::from(cursor.count()));
        }
        any
    }

    /// The entry at a position, if it is new.
    fn read(&self, at: Cursor) -> Result<Option<AdminAenqEntry>> {
        let flags = io_read!(*self.entries, [try: at.index()].aenq_common_desc.flags);
        if (flags & ADMIN_AENQ_COMMON_DESC_PHASE_MASK != 0) != at.phase() {
            return Ok(None);
        }
        dma_mb(Read);
        Ok(Some(
            io_project!(*self.entries, [try: at.index()]).copy_read(),
        ))
    }

    fn handle(&self, entry: &AdminAenqEntry) {
        let header = &entry.aenq_common_desc;
        let (group, syndrome) = (header.group, header.syndrome);
        trace::efa_aenq(&self.dev, group, syndrome);
        match group {
            ADMIN_KEEP_ALIVE => self.stats.keep_alive_rcvd.inc(),
            ADMIN_FATAL_ERROR => rdma::ratelimited!(dev_err!(
                self.dev,
                "the device reports a fatal error, syndrome {syndrome:#x}\n"
            )),
            ADMIN_WARNING => rdma::ratelimited!(dev_warn!(
                self.dev,
                "the device warns, syndrome {syndrome:#x}\n"
            )),
            ADMIN_NOTIFICATION => rdma::ratelimited!(dev_info!(
                self.dev,
                "the device notifies, syndrome {syndrome:#x}\n"
            )),
            _ => {
                self.stats.unknown_events.inc();
                rdma::ratelimited!(dev_err!(
                    self.dev,
                    "the device reports an event of unknown group {group}, syndrome {syndrome:#x}\n"
                ))
            }
        }
    }
}
