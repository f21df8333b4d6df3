// SPDX-License-Identifier: GPL-2.0
//! Queue pairs: creation, query, destruction.

use vefa_spec::commands::{CreateQpResp, QueryQpResp};

use super::{Answer, Outcome, Refusal};
use crate::command::CreateQp;
use crate::data::doorbell::Doorbell;
use crate::data::work::Work;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, QpState, QpType, Status};
use crate::objects::{Qp, ReceiveQueue, SendQueue, SubCq};
use crate::rules::Rule;
use crate::EfaModel;

/// Bytes of a send descriptor, and of a wide one.
const SEND_DESCRIPTOR: [u32; 2] = [64, 128];
/// Bytes of a receive descriptor.
const RECEIVE_DESCRIPTOR: u32 = 16;
/// As many retries as it takes.
const RETRY_FOREVER: u8 = 7;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn create_qp(&mut self, command: &CreateQp) -> Outcome {
        let kind = self.check_qp(command)?;
        let send = self.send_queue(command)?;
        let receive = self.receive_queue(command)?;
        let (number, handle) = self
            .objects
            .qps
            .next(self.config.max_qp)
            .ok_or(Status::ResourceAllocationFailure)?;
        let qp = Qp {
            number,
            handle,
            pd: command.pd,
            uar: command.uar,
            kind,
            state: QpState::Reset,
            qkey: 0,
            sq_psn: 0,
            rnr_retry: match kind {
                QpType::Srd => RETRY_FOREVER,
                QpType::Ud => 0,
            },
            notify_drained: false,
            sl: command.sl,
            send,
            receive,
            send_cq: self.sub_cq(command.send_cq, number),
            receive_cq: self.sub_cq(command.recv_cq, number.wrapping_add(1)),
            unsolicited_write_recv: command.unsolicited_write_recv,
            wide_req_id: command.wide_req_id,
            counters: Vec::new(),
            work: Work::default(),
        };
        self.place_qp(qp)
    }

    /// Gives a QP its doorbells and its LLQ memory.
    fn place_qp(&mut self, mut qp: Qp) -> Outcome {
        let llq_size = self.config.llq_size();
        if let Some(queue) = &mut qp.send {
            let bytes = u64::from(queue.entries) * u64::from(queue.entry_size());
            let offset = u64::from(self.config.llq_page_offset);
            let place = self.objects.llq.alloc(llq_size, offset, bytes);
            queue.offset = place.ok_or(Status::ResourceAllocationFailure)?;
        }
        let Some(places) = self.uar(qp.uar)?.add(&doorbells(&qp)) else {
            self.free_llq(&qp);
            return Err(Status::ResourceAllocationFailure.into());
        };
        let response = self.create_qp_response(&qp, &places);
        let answer = Answer::entry(response.encode())
            .with("qp", qp.number)
            .with("qp_handle", qp.handle)
            .with("sq_db_offset", response.sq_db_offset)
            .with("rq_db_offset", response.rq_db_offset)
            .with("llq_offset", response.llq_descriptors_offset);
        self.objects.qps.insert(qp);
        Ok(answer)
    }

    fn create_qp_response(&self, qp: &Qp, doorbells: &[u64]) -> CreateQpResp {
        let mut doorbells = doorbells.iter();
        let send_doorbell = qp.send.and_then(|_| doorbells.next());
        let receive_doorbell = qp.receive.and_then(|_| doorbells.next());
        let llq_offset = qp.send.map_or(0, |queue| queue.offset);
        CreateQpResp {
            qp_handle: qp.handle,
            qp_num: qp.number,
            send_sub_cq_idx: qp.send_cq.sub,
            recv_sub_cq_idx: qp.receive_cq.sub,
            sq_db_offset: self.doorbell_offset(qp.uar, send_doorbell),
            rq_db_offset: self.doorbell_offset(qp.uar, receive_doorbell),
            llq_descriptors_offset: u32::try_from(llq_offset).unwrap_or(0),
            ..CreateQpResp::default()
        }
    }

    pub(super) fn query_qp(&mut self, handle: u32) -> Outcome {
        let qp = self.qp(handle)?;
        let response = QueryQpResp {
            qp_state: qp.state.number(),
            qkey: qp.qkey,
            sq_psn: qp.sq_psn,
            sq_draining: qp.is_draining().into(),
            rnr_retry: qp.rnr_retry,
            ..QueryQpResp::default()
        };
        let answer = Answer::entry(response.encode()).with("qp", qp.number);
        Ok(answer.with("state", qp.state.name()))
    }

    pub(super) fn destroy_qp(&mut self, handle: u32) -> Outcome {
        let number = self.qp(handle)?.number;
        self.qp_destroyed(number);
        if let Some(qp) = self.objects.qps.remove(number) {
            self.remove_doorbells(qp.uar, &doorbells(&qp));
            self.free_llq(&qp);
        }
        Ok(Answer::default().with("qp", number))
    }

    /// The QP that a command names, if it exists.
    pub(super) fn qp(&mut self, handle: u32) -> Result<&mut Qp, Refusal> {
        self.objects.qps.by_handle(handle).ok_or_else(|| {
            let text = format!("there is no QP with handle {handle:#x}");
            Refusal::illegal(Rule::QpUnknown, text)
        })
    }

    fn free_llq(&mut self, qp: &Qp) {
        if let Some(queue) = qp.send {
            self.objects.llq.free(queue.offset);
        }
    }

    /// QPs are spread over the sub-CQs.
    fn sub_cq(&self, cq: u32, number: u16) -> SubCq {
        let sub_cqs = self.cq(cq).map_or(1, |cq| cq.sub_cqs.len().max(1));
        SubCq {
            cq: cq as u16,
            sub: (usize::from(number) % sub_cqs) as u16,
        }
    }

    /// All but the queues. Rings and service level are a program's choice,
    /// which a driver may pass on.
    fn check_qp(&mut self, command: &CreateQp) -> Result<QpType, Refusal> {
        self.pd(command.pd)?;
        self.uar(command.uar)?;
        self.cq(command.recv_cq)?;
        let wide_cq = self.cq(command.send_cq)?.wide_req_id;
        let kind = QpType::from_number(command.kind).ok_or_else(|| {
            let text = format!("create_qp of type {}", command.kind);
            Refusal::illegal(Rule::QpType, text)
        })?;
        if command.unsolicited_write_recv {
            let what = "create_qp with unsolicited write receive";
            self.needs(Capability::UnsolicitedWriteRecv, what)?;
        }
        if command.wide_req_id {
            self.needs(Capability::Sq64BitReqId, "create_qp with 64-bit ids")?;
        }
        if command.is_virtual
            || (command.wide_req_id && !wide_cq)
            || !self.config.service_levels.contains(&command.sl)
        {
            return Err(Status::IllegalParameter.into());
        }
        Ok(kind)
    }

    /// The send queue that a command asks for, without its place; none where
    /// its ring has no bytes.
    fn send_queue(&self, command: &CreateQp) -> Result<Option<SendQueue>, Refusal> {
        let asked = command.send;
        let config = &self.config;
        if asked.depth > config.max_sq_depth || asked.bytes > config.max_llq_size {
            let text = format!(
                "create_qp with {} send requests of {} in {} bytes of {}",
                asked.depth, config.max_sq_depth, asked.bytes, config.max_llq_size
            );
            return Err(Refusal::illegal(Rule::QpDepth, text));
        }
        if asked.bytes == 0 && asked.depth == 0 {
            return Ok(None);
        }
        let entries = asked.depth.max(config.min_sq_depth.into());
        let entries = entries.next_power_of_two();
        let size = SEND_DESCRIPTOR
            .into_iter()
            .find(|size| entries.checked_mul(*size) == Some(asked.bytes))
            .ok_or(Status::IllegalParameter)?;
        Ok(Some(SendQueue {
            offset: 0,
            entries,
            wide: size == SEND_DESCRIPTOR[1],
            depth: asked.depth,
        }))
    }

    /// The receive queue that a command asks for; none where its ring has no bytes.
    fn receive_queue(&self, command: &CreateQp) -> Result<Option<ReceiveQueue>, Refusal> {
        let asked = command.receive;
        if asked.depth > self.config.max_rq_depth {
            let text = format!(
                "create_qp with {} receive requests of {}",
                asked.depth, self.config.max_rq_depth
            );
            return Err(Refusal::illegal(Rule::QpDepth, text));
        }
        if asked.bytes == 0 && asked.depth == 0 {
            return Ok(None);
        }
        let entries = asked.bytes / RECEIVE_DESCRIPTOR;
        if asked.bytes % RECEIVE_DESCRIPTOR != 0
            || !entries.is_power_of_two()
            || entries < asked.depth
        {
            return Err(Status::IllegalParameter.into());
        }
        let last = command.rq_base.wrapping_add(u64::from(asked.bytes - 1));
        for at in [command.rq_base, last] {
            self.bus.read(self.config.dma_addr_width, at, &mut [0])?;
        }
        Ok(Some(ReceiveQueue {
            base: command.rq_base,
            entries,
            depth: asked.depth,
        }))
    }
}

/// The doorbells of a QP: one for each of its queues, the send queue's first.
fn doorbells(qp: &Qp) -> Vec<Doorbell> {
    let send = qp.send.map(|_| Doorbell::Send(qp.number));
    let receive = qp.receive.map(|_| Doorbell::Receive(qp.number));
    send.into_iter().chain(receive).collect()
}
