// SPDX-License-Identifier: GPL-2.0
//! The send queue: from the doorbell to a work request under way.

use vefa_spec::io::WIDE_TX_WQE_SIZE;

use crate::data::completion::{Completion, Side};
use crate::data::descriptor::{parse, Flawed, Form, WorkRequest};
use crate::data::faults::WorkEffects;
use crate::data::message::{Message, Wait};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, Operation, QpState, QpType, WorkStatus};
use crate::objects::{Qp, SendQueue};
use crate::EfaModel;

/// Bytes of the unit of `max_tx_batch`.
const BATCH_UNIT: u32 = 64;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// The doorbell of a send queue: how many descriptors have been written in
    /// all, in 16 bits. More than fit, or than may come at once, break the QP.
    pub(crate) fn send_doorbell(&mut self, number: u16, value: u32) {
        let Some(qp) = self.objects.qps.get_mut(number) else {
            return;
        };
        let Some(queue) = qp.send else {
            return;
        };
        let new = qp.work.send.produce(value, queue.entries);
        let most = most_at_once(&self.config, queue);
        if new.is_none_or(|new| new > most) {
            self.break_qp(number);
            return;
        }
        self.fetch(number);
    }

    /// Takes the descriptors that wait, where the QP's state allows it.
    pub(crate) fn fetch(&mut self, number: u16) {
        while let Some(outcome) = self.next_request(number) {
            match outcome {
                Ok(request) => self.start(number, request),
                Err(flawed) => {
                    self.complete_send(number, flawed, true);
                    if flawed.status == WorkStatus::QpInternalError {
                        self.break_qp(number);
                    }
                }
            }
        }
    }

    /// What is outstanding, and what waits in both queues, ends with the status
    /// "flushed".
    pub(crate) fn flush(&mut self, number: u16) {
        while let Some((_, message)) = self
            .objects
            .qps
            .get_mut(number)
            .and_then(|qp| qp.work.messages.pop_first())
        {
            self.complete_request(number, &message.request, WorkStatus::Flushed);
        }
        while let Some(outcome) = self.read_descriptor(number) {
            let flawed = match outcome {
                Ok(request) => Flawed {
                    id: request.id,
                    operation: request.operation,
                    status: WorkStatus::Flushed,
                },
                Err(flawed) => Flawed {
                    status: WorkStatus::Flushed,
                    ..flawed
                },
            };
            self.complete_send(number, flawed, true);
        }
        self.flush_receives(number);
    }

    /// The QP is of no more use: user space gave it what nobody can mean.
    pub(crate) fn break_qp(&mut self, number: u16) {
        if let Some(qp) = self.objects.qps.get_mut(number) {
            qp.state = QpState::Err;
            self.flush(number);
        }
    }

    /// A work request under way ended.
    pub(crate) fn end_message(&mut self, number: u16, id: u64, status: WorkStatus) {
        let qp = self.objects.qps.get_mut(number);
        if let Some(message) = qp.and_then(|qp| qp.work.messages.remove(&id)) {
            self.complete_request(number, &message.request, status);
        }
    }

    fn complete_request(&mut self, number: u16, request: &WorkRequest, status: WorkStatus) {
        let len = request.local.len();
        let good = u64::from(status == WorkStatus::Ok);
        self.count(number, |traffic| match request.operation {
            Operation::Send => {
                traffic.messages.send_wrs += good;
                traffic.messages.send_bytes += good * len;
            }
            Operation::Read => {
                traffic.rdma_read.read_wrs += good;
                traffic.rdma_read.read_bytes += good * len;
                traffic.rdma_read.read_wr_err += 1 - good;
            }
            Operation::Write => {
                traffic.rdma_write.write_wrs += good;
                traffic.rdma_write.write_bytes += good * len;
                traffic.rdma_write.write_wr_err += 1 - good;
            }
        });
        let ended = Flawed {
            id: request.id,
            operation: request.operation,
            status,
        };
        self.complete_send(number, ended, request.signaled);
    }

    fn complete_send(&mut self, number: u16, ended: Flawed, signaled: bool) {
        self.complete_work(Completion {
            qp: number,
            operation: ended.operation,
            status: ended.status,
            side: Side::Send {
                id: ended.id,
                signaled,
            },
        });
    }

    /// The next descriptor of a QP that works; those of a QP in the error state
    /// are flushed.
    fn next_request(&mut self, number: u16) -> Option<Result<WorkRequest, Flawed>> {
        match self.objects.qps.get(number)?.state {
            QpState::Rts => self.read_descriptor(number),
            QpState::Err => {
                self.flush(number);
                None
            }
            _ => None,
        }
    }

    fn read_descriptor(&mut self, number: u16) -> Option<Result<WorkRequest, Flawed>> {
        let max_buffers = [
            self.config.max_wr_send_sges.min(2),
            self.config.max_wr_rdma_sges.min(1),
        ];
        let qp = self.objects.qps.get_mut(number)?;
        let queue = qp.send?;
        if qp.work.send.waiting() == 0 {
            return None;
        }
        let (slot, phase) = qp.work.send.slot(0, queue.entries);
        qp.work.send.consume(1);
        let size = queue.entry_size();
        let offset = u64::from(slot) * u64::from(size);
        let mut entry = [0; WIDE_TX_WQE_SIZE];
        let entry = entry.get_mut(..size as usize)?;
        self.llq.read(queue.offset.saturating_add(offset), entry);
        let form = Form {
            phase,
            wide_id: qp.wide_req_id,
            max_buffers,
        };
        Some(parse(entry, form))
    }

    fn start(&mut self, number: u16, request: WorkRequest) {
        let effects = self.data.faults.hit(request.operation, number);
        match self.check(number, &request, effects) {
            Ok(message) => {
                self.data.last_message += 1;
                let id = self.data.last_message;
                let due = message.due;
                if let Some(qp) = self.objects.qps.get_mut(number) {
                    qp.work.messages.insert(id, message);
                }
                match due {
                    Some(due) => self.data.set_timer(due, number, id),
                    None => self.advance(number, id),
                }
            }
            Err(status) => self.complete_request(number, &request, status),
        }
    }

    /// What can be known before anything is sent.
    fn check(
        &self,
        number: u16,
        request: &WorkRequest,
        effects: WorkEffects,
    ) -> Result<Message, WorkStatus> {
        let qp = self.objects.qps.get(number);
        let qp = qp.ok_or(WorkStatus::QpInternalError)?;
        if let Some(status) = effects.status {
            return Err(status);
        }
        self.check_operation(qp, request.operation)?;
        let ah = self.objects.ahs.get(request.ah);
        let ah = ah
            .filter(|ah| ah.pd == qp.pd)
            .ok_or(WorkStatus::InvalidAh)?;
        let most = match request.operation {
            Operation::Send => self.config.mtu,
            Operation::Read | Operation::Write => self.config.max_rdma_size,
        };
        if request.local.len() > u64::from(most) {
            return Err(WorkStatus::BadLength);
        }
        let writes = request.operation == Operation::Read;
        self.check_local(qp.pd, &request.local, writes)?;
        let mut message = Message::new(request.clone(), ah.gid, self.config.mtu);
        message.lost = effects.lose;
        if let Some(delay) = effects.delay {
            message.wait = Wait::Start;
            message.due = Some(self.journal.now.saturating_add(delay));
        }
        Ok(message)
    }

    fn check_operation(&self, qp: &Qp, operation: Operation) -> Result<(), WorkStatus> {
        let supported = match operation {
            Operation::Send => true,
            Operation::Read => self.config.has_cap(Capability::RdmaRead),
            Operation::Write => self.config.has_cap(Capability::RdmaWrite),
        };
        if supported && (operation == Operation::Send || qp.kind == QpType::Srd) {
            Ok(())
        } else {
            Err(WorkStatus::UnsupportedOp)
        }
    }
}

/// Descriptors that one doorbell may announce.
fn most_at_once(config: &crate::Config, queue: SendQueue) -> u32 {
    let batch = match config.max_tx_batch {
        0 => u32::MAX,
        units => u32::from(units) * BATCH_UNIT / queue.entry_size(),
    };
    // Such a device does not take a whole ring at once.
    let whole = u32::from(config.min_sq_depth > 0);
    batch.min(queue.entries.saturating_sub(whole))
}
