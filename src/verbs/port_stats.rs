// SPDX-License-Identifier: GPL-2.0

//! The counters of the port, as the `hw_counters` directory of the port shows them.
//!
//! Exporters find them by name, so the names are those of the kernel's C driver. The device keeps
//! the counts, in several types of statistics.

use super::stats::descs;
use crate::{
    admin::commands::stats::{
        GetStats,
        Statistics, //
    },
    hw::{
        admin::ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK,
        stats::*, //
    },
    verbs::device::Device,
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};
use rdma::stats::CounterDesc;

/// For how long the counters are good that were read last, in milliseconds. Any user can read them,
/// and it takes a command for each type of statistics: five commands ten times a second are nothing
/// to the device, and ten times a second is enough for whoever watches.
pub(super) const LIFESPAN_MS: u16 = 100;

/// What is known of the types of statistics: which of them the device has.
pub(crate) struct Known([Type; 5]);

impl Known {
    /// Nothing is known yet.
    pub(crate) const fn new() -> Self {
        Self([const { Type::new() }; 5])
    }
}

/// What is known of a type of statistics: reset generations, of which the first is 1.
struct Type {
    /// That in which the device told the statistics last.
    told: Atomic<u32>,
    /// That in which the device was found not to have them.
    missing: Atomic<u32>,
}

impl Type {
    const fn new() -> Self {
        Self {
            told: Atomic::new(0),
            missing: Atomic::new(0),
        }
    }
}

/// All that the device counts; `None` for a type that it did not tell now.
struct PortStats {
    basic: Option<AdminBasicStats>,
    messages: Option<AdminMessagesStats>,
    reads: Option<AdminRdmaReadStats>,
    writes: Option<AdminRdmaWriteStats>,
    network: Option<AdminNetworkStats>,
}

/// Takes a counter out of the statistics.
type Find = fn(&PortStats) -> Option<u64>;

/// The names in the order in which they are shown.
const COUNTERS: [(&CStr, Find); 22] = [
    (c"tx_bytes", |stats| Some(stats.basic.as_ref()?.tx_bytes)),
    (c"tx_pkts", |stats| Some(stats.basic.as_ref()?.tx_pkts)),
    (c"rx_bytes", |stats| Some(stats.basic.as_ref()?.rx_bytes)),
    (c"rx_pkts", |stats| Some(stats.basic.as_ref()?.rx_pkts)),
    (c"rx_drops", |stats| Some(stats.basic.as_ref()?.rx_drops)),
    (c"send_bytes", |stats| {
        Some(stats.messages.as_ref()?.send_bytes)
    }),
    (c"send_wrs", |stats| Some(stats.messages.as_ref()?.send_wrs)),
    (c"recv_bytes", |stats| {
        Some(stats.messages.as_ref()?.recv_bytes)
    }),
    (c"recv_wrs", |stats| Some(stats.messages.as_ref()?.recv_wrs)),
    (c"rdma_read_wrs", |stats| {
        Some(stats.reads.as_ref()?.read_wrs)
    }),
    (c"rdma_read_bytes", |stats| {
        Some(stats.reads.as_ref()?.read_bytes)
    }),
    (c"rdma_read_wr_err", |stats| {
        Some(stats.reads.as_ref()?.read_wr_err)
    }),
    (c"rdma_read_resp_bytes", |stats| {
        Some(stats.reads.as_ref()?.read_resp_bytes)
    }),
    (c"rdma_write_wrs", |stats| {
        Some(stats.writes.as_ref()?.write_wrs)
    }),
    (c"rdma_write_bytes", |stats| {
        Some(stats.writes.as_ref()?.write_bytes)
    }),
    (c"rdma_write_wr_err", |stats| {
        Some(stats.writes.as_ref()?.write_wr_err)
    }),
    (c"rdma_write_recv_bytes", |stats| {
        Some(stats.writes.as_ref()?.write_recv_bytes)
    }),
    (c"retrans_bytes", |stats| {
        Some(stats.network.as_ref()?.retrans_bytes)
    }),
    (c"retrans_pkts", |stats| {
        Some(stats.network.as_ref()?.retrans_pkts)
    }),
    (c"retrans_timeout_events", |stats| {
        Some(stats.network.as_ref()?.retrans_timeout_events)
    }),
    (c"unresponsive_remote_events", |stats| {
        Some(stats.network.as_ref()?.unresponsive_remote_events)
    }),
    (c"impaired_remote_conn_events", |stats| {
        Some(stats.network.as_ref()?.impaired_remote_conn_events)
    }),
];

/// The same for the RDMA core.
pub(super) static PORT_COUNTERS: [CounterDesc; COUNTERS.len()] = descs(&COUNTERS);

/// Reads the counters in the order of [`PORT_COUNTERS`].
///
/// The counters of a type of statistics that the device refuses stay as they were read last: to a
/// monitor a counter that goes back is one that overflowed, or a device that was reset. A type that
/// the device does not have is asked for once in a reset generation, and its counters are 0. The
/// others are right all the same.
///
/// # Errors
///
/// What the admin queue fails with.
pub(super) fn read_port_counters(dev: &Device<'_>, values: &mut [u64]) -> Result {
    let can_write =
        dev.features().device.device_caps & ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK != 0;
    let [basic, messages, reads, writes, network] = &dev.port_stats.0;
    let stats = PortStats {
        basic: get(dev, basic)?,
        messages: get(dev, messages)?,
        reads: get(dev, reads)?,
        writes: if can_write { get(dev, writes)? } else { None },
        network: get(dev, network)?,
    };
    for (value, (_, find)) in values.iter_mut().zip(&COUNTERS) {
        if let Some(told) = find(&stats) {
            *value = told;
        }
    }
    Ok(())
}

/// Reads one type of statistics; `None` where the device refuses, or does not have it.
fn get<S: Statistics>(dev: &Device<'_>, known: &Type) -> Result<Option<S>> {
    let generation = dev.admin.generation();
    if known.missing.load(Relaxed) == generation {
        return Ok(None);
    }
    let may_be_missing = known.told.load(Relaxed) != generation;
    let stats = match dev.admin.exec(&GetStats::<S>::new(may_be_missing)) {
        Ok(stats) => stats?,
        Err(error) if is_refusal(error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if stats.is_some() {
        known.told.store(generation, Relaxed);
    } else {
        known.missing.store(generation, Relaxed);
        dev_info!(
            dev.pdev,
            "the device has no {} statistics: their counters stay 0\n",
            S::NAME
        );
    }
    Ok(stats)
}

/// Says whether an error is the device's answer, and not a failure of the way to it.
fn is_refusal(error: Error) -> bool {
    [EINVAL, EOPNOTSUPP, ENOMEM].contains(&error)
}
