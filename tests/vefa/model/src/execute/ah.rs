// SPDX-License-Identifier: GPL-2.0
//! Address handles.

use vefa_spec::commands::CreateAhResp;

use super::{Answer, Outcome, Refusal};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::Status;
use crate::objects::Ah;
use crate::rules::Rule;
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn create_ah(&mut self, ah: Ah) -> Outcome {
        self.pd(ah.pd)?;
        if let Some(live) = self.objects.ahs.find(ah) {
            let text = format!("create_ah for ({}, {}), which AH {live} has", ah.pd, ah.gid);
            return Err(Refusal::illegal(Rule::AhDuplicate, text));
        }
        if !ah.gid.is_destination() {
            return Err(Status::IllegalParameter.into());
        }
        if let Some(status) = self.refused.get(&ah.gid) {
            return Err((*status).into());
        }
        let number = self
            .objects
            .ahs
            .create(self.config.max_ah, ah)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = CreateAhResp {
            ah: number,
            ..CreateAhResp::default()
        };
        Ok(Answer::entry(response.encode()).with("ah", number))
    }

    pub(super) fn destroy_ah(&mut self, pd: u16, number: u16) -> Outcome {
        let Some(ah) = self.objects.ahs.get(number) else {
            let text = format!("destroy_ah of {number}, which does not exist");
            return Err(Refusal::illegal(Rule::AhUnknown, text));
        };
        if ah.pd != pd {
            let text = format!("destroy_ah of {number} by pd {pd}; pd {} owns it", ah.pd);
            return Err(Refusal::illegal(Rule::AhWrongPd, text));
        }
        self.objects.ahs.destroy(number);
        self.ah_destroyed(number);
        Ok(Answer::default().with("gid", ah.gid.to_string()))
    }
}
