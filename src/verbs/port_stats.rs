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
    device::Device,
    hw::{
        admin::ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK,
        stats::*, //
    },
};
use kernel::prelude::*;
use rdma::stats::CounterDesc;
use zerocopy::FromZeros;

/// For how long the counters are good that were read last, in milliseconds. Any user can read them,
/// and it takes a command for each type of statistics: five commands ten times a second are nothing
/// to the device, and ten times a second is enough for whoever watches.
pub(super) const LIFESPAN_MS: u16 = 100;

/// All that the device counts.
struct PortStats {
    basic: AdminBasicStats,
    messages: AdminMessagesStats,
    reads: AdminRdmaReadStats,
    writes: AdminRdmaWriteStats,
    network: AdminNetworkStats,
}

/// Takes a counter out of the statistics.
type Find = fn(&PortStats) -> u64;

/// The names in the order in which they are shown.
const COUNTERS: [(&CStr, Find); 22] = [
    (c"tx_bytes", |stats| stats.basic.tx_bytes),
    (c"tx_pkts", |stats| stats.basic.tx_pkts),
    (c"rx_bytes", |stats| stats.basic.rx_bytes),
    (c"rx_pkts", |stats| stats.basic.rx_pkts),
    (c"rx_drops", |stats| stats.basic.rx_drops),
    (c"send_bytes", |stats| stats.messages.send_bytes),
    (c"send_wrs", |stats| stats.messages.send_wrs),
    (c"recv_bytes", |stats| stats.messages.recv_bytes),
    (c"recv_wrs", |stats| stats.messages.recv_wrs),
    (c"rdma_read_wrs", |stats| stats.reads.read_wrs),
    (c"rdma_read_bytes", |stats| stats.reads.read_bytes),
    (c"rdma_read_wr_err", |stats| stats.reads.read_wr_err),
    (c"rdma_read_resp_bytes", |stats| stats.reads.read_resp_bytes),
    (c"rdma_write_wrs", |stats| stats.writes.write_wrs),
    (c"rdma_write_bytes", |stats| stats.writes.write_bytes),
    (c"rdma_write_wr_err", |stats| stats.writes.write_wr_err),
    (c"rdma_write_recv_bytes", |stats| {
        stats.writes.write_recv_bytes
    }),
    (c"retrans_bytes", |stats| stats.network.retrans_bytes),
    (c"retrans_pkts", |stats| stats.network.retrans_pkts),
    (c"retrans_timeout_events", |stats| {
        stats.network.retrans_timeout_events
    }),
    (c"unresponsive_remote_events", |stats| {
        stats.network.unresponsive_remote_events
    }),
    (c"impaired_remote_conn_events", |stats| {
        stats.network.impaired_remote_conn_events
    }),
];

/// The same for the RDMA core.
pub(super) static PORT_COUNTERS: [CounterDesc; COUNTERS.len()] = descs(&COUNTERS);

/// Reads the counters in the order of [`PORT_COUNTERS`]. A type of statistics that the device
/// refuses reads as zeroes, and the others are right all the same.
///
/// # Errors
///
/// What the admin queue fails with.
pub(super) fn read_port_counters(dev: &Device<'_>, values: &mut [u64]) -> Result {
    let can_write =
        dev.features().device.device_caps & ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK != 0;
    let stats = PortStats {
        basic: get(dev)?,
        messages: get(dev)?,
        reads: get(dev)?,
        writes: if can_write {
            get(dev)?
        } else {
            FromZeros::new_zeroed()
        },
        network: get(dev)?,
    };
    for (value, (_, find)) in values.iter_mut().zip(&COUNTERS) {
        *value = find(&stats);
    }
    Ok(())
}

/// Reads one type of statistics; zeroes where the device refuses.
fn get<S: Statistics>(dev: &Device<'_>) -> Result<S> {
    match dev.admin.exec(&GetStats::<S>::new()) {
        Ok(stats) => stats,
        Err(error) if is_refusal(error) => Ok(S::new_zeroed()),
        Err(error) => Err(error),
    }
}

/// Says whether an error is the device's answer, and not a failure of the way to it.
fn is_refusal(error: Error) -> bool {
    [EINVAL, EOPNOTSUPP, ENOMEM].contains(&error)
}
