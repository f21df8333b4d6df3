// SPDX-License-Identifier: GPL-2.0
//! The receiver's side: what arrives is put where it belongs, and answered.

use crate::data::completion::Arrival;
use crate::data::descriptor::Remote;
use crate::data::packet::{Body, Packet, Part, Request};
use crate::data::Outgoing;
use crate::gid::Gid;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, Operation, QpState, QpType, WorkStatus};
use crate::EfaModel;

use vefa_spec::constants as c;

/// Bytes before a datagram in its receive buffer: the space of a global
/// routing header.
const HEADER: usize = 40;

/// How the header of a datagram starts: version 6; and what follows the length.
const HEADER_VERSION: u8 = 0x60;
const HEADER_NEXT: [u8; 2] = [0x1b, 0xff];

/// The QP that a packet reached.
#[derive(Debug, Clone, Copy)]
struct Receiver {
    number: u16,
    pd: u16,
    unsolicited: bool,
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// A datagram arrived. What cannot be received is dropped.
    pub(crate) fn receive_datagram(&mut self, packet: &Packet) {
        let Body::Datagram {
            qkey,
            immediate,
            data,
        } = &packet.body
        else {
            return;
        };
        let Ok(receiver) = self.receiver(packet, QpType::Ud, *qkey) else {
            return;
        };
        let mut message = header(packet, data.len());
        message.extend_from_slice(data);
        let immediate = *immediate;
        match self.fill_receive(receiver, packet, &message, immediate) {
            Ok(()) => self.count_received(receiver.number, data.len() as u64),
            Err(_) => self.count(receiver.number, |it| it.basic.rx_drops += 1),
        }
    }

    /// A part of an SRD message arrived: it is carried out once, and answered.
    pub(crate) fn receive_request(&mut self, packet: Packet) {
        let Body::Request {
            part,
            qkey,
            request,
        } = &packet.body
        else {
            return;
        };
        if matches!(request, Request::Read { .. }) {
            self.data.outgoing.push_back(Outgoing::Read(packet));
            return;
        }
        let key = (
            packet.source,
            packet.source_qp,
            packet.destination_qp,
            *part,
        );
        let outcome = self.data.carried_out.get(&key).unwrap_or_else(|| {
            let outcome = self.carry_out(&packet, *qkey, request);
            if outcome != Err(WorkStatus::RemoteRnr) {
                self.data.carried_out.insert(key, outcome);
            }
            outcome
        });
        let answer = self.answer(&packet, *part, outcome.map(|()| Vec::new()));
        self.data.outgoing.push_back(Outgoing::Packet(answer));
    }

    /// The answer to a request to read.
    pub(crate) fn answer_read(&mut self, packet: &Packet) -> Option<Packet> {
        let Body::Request {
            part,
            qkey,
            request,
        } = &packet.body
        else {
            return None;
        };
        let outcome = self.carry_out_read(packet, *qkey, request);
        Some(self.answer(packet, *part, outcome))
    }

    fn answer(&self, packet: &Packet, part: Part, outcome: Result<Vec<u8>, WorkStatus>) -> Packet {
        Packet {
            source: self.config.gid,
            destination: packet.source,
            source_qp: packet.destination_qp,
            destination_qp: packet.source_qp,
            body: Body::Answer { part, outcome },
        }
    }

    /// The QP that a packet is for, if it may have it.
    fn receiver(
        &mut self,
        packet: &Packet,
        kind: QpType,
        qkey: u32,
    ) -> Result<Receiver, WorkStatus> {
        let number = packet.destination_qp;
        let receives = [QpState::Rtr, QpState::Rts, QpState::Sqd, QpState::Sqe];
        let qp = self.objects.qps.get(number);
        let qp = qp.filter(|qp| qp.kind == kind && receives.contains(&qp.state));
        let Some(qp) = qp else {
            self.data.traffic.basic.rx_drops += 1;
            return Err(WorkStatus::RemoteBadDestQpn);
        };
        let receiver = Receiver {
            number,
            pd: qp.pd,
            unsolicited: qp.unsolicited_write_recv,
        };
        if qp.qkey != qkey {
            self.count(number, |it| {
                it.basic.qkey_viol += 1;
                it.basic.rx_drops += 1;
            });
            return Err(WorkStatus::RemoteBadDestQpn);
        }
        Ok(receiver)
    }

    fn carry_out(
        &mut self,
        packet: &Packet,
        qkey: u32,
        request: &Request,
    ) -> Result<(), WorkStatus> {
        let receiver = self.receiver(packet, QpType::Srd, qkey)?;
        let number = receiver.number;
        let outcome = match request {
            Request::Send { immediate, data } => {
                self.fill_receive(receiver, packet, data, *immediate)
            }
            Request::Write { .. } => self.carry_out_write(receiver, packet, request),
            Request::Read { .. } => Err(WorkStatus::RemoteBadStatus),
        };
        if outcome == Err(WorkStatus::RemoteRnr) {
            self.count(number, |it| it.basic.rx_drops += 1);
        } else {
            self.count_received(number, packet.payload() as u64);
        }
        outcome
    }

    fn carry_out_write(
        &mut self,
        receiver: Receiver,
        packet: &Packet,
        request: &Request,
    ) -> Result<(), WorkStatus> {
        let Request::Write {
            remote,
            offset,
            data,
            last,
            immediate,
        } = request
        else {
            return Err(WorkStatus::RemoteBadStatus);
        };
        let number = receiver.number;
        self.check_rdma(receiver, packet.source, Capability::RdmaWrite, request)?;
        let takes_buffer = immediate.is_some() && !receiver.unsolicited;
        if takes_buffer && !self.has_receive(number) {
            return Err(WorkStatus::RemoteRnr);
        }
        self.remote_write(receiver.pd, *remote, *offset, data)?;
        let len = data.len() as u64;
        self.count(number, |it| it.rdma_write.write_recv_bytes += len);
        if *last {
            let event = c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_WRITE_COMP_MASK;
            self.count_event(number, event);
        }
        match immediate {
            Some(immediate) => self.write_arrived(receiver, packet, *remote, *immediate),
            None => Ok(()),
        }
    }

    fn carry_out_read(
        &mut self,
        packet: &Packet,
        qkey: u32,
        request: &Request,
    ) -> Result<Vec<u8>, WorkStatus> {
        let Request::Read {
            remote,
            offset,
            len,
            last,
        } = request
        else {
            return Err(WorkStatus::RemoteBadStatus);
        };
        let receiver = self.receiver(packet, QpType::Srd, qkey)?;
        let number = receiver.number;
        self.count_received(number, 0);
        self.check_rdma(receiver, packet.source, Capability::RdmaRead, request)?;
        let data = self.remote_read(receiver.pd, *remote, *offset, *len)?;
        let len = u64::from(*len);
        self.count_sent(number, len, false);
        self.count(number, |it| it.rdma_read.read_resp_bytes += len);
        if *last {
            let event = c::EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_READ_COMP_MASK;
            self.count_event(number, event);
        }
        Ok(data)
    }

    /// RDMA needs a device that can do it, and an address handle for the peer.
    fn check_rdma(
        &self,
        receiver: Receiver,
        peer: Gid,
        needed: Capability,
        request: &Request,
    ) -> Result<(), WorkStatus> {
        if !request.is_in_range() {
            return Err(WorkStatus::RemoteBadStatus);
        }
        if !self.config.has_cap(needed) {
            return Err(WorkStatus::RemoteFeatureMismatch);
        }
        match self.sender(receiver.pd, peer) {
            (_, Some(_)) => Ok(()),
            (_, None) => Err(WorkStatus::RemoteUnknownPeer),
        }
    }

    /// Puts a message into the next receive buffer.
    fn fill_receive(
        &mut self,
        receiver: Receiver,
        packet: &Packet,
        message: &[u8],
        immediate: Option<u32>,
    ) -> Result<(), WorkStatus> {
        let number = receiver.number;
        let receive = self.take_receive(number)?;
        let (mine, theirs) = if message.len() as u64 > receive.room() {
            (Err(WorkStatus::BadLength), Err(WorkStatus::RemoteBadLength))
        } else {
            match self.scatter(receiver.pd, &receive.buffers, 0, message) {
                Ok(()) => (Ok(()), Ok(())),
                Err(status) => (Err(status), Err(WorkStatus::RemoteBadStatus)),
            }
        };
        if mine.is_ok() {
            let len = packet.payload() as u64;
            self.count(number, |it| {
                it.messages.recv_wrs += 1;
                it.messages.recv_bytes += len;
            });
        }
        let arrival = Arrival {
            len: u32::try_from(message.len()).unwrap_or(u32::MAX),
            immediate,
            source_qp: packet.source_qp,
            source: Some(self.sender(receiver.pd, packet.source)),
        };
        let id = Some(receive.id);
        self.complete_receive(number, id, Operation::Send, mine.map(|()| arrival));
        theirs
    }

    /// A write with immediate data is complete.
    fn write_arrived(
        &mut self,
        receiver: Receiver,
        packet: &Packet,
        remote: Remote,
        immediate: u32,
    ) -> Result<(), WorkStatus> {
        let id = if receiver.unsolicited {
            None
        } else {
            Some(self.take_receive(receiver.number)?.id)
        };
        let arrival = Arrival {
            len: u32::try_from(remote.len).unwrap_or(u32::MAX),
            immediate: Some(immediate),
            source_qp: packet.source_qp,
            source: Some(self.sender(receiver.pd, packet.source)),
        };
        self.complete_receive(receiver.number, id, Operation::Write, Ok(arrival));
        Ok(())
    }
}

/// The header that stands before a datagram of `len` bytes.
fn header(packet: &Packet, len: usize) -> Vec<u8> {
    let mut header = vec![HEADER_VERSION, 0, 0, 0];
    header.extend(u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes());
    header.extend(HEADER_NEXT);
    header.extend(packet.source.0);
    header.extend(packet.destination.0);
    debug_assert_eq!(header.len(), HEADER);
    header
}
