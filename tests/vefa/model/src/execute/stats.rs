// SPDX-License-Identifier: GPL-2.0
//! Statistics.

use vefa_spec::constants as c;
use vefa_spec::entries::AcqCommonDesc;
use vefa_spec::stats::GetStatsResp;
use vefa_spec::Wire;

use super::{Answer, Outcome, Refusal};
use crate::data::traffic::Traffic;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{StatsType, Status};
use crate::rules::Rule;
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Of the whole device, or of the QP whose number is `modifier`.
    pub(super) fn get_stats(&mut self, stats_type: u8, scope: u8, modifier: u16) -> Outcome {
        let stats_type = StatsType::from_number(stats_type)
            .filter(|known| self.config.stats.contains(known))
            .ok_or(Status::UnsupportedOpcode)?;
        let traffic = match u32::from(scope) {
            c::GET_STATS_SCOPE_ALL => &self.data.traffic,
            c::GET_STATS_SCOPE_QUEUE => match self.objects.qps.get(modifier) {
                Some(qp) => &qp.work.traffic,
                None => {
                    let text = format!("get_stats of QP {modifier}, which does not exist");
                    return Err(Refusal::illegal(Rule::QpUnknown, text));
                }
            },
            _ => return Err(Status::IllegalParameter.into()),
        };
        Ok(Answer::entry(answer(stats_type, traffic)))
    }
}

fn answer(stats_type: StatsType, traffic: &Traffic) -> Vec<u8> {
    let mut entry = vec![0; GetStatsResp::LAYOUT.size];
    let at = AcqCommonDesc::SIZE;
    match stats_type {
        StatsType::Basic => traffic.basic.put(&mut entry, at),
        StatsType::Messages => traffic.messages.put(&mut entry, at),
        StatsType::RdmaRead => traffic.rdma_read.put(&mut entry, at),
        StatsType::RdmaWrite => traffic.rdma_write.put(&mut entry, at),
        StatsType::Network => traffic.network.put(&mut entry, at),
    }
    entry
}
