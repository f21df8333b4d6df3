// SPDX-License-Identifier: GPL-2.0
//! UARs.

use vefa_spec::commands::AllocUarResp;

use super::{Answer, Outcome, Refusal};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::Status;
use crate::objects::Uar;
use crate::rules::Rule;
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn alloc_uar(&mut self) -> Outcome {
        let uar = self
            .objects
            .alloc_uar(self.config.max_uar)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = AllocUarResp {
            uar,
            ..AllocUarResp::default()
        };
        Ok(Answer::entry(response.encode()).with("uar", uar))
    }

    pub(super) fn dealloc_uar(&mut self, uar: u16) -> Outcome {
        self.uar(uar)?;
        let counters = self.objects.counters.iter();
        let counters = counters.filter(|(_, it)| it.uar == uar).count();
        let qps = self.objects.qps.iter().filter(|it| it.uar == uar).count();
        let cqs = self.objects.cqs.values().filter(|it| it.uar == uar).count();
        if counters + qps + cqs > 0 {
            let text = format!(
                "dealloc_uar of {uar}, which {qps} QPs, {cqs} CQs and {counters} event counters use"
            );
            return Err(Refusal::busy(Rule::UarBusy, text));
        }
        self.objects.uars.remove(&uar);
        Ok(Answer::default())
    }

    /// The UAR, if it exists.
    pub(super) fn uar(&mut self, uar: u16) -> Result<&mut Uar, Refusal> {
        self.objects.uars.get_mut(&uar).ok_or_else(|| {
            let text = format!("uar {uar} does not exist");
            Refusal::illegal(Rule::UarUnknown, text)
        })
    }
}
