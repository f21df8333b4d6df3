// SPDX-License-Identifier: GPL-2.0

//! Counters of a port.

use super::Provider;
use crate::stats::CounterDesc;
use kernel::prelude::*;

/// A provider whose ports have counters.
pub trait PortCounters: Provider {
    /// The counters of each port.
    const PORT_COUNTERS: &'static [CounterDesc];

    /// For how long values are good that were read, in milliseconds, unless an administrator writes
    /// something else to the file `lifespan`. They are not read more often, whoever asks.
    const PORT_LIFESPAN_MS: u16;

    /// Reads the counters of [`Self::PORT_COUNTERS`], in that order. `values` has what was read
    /// last, 0 at first.
    ///
    /// It is called once when the device is registered, which an error makes fail.
    fn read_port_counters(dev: &Self::Data<'_>, port: u32, values: &mut [u64]) -> Result;
}
