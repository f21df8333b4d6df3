// SPDX-License-Identifier: GPL-2.0
//! A device with a driver and a program on it: rings, registered memory,
//! descriptors and completions as user space writes and reads them.

use vefa_model::names::{Opcode, QpState, QpType, WorkStatus};
use vefa_model::{Config, Gid, GuestMemory};
use vefa_spec::commands::{
    CreateCqCmd, CreateQpCmd, CreateQpResp, ModifyQpCmd, RegMrCmd, RegMrResp,
};
use vefa_spec::io::{CdescCommon, RemoteMemAddr, RxCdesc, RxDesc, TxBufDesc, TxCdesc};
use vefa_spec::Wire;

use super::wr::Wr;
use crate::driver::Driver;
use crate::verbs::{address, cq_command, qp_command, to_state};

/// Memory of the program: one page of 2 MiB, which it knows at another address.
const PAGE: u64 = 0x20_0000;
pub const DATA: u64 = 0x7f00_0020_0000;
pub const DATA_LEN: u64 = 0x20_0000;
/// Rings of CQs and receive queues, 16 KiB each.
const RINGS: u64 = 0x40_0000;
const RING_LEN: u64 = 0x4000;

pub const QKEY: u32 = 0x1111_1111;
const CQ_DEPTH: u16 = 256;

/// A queue pair as a program has it.
#[derive(Debug, Clone)]
pub struct Qp {
    pub number: u16,
    pub handle: u32,
    pub created: CreateQpResp,
    wide: bool,
    ring: u64,
    sent: u16,
    posted: u16,
}

/// A completion queue as a program has it.
#[derive(Debug, Clone)]
pub struct Cq {
    pub number: u16,
    doorbell: u64,
    ring: u64,
    entry_size: u64,
    pub consumed: u16,
}

impl Qp {
    /// Send descriptors written so far.
    pub fn sent(&self) -> u16 {
        self.sent
    }
}

impl Cq {
    /// Offset in the doorbell BAR.
    pub fn doorbell(&self) -> u64 {
        self.doorbell
    }

    /// One of its sub-CQs, to be read as a CQ.
    pub fn at_sub_cq(&self, sub: u16) -> Self {
        let sub_len = u64::from(CQ_DEPTH) * self.entry_size;
        Self {
            ring: self.ring + u64::from(sub) * sub_len,
            ..self.clone()
        }
    }
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub id: u64,
    pub status: WorkStatus,
    pub qp: u16,
    pub entry: Vec<u8>,
}

impl Done {
    /// Bits of the flags: 2:1 queue, 3 immediate, 6:4 operation, 7 unsolicited.
    pub fn flags(&self) -> u8 {
        self.entry[3] & !1
    }

    pub fn received(&self) -> RxCdesc {
        RxCdesc::parse(&self.entry).unwrap()
    }
}

/// One device, its driver and its program.
pub struct Side {
    pub driver: Driver,
    pub pd: u16,
    pub uar: u16,
    pub mr: RegMrResp,
    pub cq: Cq,
    rings: u64,
}

impl Side {
    pub fn new(config: Config) -> Self {
        Self::on(Driver::up(config))
    }

    /// On a device without objects.
    pub fn on(mut driver: Driver) -> Self {
        let (pd, uar) = (driver.alloc_pd().unwrap(), driver.alloc_uar().unwrap());
        let mr = driver.reg_mr(&data_mr(pd)).unwrap();
        let cq = Cq {
            number: 0,
            doorbell: 0,
            ring: 0,
            entry_size: 0,
            consumed: 0,
        };
        let mut side = Self {
            driver,
            pd,
            uar,
            mr,
            cq,
            rings: RINGS,
        };
        side.cq = side.create_cq(|_| ());
        side
    }

    pub fn gid(&self) -> Gid {
        self.driver.model.config().gid
    }

    fn ring(&mut self) -> u64 {
        let ring = self.rings;
        self.rings += RING_LEN;
        self.driver
            .memory
            .write(ring, &[0; RING_LEN as usize])
            .unwrap();
        ring
    }

    /// A CQ with entries of 32 bytes, unless `change` says otherwise.
    pub fn create_cq(&mut self, change: impl Fn(&mut CreateCqCmd)) -> Cq {
        let ring = self.ring();
        let mut command = CreateCqCmd {
            cq_caps_2: 8,
            sub_cq_depth: CQ_DEPTH,
            cq_ba: address(ring),
            num_sub_cqs: self.driver.model.config().sub_cqs_per_cq,
            ..cq_command(self.uar)
        };
        change(&mut command);
        let created = self.driver.create_cq(&command).unwrap();
        Cq {
            number: created.cq_idx,
            doorbell: u64::from(created.db_offset),
            ring,
            entry_size: u64::from(command.cq_caps_2 & 0x1f) * 4,
            consumed: 0,
        }
    }

    /// A QP of 64 requests each way in the state RTS.
    pub fn srd(&mut self) -> Qp {
        self.qp(QpType::Srd, |_| ())
    }

    pub fn qp(&mut self, kind: QpType, change: impl Fn(&mut CreateQpCmd)) -> Qp {
        let mut qp = self.reset_qp(kind, change);
        self.bring_to_rts(&mut qp);
        qp
    }

    pub fn reset_qp(&mut self, kind: QpType, change: impl Fn(&mut CreateQpCmd)) -> Qp {
        let ring = self.ring();
        let mut command = qp_command(kind, self.pd, self.uar, self.cq.number);
        command.rq_base_addr = ring;
        command.qp_alloc_size.send_queue_ring_size = 64 * 64;
        command.qp_alloc_size.send_queue_depth = 64;
        command.qp_alloc_size.recv_queue_ring_size = 64 * 16;
        command.qp_alloc_size.recv_queue_depth = 64;
        change(&mut command);
        let created = self.driver.create_qp(&command).unwrap();
        let size = command.qp_alloc_size;
        Qp {
            number: created.qp_num,
            handle: created.qp_handle,
            created,
            wide: size.send_queue_ring_size == size.send_queue_depth * 128,
            ring,
            sent: 0,
            posted: 0,
        }
    }

    pub fn bring_to_rts(&mut self, qp: &mut Qp) {
        self.bring_to_rtr(qp);
        self.rtr_to_rts(qp, None);
    }

    pub fn bring_to_rtr(&mut self, qp: &mut Qp) {
        (qp.sent, qp.posted) = (0, 0);
        let with_qkey = ModifyQpCmd {
            modify_mask: 3 | 4,
            qkey: QKEY,
            ..to_state(&qp.created, QpState::Reset, QpState::Init)
        };
        self.driver.modify_qp(&with_qkey).unwrap();
        self.modify(qp, QpState::Init, QpState::Rtr);
    }

    pub fn rtr_to_rts(&mut self, qp: &Qp, rnr_retry: Option<u8>) {
        let command = ModifyQpCmd {
            modify_mask: 3 | 8 | if rnr_retry.is_some() { 32 } else { 0 },
            rnr_retry: rnr_retry.unwrap_or(0),
            ..to_state(&qp.created, QpState::Rtr, QpState::Rts)
        };
        self.driver.modify_qp(&command).unwrap();
    }

    pub fn modify(&mut self, qp: &Qp, from: QpState, to: QpState) {
        let command = to_state(&qp.created, from, to);
        self.driver.modify_qp(&command).unwrap();
    }

    pub fn destroy(&mut self, qp: &Qp) {
        self.driver.destroy_qp(qp.handle).unwrap();
    }

    /// An AH of the side's PD for another side.
    pub fn ah(&mut self, to: Gid) -> u16 {
        self.driver.create_ah(self.pd, to).unwrap()
    }

    /// Writes to the program's memory, `at` bytes into it.
    pub fn fill(&mut self, at: u64, bytes: &[u8]) {
        self.driver.memory.write(PAGE + at, bytes).unwrap();
    }

    pub fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.driver.memory.read(PAGE + at, &mut bytes).unwrap();
        bytes
    }

    /// A buffer of the program's memory.
    pub fn buffer(&self, at: u64, len: u32) -> TxBufDesc {
        TxBufDesc {
            length: len,
            lkey: self.mr.l_key,
            buf_addr_lo: (DATA + at) as u32,
            buf_addr_hi: ((DATA + at) >> 32) as u32,
        }
    }

    /// The program's memory, as others name it.
    pub fn remote(&self, at: u64, len: u32) -> RemoteMemAddr {
        RemoteMemAddr {
            length: len,
            rkey: self.mr.r_key,
            buf_addr_lo: (DATA + at) as u32,
            buf_addr_hi: ((DATA + at) >> 32) as u32,
        }
    }

    /// Writes descriptors without the doorbell.
    pub fn place(&mut self, qp: &mut Qp, requests: &[Wr]) {
        let size = if qp.wide { 128 } else { 64 };
        for request in requests {
            let mut meta = request.meta;
            // The first lap's phase is 0.
            meta.ctrl2 |= ((qp.sent / 64) % 2) as u8;
            let mut entry = vec![0; size];
            meta.put(&mut entry, 0);
            entry[32..32 + request.body.len()].copy_from_slice(&request.body);
            let slot = u64::from(qp.sent % 64) * size as u64;
            let offset = u64::from(qp.created.llq_descriptors_offset) + slot;
            self.driver.llq.write(offset, &entry);
            qp.sent = qp.sent.wrapping_add(1);
        }
    }

    /// Writes descriptors and rings the doorbell once.
    pub fn send(&mut self, qp: &mut Qp, requests: &[Wr]) {
        self.place(qp, requests);
        self.ring_send(qp, qp.sent);
    }

    pub fn ring_send(&mut self, qp: &Qp, value: u16) {
        self.doorbell(qp.created.sq_db_offset.into(), value.into());
    }

    pub fn ring_receive(&mut self, qp: &Qp, value: u16) {
        self.doorbell(qp.created.rq_db_offset.into(), value.into());
    }

    /// Posts one receive request.
    pub fn receive(&mut self, qp: &mut Qp, id: u16, buffers: &[TxBufDesc]) {
        let last = buffers.len() - 1;
        for (i, buffer) in buffers.iter().enumerate() {
            let ends = (u32::from(i == 0) << 30) | (u32::from(i == last) << 31);
            let desc = RxDesc {
                buf_addr_lo: buffer.buf_addr_lo,
                buf_addr_hi: buffer.buf_addr_hi,
                req_id: id,
                length: buffer.length as u16,
                lkey_ctrl: buffer.lkey | ends,
            };
            self.place_receive(qp, &desc);
        }
        self.ring_receive(qp, qp.posted);
    }

    /// Writes a receive descriptor without the doorbell.
    pub fn place_receive(&mut self, qp: &mut Qp, desc: &RxDesc) -> u16 {
        let slot = u64::from(qp.posted % 64) * 16;
        self.driver
            .memory
            .write(qp.ring + slot, &desc.encode())
            .unwrap();
        qp.posted = qp.posted.wrapping_add(1);
        qp.posted
    }

    pub fn arm(&mut self, cq: &Cq) {
        self.doorbell(cq.doorbell, (1 << 31) | u32::from(cq.consumed));
    }

    pub fn doorbell(&mut self, offset: u64, value: u32) {
        let bar = self.driver.model.config().db_bar;
        self.driver
            .model
            .bar_write(bar, offset, &value.to_le_bytes());
    }

    /// The next completion of the side's own CQ.
    pub fn done(&mut self) -> Option<Done> {
        let mut cq = self.cq.clone();
        let done = self.done_on(&mut cq);
        self.cq = cq;
        done
    }

    /// All completions of the side's own CQ.
    pub fn all_done(&mut self) -> Vec<Done> {
        std::iter::from_fn(|| self.done()).collect()
    }

    /// The one completion there is: its status.
    pub fn status(&mut self) -> WorkStatus {
        let done = self.all_done();
        assert_eq!(done.len(), 1, "{done:?}");
        done[0].status
    }

    pub fn done_on(&mut self, cq: &mut Cq) -> Option<Done> {
        let slot = u64::from(cq.consumed % CQ_DEPTH);
        let mut entry = vec![0; cq.entry_size as usize];
        let at = cq.ring + slot * cq.entry_size;
        self.driver.memory.read(at, &mut entry).unwrap();
        let common = CdescCommon::parse(&entry).unwrap();
        let phase = u8::from((cq.consumed / CQ_DEPTH) % 2 == 0);
        if common.flags & 1 != phase {
            return None;
        }
        cq.consumed = cq.consumed.wrapping_add(1);
        let upper = if common.flags & 6 == 2 {
            TxCdesc::parse(&entry).unwrap().req_id_ex.w
        } else {
            [0; 3]
        };
        let id = upper
            .iter()
            .rev()
            .fold(0, |id, word| (id << 16) | u64::from(*word));
        Some(Done {
            id: (id << 16) | u64::from(common.req_id),
            status: WorkStatus::from_number(common.status).unwrap(),
            qp: common.qp_num,
            entry,
        })
    }

    pub fn expect_traffic(&mut self, expected: &[(&str, u64)]) {
        let traffic = self.driver.counters().traffic;
        for (name, value) in expected {
            assert_eq!(traffic[*name], *value, "{name}");
        }
    }

    pub fn create_counter(&mut self, at: u64, qp: &Qp, events: u32) -> u32 {
        let counter = self.driver.create_counter(self.uar, PAGE + at).unwrap();
        let opcode = Opcode::AttachEventCounter;
        self.driver
            .attach_counter(opcode, counter, qp.handle, events)
            .unwrap();
        counter
    }
}

/// A registration of the program's memory with all permissions.
pub fn data_mr(pd: u16) -> RegMrCmd {
    RegMrCmd {
        pd,
        inline_pbl_array: [PAGE, 0, 0, 0],
        mr_length: DATA_LEN,
        flags: 21,
        permissions: 7,
        iova: DATA,
        ..Default::default()
    }
}
