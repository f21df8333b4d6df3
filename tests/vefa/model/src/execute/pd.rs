// SPDX-License-Identifier: GPL-2.0
//! Protection domains.

use vefa_spec::commands::AllocPdResp;

use super::{Answer, Outcome, Refusal};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::Status;
use crate::rules::Rule;
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn alloc_pd(&mut self) -> Outcome {
        let pd = self
            .objects
            .alloc_pd(self.config.max_pd)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = AllocPdResp {
            pd,
            ..AllocPdResp::default()
        };
        Ok(Answer::entry(response.encode()).with("pd", pd))
    }

    pub(super) fn dealloc_pd(&mut self, pd: u16) -> Outcome {
        self.pd(pd)?;
        let (ahs, mrs) = (self.objects.ahs.iter(), self.objects.mrs.iter());
        let ahs = ahs.filter(|(_, ah)| ah.pd == pd).count();
        let mrs = mrs.filter(|(_, mr)| mr.pd == pd).count();
        let qps = self.objects.qps.iter().filter(|qp| qp.pd == pd).count();
        if ahs + qps + mrs > 0 {
            let text = format!("dealloc_pd of {pd}, which owns {ahs} AHs, {qps} QPs and {mrs} MRs");
            return Err(Refusal::busy(Rule::PdBusy, text));
        }
        self.objects.pds.remove(&pd);
        Ok(Answer::default())
    }

    /// Whether a PD exists.
    pub(super) fn pd(&self, pd: u16) -> Result<(), Refusal> {
        if self.objects.pds.contains(&pd) {
            return Ok(());
        }
        let text = format!("pd {pd} does not exist");
        Err(Refusal::illegal(Rule::PdUnknown, text))
    }
}
