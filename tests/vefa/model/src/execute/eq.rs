// SPDX-License-Identifier: GPL-2.0
//! Event queues.

use vefa_spec::commands::CreateEqResp;
use vefa_spec::entries::Eqe;

use super::{Answer, Outcome, Refusal};
use crate::command::CreateEq;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::Status;
use crate::objects::EventQueue;
use crate::ring::Ring;
use crate::rules::Rule;
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn create_eq(&mut self, command: &CreateEq) -> Outcome {
        let (depth, vector) = (command.depth, command.vector);
        let size = u16::from(command.entry_words) * 4;
        if usize::from(size) != Eqe::LAYOUT.size {
            let text = format!("create_eq with elements of {} words", command.entry_words);
            return Err(Refusal::illegal(Rule::EqEntrySize, text));
        }
        let depth_limit = self.config.max_eq_depth;
        if !depth.is_power_of_two() || u32::from(depth) > depth_limit {
            let text = format!("create_eq with depth {depth} of {depth_limit}");
            return Err(Refusal::illegal(Rule::EqDepth, text));
        }
        if vector == 0 || vector >= self.config.num_vectors {
            let text = format!("create_eq on vector {vector}");
            return Err(Refusal::illegal(Rule::EqVector, text));
        }
        let bytes = u64::from(depth) * u64::from(size);
        self.bus
            .check(self.config.dma_addr_width, command.base, bytes)?;
        let ring = Ring::new("EQ", command.base, depth.into(), size.into(), size)?;
        let eq = EventQueue::new(vector, ring, command.completions());
        let eqn = self
            .objects
            .create_eq(self.config.max_eq, eq)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = CreateEqResp {
            eqn,
            ..CreateEqResp::default()
        };
        Ok(Answer::entry(response.encode()).with("eq", eqn))
    }

    pub(super) fn destroy_eq(&mut self, eqn: u16) -> Outcome {
        self.eq(eqn)?;
        let mut cqs = self.objects.cqs.iter();
        if let Some((cq, _)) = cqs.find(|(_, cq)| cq.eq == Some(eqn)) {
            let text = format!("destroy_eq of {eqn}, to which CQ {cq} reports");
            return Err(Refusal::busy(Rule::EqBusy, text));
        }
        self.objects.eqs.remove(&eqn);
        Ok(Answer::default())
    }

    /// The event queue that a command names, if it exists.
    pub(super) fn eq(&self, eqn: u16) -> Result<&EventQueue, Refusal> {
        self.objects.eqs.get(&eqn).ok_or_else(|| {
            let text = format!("event queue {eqn} does not exist");
            Refusal::illegal(Rule::EqUnknown, text)
        })
    }
}
