// SPDX-License-Identifier: GPL-2.0
//! A model of an EFA device, as its driver sees it: registers, reset, the
//! admin queue and its commands, asynchronous events, event queues, and
//! resources with their owners.
//!
//! The model does no I/O: guest memory, LLQ memory and interrupts come through
//! [`GuestMemory`], [`LlqMemory`] and [`IrqSink`], time through
//! [`EfaModel::poll`]; packets to and from other devices go through
//! [`EfaModel::take_packets`] and [`EfaModel::deliver`]. It trusts
//! nothing that comes from the guest, and it enforces the device's contract:
//! what a driver must not do is refused and recorded as a violation.
#![forbid(unsafe_code)]

mod aenq;
mod answers;
mod attributes;
mod bus;
mod command;
pub mod config;
pub mod control;
pub mod data;
mod execute;
pub mod faults;
pub mod gid;
pub mod host;
pub mod journal;
pub mod names;
mod objects;
mod queues;
mod reach;
mod registers;
mod ring;
pub mod rules;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Map;

pub use answers::Answers;
use answers::Noise;
use bus::Bus;
pub use config::{ApiVersion, Config, ConfigError};
pub use control::{ControlReply, ControlRequest};
use data::Data;
pub use data::Packet;
use faults::FaultPlan;
pub use gid::Gid;
pub use host::{DmaError, GuestMemory, IrqSink, LlqMemory};
use journal::Journal;
use names::Status;
pub use objects::ObjectDetail;
use objects::Objects;
use queues::Queues;
use registers::{ResetState, Written};
use rules::{Breach, Rule};

/// The device.
///
/// The caller says what time it is by calling [`poll`](Self::poll) before it
/// passes on an access, and calls it again after the access to learn when the
/// next work is due.
pub struct EfaModel<M, I, L> {
    config: Config,
    bus: Bus<M, I>,
    llq: L,
    written: Written,
    reset: ResetState,
    queues: Queues,
    objects: Objects,
    data: Data,
    faults: FaultPlan,
    refused: BTreeMap<Gid, Status>,
    journal: Journal,
    noise: Noise,
    sends_keep_alive: bool,
    muted: bool,
    leaked: BTreeMap<String, u64>,
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// A device as it is after power-on.
    ///
    /// # Errors
    /// Where no device can have this configuration.
    pub fn new(config: Config, memory: M, irq: I, llq: L) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            noise: Noise::new(config.answers_seed),
            config,
            bus: Bus::new(memory, irq),
            llq,
            data: Data::default(),
            written: Written::default(),
            reset: ResetState::default(),
            queues: Queues::default(),
            objects: Objects::default(),
            faults: FaultPlan::default(),
            refused: BTreeMap::new(),
            journal: Journal::new(),
            sends_keep_alive: true,
            muted: false,
            leaked: BTreeMap::new(),
        })
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A read of `data.len()` bytes from a BAR; always fills `data`.
    pub fn bar_read(&mut self, bar: u8, offset: u64, data: &mut [u8]) {
        if bar == 0 && offset < config::REGISTER_BAR_SIZE {
            data.fill(0xff);
            let text = format!("read of {} bytes at {offset:#x}", data.len());
            self.journal
                .breach(Breach::new(Rule::RegisterDirectRead, text));
        } else {
            data.fill(0);
        }
    }

    /// A write to a BAR.
    pub fn bar_write(&mut self, bar: u8, offset: u64, data: &[u8]) {
        let outcome = match bar {
            0 if offset < config::REGISTER_BAR_SIZE => self.register_write(offset, data),
            2 if offset < self.config.llq_size() => Ok(()),
            _ if bar == self.config.db_bar && self.config.has_db_bar => {
                self.ring_doorbell(offset, data)
            }
            _ => {
                let text = format!("write of {} bytes to BAR {bar} at {offset:#x}", data.len());
                Err(Breach::new(Rule::DoorbellUnowned, text))
            }
        };
        if let Err(breach) = outcome {
            self.journal.breach(breach);
        }
    }

    /// Bus mastering was turned on or off. Off, the device does no DMA and
    /// raises no interrupt.
    pub fn set_bus_master(&mut self, on: bool) {
        self.bus.master = on;
    }

    /// PCI function level reset: all state is as after power-on. What a test
    /// has scripted, and what was recorded, stays.
    pub fn function_reset(&mut self) {
        self.reset_state("function_reset", Map::new());
        self.reset = ResetState::default();
        self.bus.master = false;
        self.journal.counters.function_resets += 1;
    }

    /// Does the work that is due at `now`, a clock that never goes back.
    /// Returns the time at which to call again, if any.
    pub fn poll(&mut self, now: Duration) -> Option<Duration> {
        self.journal.now = self.journal.now.max(now);
        self.reset = self.reset.at(self.journal.now);
        self.complete_due();
        self.keep_alive();
        self.run_timers();
        let in_flight = &self.queues.in_flight;
        let in_flight = in_flight.iter().filter_map(|in_flight| in_flight.due);
        in_flight
            .chain(self.queues.late_interrupts.iter().copied())
            .chain(self.reset.due())
            .chain(self.keep_alive_due())
            .chain(self.data_due())
            .min()
    }

    /// What is alive now, and what was alive when the driver reset the device
    /// for an orderly removal.
    pub fn leaks(&self) -> Leaks {
        Leaks {
            live: self.objects.live(),
            at_reset: self.leaked.clone(),
        }
    }
}

/// Objects that their owner did not destroy, by kind; kinds without any are
/// left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaks {
    /// Alive now.
    pub live: BTreeMap<String, u64>,
    /// Alive at resets with the reason "normal", added up.
    pub at_reset: BTreeMap<String, u64>,
}

impl Leaks {
    /// Whether nothing leaked.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.at_reset.is_empty()
    }
}
