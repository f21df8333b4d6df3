// SPDX-License-Identifier: GPL-2.0
//! Traffic counters, as GET_STATS reports them.

use std::collections::BTreeMap;

use vefa_spec::stats::{BasicStats, MessagesStats, NetworkStats, RdmaReadStats, RdmaWriteStats};
use vefa_spec::{Layout, Wire};

use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::EfaModel;

/// Traffic of one queue pair, or of the whole device, by type of statistics.
/// Bytes are those of messages; acknowledgements do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub basic: BasicStats,
    pub messages: MessagesStats,
    pub rdma_read: RdmaReadStats,
    pub rdma_write: RdmaWriteStats,
    pub network: NetworkStats,
}

impl Traffic {
    /// All counters by name.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let groups = [
            named(&BasicStats::LAYOUT, &self.basic.encode()),
            named(&MessagesStats::LAYOUT, &self.messages.encode()),
            named(&RdmaReadStats::LAYOUT, &self.rdma_read.encode()),
            named(&RdmaWriteStats::LAYOUT, &self.rdma_write.encode()),
            named(&NetworkStats::LAYOUT, &self.network.encode()),
        ];
        groups.into_iter().flatten().collect()
    }
}

fn named(layout: &Layout, bytes: &[u8]) -> Vec<(String, u64)> {
    let fields = layout.fields.iter();
    let named = fields.filter_map(|field| {
        let value = u64::get(bytes, field.offset)?;
        Some((field.name.to_owned(), value))
    });
    named.collect()
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Counts something for a queue pair and for the device.
    pub(crate) fn count(&mut self, qp: u16, count: impl Fn(&mut Traffic)) {
        count(&mut self.data.traffic);
        if let Some(qp) = self.objects.qps.get_mut(qp) {
            count(&mut qp.work.traffic);
        }
    }

    /// A packet with so many bytes goes out, perhaps once more.
    pub(crate) fn count_sent(&mut self, qp: u16, bytes: u64, again: bool) {
        self.count(qp, |traffic| {
            traffic.basic.tx_pkts += 1;
            traffic.basic.tx_bytes += bytes;
            if again {
                traffic.network.retrans_pkts += 1;
                traffic.network.retrans_bytes += bytes;
            }
        });
    }

    /// A packet with so many bytes came in and was taken.
    pub(crate) fn count_received(&mut self, qp: u16, bytes: u64) {
        self.count(qp, |traffic| {
            traffic.basic.rx_pkts += 1;
            traffic.basic.rx_bytes += bytes;
        });
    }
}
