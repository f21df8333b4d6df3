// SPDX-License-Identifier: GPL-2.0
//! The sender's side: messages go out in packets, and end when every packet is
//! answered. SRD keeps no order: each message ends by itself.

use std::time::Duration;

use crate::data::message::{Message, Wait};
use crate::data::packet::{Body, Packet, Part, Request};
use crate::data::Outgoing;
use crate::gid::Gid;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Operation, QpType, WorkStatus};
use crate::EfaModel;

/// Retries without end.
const RETRY_FOREVER: u8 = 7;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Queues the packets of a message that may go out now.
    pub(crate) fn advance(&mut self, number: u16, id: u64) {
        let Some(message) = self.message(number, id) else {
            return;
        };
        let parts: Vec<_> = std::iter::from_fn(|| message.start_next()).collect();
        self.queue_parts(number, id, parts);
    }

    /// The packet of a part, which goes out now; none where the message ended
    /// meanwhile, or ends now.
    pub(crate) fn make_packet(&mut self, number: u16, part: Part) -> Option<Packet> {
        let again = self.message(number, part.message)?.sent(part.index)?;
        let qp = self.objects.qps.get_mut(number)?;
        let (pd, kind) = (qp.pd, qp.kind);
        // Out of its place, so that it can be read while memory is.
        let message = qp.work.messages.remove(&part.message)?;
        let body = self.packet_body(pd, kind, &message, part);
        let (lost, destination) = (message.lost, message.destination);
        let destination_qp = message.request.destination_qp;
        if let Some(qp) = self.objects.qps.get_mut(number) {
            qp.work.messages.insert(part.message, message);
        }
        let body = match body {
            Ok(body) => body,
            Err(status) => {
                self.end_message(number, part.message, status);
                return None;
            }
        };
        let packet = Packet {
            source: self.config.gid,
            destination,
            source_qp: number,
            destination_qp,
            body,
        };
        self.count_sent(number, packet.payload() as u64, again > 0);
        match kind {
            QpType::Ud => self.end_message(number, part.message, WorkStatus::Ok),
            QpType::Srd => self.await_answer(number, part.message),
        }
        (!lost).then_some(packet)
    }

    /// The answer to a part came.
    pub(crate) fn answered(
        &mut self,
        packet: &Packet,
        part: Part,
        outcome: Result<&[u8], WorkStatus>,
    ) {
        let number = packet.destination_qp;
        let Some(message) = self.message(number, part.message) else {
            return;
        };
        let asked = (message.destination, message.request.destination_qp);
        if asked != (packet.source, packet.source_qp) || !message.waits_for(part.index) {
            return;
        }
        self.data.responsive.insert(packet.source);
        match outcome {
            Ok(data) => self.part_done(number, part, data),
            Err(WorkStatus::RemoteRnr) => self.receiver_not_ready(number, part.message),
            Err(status) => self.end_message(number, part.message, status),
        }
    }

    /// Waiting ended for the messages whose time has come.
    pub(crate) fn run_timers(&mut self) {
        let now = self.journal.now;
        while let Some((number, id)) = self.data.take_timer(now) {
            let Some(message) = self.message(number, id) else {
                continue;
            };
            if message.due.is_none_or(|due| due > now) {
                continue;
            }
            message.due = None;
            match message.wait {
                Wait::Start => {
                    message.wait = Wait::Answer;
                    self.advance(number, id);
                }
                Wait::Receiver => {
                    message.wait = Wait::Answer;
                    self.send_again(number, id);
                }
                Wait::Answer => self.answer_overdue(number, id),
            }
        }
    }

    /// Work requests that use an address handle end with its destruction.
    pub(crate) fn end_messages_of(&mut self, ah: u16) {
        let qps = self.objects.qps.iter();
        let of_ah: Vec<_> = qps
            .flat_map(|qp| {
                let messages = qp.work.messages.iter();
                let of_ah = messages.filter(|(_, message)| message.request.ah == ah);
                of_ah.map(|(id, _)| (qp.number, *id))
            })
            .collect();
        for (number, id) in of_ah {
            self.end_message(number, id, WorkStatus::InvalidAh);
        }
    }

    fn message(&mut self, number: u16, id: u64) -> Option<&mut Message> {
        let qp = self.objects.qps.get_mut(number)?;
        qp.work.messages.get_mut(&id)
    }

    fn queue_parts(&mut self, qp: u16, message: u64, parts: Vec<u32>) {
        let parts = parts.into_iter().map(|index| Outgoing::Part {
            qp,
            part: Part { message, index },
        });
        self.data.outgoing.extend(parts);
    }

    fn packet_body(
        &mut self,
        pd: u16,
        kind: QpType,
        message: &Message,
        part: Part,
    ) -> Result<Body, WorkStatus> {
        let work = &message.request;
        let (qkey, immediate) = (work.qkey, work.immediate);
        let (offset, len) = message.range(part.index);
        let last = message.is_last(part.index);
        let request = match (work.operation, work.remote) {
            (Operation::Read, Some(remote)) => Request::Read {
                remote,
                offset,
                len,
                last,
            },
            (Operation::Write, Some(remote)) => Request::Write {
                remote,
                offset,
                data: self.gather(pd, &work.local, offset, len)?,
                last,
                immediate: immediate.filter(|_| last),
            },
            _ => {
                let data = self.gather(pd, &work.local, offset, len)?;
                if kind == QpType::Ud {
                    return Ok(Body::Datagram {
                        qkey,
                        immediate,
                        data,
                    });
                }
                Request::Send { immediate, data }
            }
        };
        Ok(Body::Request {
            part,
            qkey,
            request,
        })
    }

    fn await_answer(&mut self, number: u16, id: u64) {
        let wait = Duration::from_millis(self.config.retransmit_ms);
        self.wait_for(number, id, Wait::Answer, wait);
    }

    fn wait_for(&mut self, number: u16, id: u64, wait: Wait, time: Duration) {
        let due = self.journal.now.saturating_add(time);
        let Some(message) = self.message(number, id) else {
            return;
        };
        message.wait = wait;
        message.due = Some(due);
        self.data.set_timer(due, number, id);
    }

    fn part_done(&mut self, number: u16, part: Part, data: &[u8]) {
        let Some(qp) = self.objects.qps.get_mut(number) else {
            return;
        };
        let pd = qp.pd;
        let Some(message) = qp.work.messages.get_mut(&part.message) else {
            return;
        };
        message.answered(part.index);
        let (offset, len) = message.range(part.index);
        let local =
            (message.request.operation == Operation::Read).then(|| message.request.local.clone());
        let recovered = std::mem::take(&mut message.timeouts) > 0;
        let (done, waiting) = (message.is_done(), message.is_waiting());
        if recovered {
            self.count(number, |it| it.network.impaired_remote_conn_events += 1);
        }
        if let Some(local) = local {
            let stored = if data.len() == len as usize {
                self.count_received(number, data.len() as u64);
                self.scatter(pd, local.buffers(), offset, data)
            } else {
                Err(WorkStatus::RemoteBadStatus)
            };
            if let Err(status) = stored {
                self.end_message(number, part.message, status);
                return;
            }
        }
        if done {
            self.end_message(number, part.message, WorkStatus::Ok);
            return;
        }
        if waiting {
            self.await_answer(number, part.message);
        }
        self.advance(number, part.message);
    }

    fn receiver_not_ready(&mut self, number: u16, id: u64) {
        let delay = Duration::from_millis(self.config.rnr_delay_ms);
        let Some(qp) = self.objects.qps.get_mut(number) else {
            return;
        };
        let retries = qp.rnr_retry;
        let Some(message) = qp.work.messages.get_mut(&id) else {
            return;
        };
        if retries != RETRY_FOREVER && message.receiver_retries >= u32::from(retries) {
            self.end_message(number, id, WorkStatus::RemoteRnr);
            return;
        }
        message.receiver_retries = message.receiver_retries.saturating_add(1);
        self.wait_for(number, id, Wait::Receiver, delay);
    }

    fn answer_overdue(&mut self, number: u16, id: u64) {
        let limit = self.config.retransmit_limit;
        self.count(number, |it| it.network.retrans_timeout_events += 1);
        let Some(message) = self.message(number, id) else {
            return;
        };
        message.timeouts = message.timeouts.saturating_add(1);
        if message.timeouts <= limit {
            self.send_again(number, id);
            return;
        }
        let destination = message.destination;
        let status = self.no_answer_from(destination);
        self.count(number, |it| it.network.unresponsive_remote_events += 1);
        self.end_message(number, id, status);
    }

    fn no_answer_from(&self, gid: Gid) -> WorkStatus {
        if self.data.responsive.contains(&gid) {
            WorkStatus::UnresponsiveRemote
        } else {
            WorkStatus::UnreachableRemote
        }
    }

    fn send_again(&mut self, number: u16, id: u64) {
        let Some(message) = self.message(number, id) else {
            return;
        };
        let parts = message.overdue();
        self.queue_parts(number, id, parts);
    }
}
