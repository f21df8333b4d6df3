// SPDX-License-Identifier: GPL-2.0
//! Completion queues.

use vefa_spec::commands::CreateCqResp;
use vefa_spec::constants as c;

use super::{Answer, Outcome, Refusal};
use crate::command::CreateCq;
use crate::data::doorbell::Doorbell;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, Feature, Status};
use crate::objects::{Cq, Qp};
use crate::ring::Ring;
use crate::rules::Rule;
use crate::EfaModel;

/// Words of an entry, and of one that can hold a source GID.
const ENTRY_WORDS: [u8; 2] = [4, 8];

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn create_cq(&mut self, command: &CreateCq) -> Outcome {
        self.uar(command.uar)?;
        self.check_cq(command)?;
        let number = self
            .objects
            .next_cq(self.config.max_cq)
            .ok_or(Status::ResourceAllocationFailure)?;
        let sub_cqs = self.sub_cqs(command)?;
        let doorbell = self
            .uar(command.uar)?
            .add(&[Doorbell::Completion(number)])
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = CreateCqResp {
            cq_idx: number,
            sub_cq_actual_depth: command.depth,
            db_offset: self.doorbell_offset(command.uar, doorbell.first()),
            // A device without events has no use for the doorbell.
            flags: if self.config.has_feature(Feature::EventQueueAttr) {
                c::CREATE_CQ_RESP_DB_VALID_MASK
            } else {
                0
            },
            ..CreateCqResp::default()
        };
        let cq = Cq {
            uar: command.uar,
            eq: command.eq,
            entry_size: u16::from(command.entry_words) * 4,
            depth: command.depth,
            with_source_gid: command.with_source_gid,
            wide_req_id: command.wide_req_id,
            base: command.base,
            sub_cqs,
            armed: false,
        };
        self.objects.cqs.insert(number, cq);
        Ok(Answer::entry(response.encode())
            .with("cq", number)
            .with("db_offset", response.db_offset))
    }

    pub(super) fn destroy_cq(&mut self, number: u16) -> Outcome {
        let uar = self.cq(number.into())?.uar;
        let uses = |qp: &&Qp| [qp.send_cq.cq, qp.receive_cq.cq].contains(&number);
        if let Some(qp) = self.objects.qps.iter().find(uses) {
            let text = format!("destroy_cq of {number}, which QP {} uses", qp.number);
            return Err(Refusal::busy(Rule::CqBusy, text));
        }
        self.objects.cqs.remove(&number);
        self.remove_doorbells(uar, &[Doorbell::Completion(number)]);
        Ok(Answer::default())
    }

    /// The CQ that a command names, if it exists.
    pub(super) fn cq(&self, number: u32) -> Result<&Cq, Refusal> {
        let known = u16::try_from(number).ok();
        known
            .and_then(|number| self.objects.cqs.get(&number))
            .ok_or_else(|| {
                let text = format!("cq {number} does not exist");
                Refusal::illegal(Rule::CqUnknown, text)
            })
    }

    /// Offset in the doorbell BAR of the doorbell at `place` of a UAR's page;
    /// 0 for no doorbell.
    pub(super) fn doorbell_offset(&self, uar: u16, place: Option<&u64>) -> u32 {
        let offset = place.map_or(0, |place| {
            self.config.doorbell_page(uar).saturating_add(*place)
        });
        u32::try_from(offset).unwrap_or(0)
    }

    pub(super) fn remove_doorbells(&mut self, uar: u16, doorbells: &[Doorbell]) {
        if let Some(uar) = self.objects.uars.get_mut(&uar) {
            doorbells.iter().for_each(|it| uar.page.remove(*it));
        }
    }

    /// Depth and request ids are a program's choice, which a driver may pass on.
    fn check_cq(&self, command: &CreateCq) -> Result<(), Refusal> {
        if let Some(eqn) = command.eq {
            if !self.eq(eqn)?.completions {
                let text = format!("create_cq for event queue {eqn}, which hears of none");
                return Err(Refusal::illegal(Rule::EqCompletions, text));
            }
        }
        if command.is_virtual {
            return Err(Status::IllegalParameter.into());
        }
        if !ENTRY_WORDS.contains(&command.entry_words)
            || (command.with_source_gid && command.entry_words != ENTRY_WORDS[1])
        {
            let text = format!(
                "create_cq with entries of {} words, source GID: {}",
                command.entry_words, command.with_source_gid
            );
            return Err(Refusal::illegal(Rule::CqEntrySize, text));
        }
        if command.sub_cqs != self.config.sub_cqs_per_cq {
            let text = format!(
                "create_cq with {} sub-CQs instead of {}",
                command.sub_cqs, self.config.sub_cqs_per_cq
            );
            return Err(Refusal::illegal(Rule::CqSubCqs, text));
        }
        if u32::from(command.depth) > self.config.max_cq_depth {
            let text = format!(
                "create_cq with depth {} of {}",
                command.depth, self.config.max_cq_depth
            );
            return Err(Refusal::illegal(Rule::CqDepth, text));
        }
        let wide = Capability::Sq64BitReqId;
        if !command.depth.is_power_of_two() || command.wide_req_id && !self.config.has_cap(wide) {
            return Err(Status::IllegalParameter.into());
        }
        Ok(())
    }

    /// The rings of the sub-CQs, which follow each other. Whether they can be
    /// written shows with the first completion: reading them may be forbidden.
    fn sub_cqs(&self, command: &CreateCq) -> Result<Vec<Ring>, Refusal> {
        let size = u16::from(command.entry_words) * 4;
        let bytes = u64::from(size) * u64::from(command.depth);
        let total = bytes.saturating_mul(command.sub_cqs.into());
        self.bus
            .check(self.config.dma_addr_width, command.base, total)?;
        (0..command.sub_cqs)
            .map(|sub| {
                let base = command.base.wrapping_add(u64::from(sub) * bytes);
                Ring::new("CQ", base, command.depth.into(), size.into(), size)
            })
            .collect::<Result<_, _>>()
            .map_err(Refusal::from)
    }
}
