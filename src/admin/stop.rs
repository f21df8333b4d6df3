// SPDX-License-Identifier: GPL-2.0

//! The end of a device's DMA: reset, or off the bus.

use super::{
    mmio::Registers,
    reset::{
        reset,
        Reason, //
    },
    Core, //
};
use kernel::{
    device::Device,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            ordering::{
                Acquire,
                Full,
                Relaxed,
                Release, //
            },
            Atomic, //
        },
        Arc, //
    }, //
};
use rdma::{
    dma::{
        DmaEnded,
        DmaGeneration, //
    },
    pci::{
        BusMaster,
        BusState, //
    }, //
};

/// The reset generation of a device that was just probed.
const FIRST_GENERATION: u32 = 1;

/// Makes the device stop when dropped, or before.
pub(super) struct Stop {
    dev: ARef<Device>,
    registers: Arc<Registers>,
    /// The queues that the device knows. Without them it knows only where to answer register reads.
    core: Option<Arc<Core>>,
    master: BusMaster,
    /// What dropping it means.
    probe_succeeded: Atomic<bool>,
    stopped: Atomic<bool>,
    dma: DmaGeneration,
    generation: Atomic<u32>,
}

impl Stop {
    /// A device that may master the bus, and is lent what `dma` says.
    pub(super) fn new(
        dev: &Device,
        registers: Arc<Registers>,
        master: BusMaster,
        dma: DmaGeneration,
    ) -> Self {
        Self {
            dev: dev.into(),
            registers,
            core: None,
            master,
            probe_succeeded: Atomic::new(false),
            stopped: Atomic::new(false),
            dma,
            generation: Atomic::new(FIRST_GENERATION),
        }
    }

    /// Notes the queues before the device is told of them.
    pub(super) fn set_core(&mut self, core: &Arc<Core>) {
        self.core = Some(core.clone());
    }

    /// The reset generation.
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Acquire)
    }

    /// What the device is lent now.
    pub(super) fn dma(&self) -> &DmaGeneration {
        &self.dma
    }

    /// Dropping this is a normal end from now on.
    pub(super) fn probe_succeeded(&self) {
        self.probe_succeeded.store(true, Relaxed);
    }

    /// Makes sure that the device does no DMA and raises no interrupt from now on. Commands fail.
    pub(super) fn stop(&self, reason: Reason) {
        if self.stopped.xchg(true, Full) {
            return;
        }
        let ended = match &self.core {
            Some(core) => {
                core.close();
                self.reset_or_leave(reason)
            }
            None => self.leave(),
        };
        if let Some(proof) = ended {
            self.dma.end(proof);
        }
        // Whoever sees the next generation sees that this one is over.
        self.generation.fetch_add(1, Release);
    }

    /// Resets the device. `None`: it may still use the memory that it knows.
    fn reset_or_leave(&self, reason: Reason) -> Option<DmaEnded> {
        let what = match reset(&self.dev, &self.registers, reason) {
            Ok(Some(proof)) => return Some(proof),
            Ok(None) => "not seen to be reset",
            Err(_) => "not reset",
        };
        let how_long = match self.master.stop() {
            BusState::Gone(proof) => return Some(proof),
            BusState::Off(_) => "when it masters the bus again",
            BusState::On => "at any time",
        };
        // The device may still know the queues. The next probe lets it master the bus before it can
        // reset it, so the memory must never be used for anything else.
        dev_err!(
            self.dev,
            "{what}: the device may write to its queues {how_long}; their memory is lost\n"
        );
        None
    }

    /// Takes bus mastering from a device that has no queues.
    fn leave(&self) -> Option<DmaEnded> {
        match self.master.stop() {
            BusState::Gone(proof) => Some(proof),
            // Each probe first says anew where answers go.
            BusState::Off(off) => Some(off.and_told_anew()),
            BusState::On => None,
        }
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.stop(if self.probe_succeeded.load(Relaxed) {
            Reason::Normal
        } else {
            Reason::InitError
        });
    }
}
