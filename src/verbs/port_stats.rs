// SPDX-License-Identifier: GPL-2.0

//! The counters of the port, as the `hw_counters` directory of the port shows them.
//!
//! Exporters find them by name, so the names are those of the kernel's C driver. The device keeps
//! the counts, in several types of statistics.

use super::stats::descs;
use crate::{
    admin::commands::stats::{
        AnyStats,
        GetStats,
        Kind, //
    },
    hw::{
        admin::ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK,
        stats::*, //
    },
    verbs::device::Device,
};
use core::mem::offset_of;
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
pub(crate) struct Known([Type; KINDS.len()]);

impl Known {
    /// Nothing is known yet.
    pub(crate) const fn new() -> Self {
        Self([const { Type::new() }; KINDS.len()])
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

/// The types of statistics.
const KINDS: [Kind; 5] = [
    Kind::BASIC,
    Kind::MESSAGES,
    Kind::RDMA_READ,
    Kind::RDMA_WRITE,
    Kind::NETWORK,
];

/// Where a counter is.
struct Place {
    /// The place of its type in [`KINDS`].
    kind: usize,
    /// The word in the statistics of that type.
    word: usize,
}

/// Makes the tables of counters from the names and fields for each type, which is named by its place.
macro_rules! counters {
    ($($kind:literal $stats:ident { $($name:literal: $field:ident,)+ })+) => {
        /// The names in the order in which they are shown.
        const NAMES: [&CStr; [$($($name),+),+].len()] = [$($($name),+),+];

        /// Where they are, in the same order.
        const PLACES: [Place; NAMES.len()] = [$($(
            Place {
                kind: $kind,
                word: offset_of!($stats, $field) / size_of::<u64>(),
            },
        )+)+];
    };
}

counters! {
    0 AdminBasicStats {
        c"tx_bytes": tx_bytes,
        c"tx_pkts": tx_pkts,
        c"rx_bytes": rx_bytes,
        c"rx_pkts": rx_pkts,
        c"rx_drops": rx_drops,
    }
    1 AdminMessagesStats {
        c"send_bytes": send_bytes,
        c"send_wrs": send_wrs,
        c"recv_bytes": recv_bytes,
        c"recv_wrs": recv_wrs,
    }
    2 AdminRdmaReadStats {
        c"rdma_read_wrs": read_wrs,
        c"rdma_read_bytes": read_bytes,
        c"rdma_read_wr_err": read_wr_err,
        c"rdma_read_resp_bytes": read_resp_bytes,
    }
    3 AdminRdmaWriteStats {
        c"rdma_write_wrs": write_wrs,
        c"rdma_write_bytes": write_bytes,
        c"rdma_write_wr_err": write_wr_err,
        c"rdma_write_recv_bytes": write_recv_bytes,
    }
    4 AdminNetworkStats {
        c"retrans_bytes": retrans_bytes,
        c"retrans_pkts": retrans_pkts,
        c"retrans_timeout_events": retrans_timeout_events,
        c"unresponsive_remote_events": unresponsive_remote_events,
        c"impaired_remote_conn_events": impaired_remote_conn_events,
    }
}

/// The names for the RDMA core.
pub(super) static PORT_COUNTERS: [CounterDesc; NAMES.len()] = descs(&NAMES);

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
    let mut told = [None; KINDS.len()];
    for ((told, known), kind) in told.iter_mut().zip(&dev.port_stats.0).zip(&KINDS) {
        if can_write || kind != &Kind::RDMA_WRITE {
            *told = get(dev, known, kind)?;
        }
    }
    for (value, place) in values.iter_mut().zip(&PLACES) {
        let stats = told.get(place.kind).and_then(Option::as_ref);
        if let Some(count) = stats.and_then(|stats| stats.get(place.word)) {
            *value = *count;
        }
    }
    Ok(())
}

/// Reads one type of statistics; `None` where the device refuses, or does not have it.
fn get(dev: &Device<'_>, known: &Type, kind: &'static Kind) -> Result<Option<AnyStats>> {
    let generation = dev.admin.generation();
    if known.missing.load(Relaxed) == generation {
        return Ok(None);
    }
    let may_be_missing = known.told.load(Relaxed) != generation;
    let stats = match dev.admin.exec(&GetStats {
        kind,
        may_be_missing,
    }) {
        Ok(stats) => stats,
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
            kind.name
        );
    }
    Ok(stats)
}

/// Says whether an error is the device's answer, and not a failure of the way to it.
fn is_refusal(error: Error) -> bool {
    [EINVAL, EOPNOTSUPP, ENOMEM].contains(&error)
}
