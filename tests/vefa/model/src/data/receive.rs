// SPDX-License-Identifier: GPL-2.0
//! The receive queue: buffers that wait for messages.

use vefa_spec::io::RxDesc;
use vefa_spec::io_constants as io;
use vefa_spec::Wire;

use crate::data::completion::{Arrival, Completion, Side};
use crate::data::descriptor::{address, Buffer};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Operation, QpState, WorkStatus};
use crate::EfaModel;

/// A work request of a receive queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receive {
    pub id: u16,
    pub buffers: Vec<Buffer>,
}

impl Receive {
    /// Bytes that it has room for.
    pub fn room(&self) -> u64 {
        self.buffers.iter().map(|it| u64::from(it.len)).sum()
    }
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// The doorbell of a receive queue: how many descriptors have been written
    /// in all, in 16 bits. More than fit break the QP.
    pub(crate) fn receive_doorbell(&mut self, number: u16, value: u32) {
        let Some(qp) = self.objects.qps.get_mut(number) else {
            return;
        };
        let Some(queue) = qp.receive else {
            return;
        };
        if qp.work.receive.produce(value, queue.entries).is_none() {
            self.break_qp(number);
        } else if qp.state == QpState::Err {
            self.flush_receives(number);
        }
    }

    /// Whether a receive request waits.
    pub(crate) fn has_receive(&self, number: u16) -> bool {
        let qp = self.objects.qps.get(number);
        qp.is_some_and(|qp| qp.receive.is_some() && qp.work.receive.waiting() > 0)
    }

    /// Takes the next receive request.
    ///
    /// # Errors
    /// Where none waits, or the next descriptors are none; the latter breaks
    /// the QP.
    pub(crate) fn take_receive(&mut self, number: u16) -> Result<Receive, WorkStatus> {
        if !self.has_receive(number) {
            return Err(WorkStatus::RemoteRnr);
        }
        self.read_receive(number).ok_or_else(|| {
            self.break_qp(number);
            WorkStatus::RemoteBadDestQpn
        })
    }

    /// A receive request ended.
    pub(crate) fn complete_receive(
        &mut self,
        number: u16,
        id: Option<u16>,
        operation: Operation,
        outcome: Result<Arrival, WorkStatus>,
    ) {
        let (status, arrival) = match outcome {
            Ok(arrival) => (WorkStatus::Ok, arrival),
            Err(status) => (status, Arrival::default()),
        };
        self.complete_work(Completion {
            qp: number,
            operation,
            status,
            side: Side::Receive { id, arrival },
        });
    }

    /// Receive requests that wait end with the status "flushed".
    pub(crate) fn flush_receives(&mut self, number: u16) {
        while self.has_receive(number) {
            let Some(receive) = self.read_receive(number) else {
                return;
            };
            let flushed = Err(WorkStatus::Flushed);
            self.complete_receive(number, Some(receive.id), Operation::Send, flushed);
        }
    }

    /// Reads and takes the descriptors of the next receive request. Those that
    /// make none are dropped, and all that follow them.
    fn read_receive(&mut self, number: u16) -> Option<Receive> {
        let mut receive = Receive {
            id: 0,
            buffers: Vec::new(),
        };
        for ahead in 0..self.config.max_wr_recv_sges.max(1) {
            let Some(desc) = self.read_buffer(number, ahead) else {
                break;
            };
            let bits = |mask: u32| desc.lkey_ctrl & mask != 0;
            if bits(io::RX_DESC_FIRST_MASK) != (ahead == 0) {
                break;
            }
            if ahead == 0 {
                receive.id = desc.req_id;
            }
            receive.buffers.push(Buffer {
                address: address(desc.buf_addr_lo, desc.buf_addr_hi),
                len: desc.length.into(),
                lkey: desc.lkey_ctrl & io::RX_DESC_LKEY_MASK,
            });
            if bits(io::RX_DESC_LAST_MASK) {
                let qp = self.objects.qps.get_mut(number)?;
                qp.work.receive.consume(ahead + 1);
                return Some(receive);
            }
        }
        let qp = self.objects.qps.get_mut(number)?;
        qp.work.receive.consume(qp.work.receive.waiting());
        None
    }

    fn read_buffer(&mut self, number: u16, ahead: u16) -> Option<RxDesc> {
        let qp = self.objects.qps.get(number)?;
        let queue = qp.receive?;
        if ahead >= qp.work.receive.waiting() {
            return None;
        }
        let (slot, _) = qp.work.receive.slot(ahead, queue.entries);
        let offset = u64::from(slot) * RxDesc::SIZE as u64;
        let mut desc = [0; RxDesc::SIZE];
        let address = queue.base.wrapping_add(offset);
        let width = self.config.dma_addr_width;
        match self.bus.read(width, address, &mut desc) {
            Ok(()) => RxDesc::parse(&desc),
            Err(breach) => {
                self.journal.breach(breach);
                None
            }
        }
    }
}
