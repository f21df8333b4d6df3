// SPDX-License-Identifier: GPL-2.0
//! What a program needs to send and receive: a memory region, a completion queue and an SRD queue pair.

use super::guest::*;
use super::*;
use std::os::unix::fs::FileExt;
use vefa_model::Gid;
use vefa_spec::commands::*;
use vefa_spec::io::{CdescCommon, RxDesc, TxBufDesc, TxMetaDesc};
use vefa_spec::{constants as c, io_constants as io, Wire};

/// Offsets in the guest's memory.
const CQ: u64 = 0x8000;
const RQ: u64 = 0x9000;
/// Where messages are sent from, and arrive.
pub const SOURCE: u64 = 0x1_0000;
pub const TARGET: u64 = 0x2_0000;

pub const QKEY: u32 = 0x1234;
pub const DEPTH: u32 = 32;
const DESCRIPTOR: usize = 64;
const CQ_ENTRY_WORDS: u8 = 4;
const PAGE_SHIFT: u8 = 20;

/// A queue pair that works, with all it needs, and how the guest reaches it.
pub struct Endpoint {
    pub guest: Guest,
    pub pd: u16,
    pub qp: u16,
    pub lkey: u32,
    pub rkey: u32,
    /// LLQ memory, as the client maps it.
    pub llq: File,
    pub llq_offset: u64,
    doorbell_bar: u32,
    pub send_doorbell: u64,
    pub receive_doorbell: u64,
    pub cq_doorbell: u64,
    sent: u32,
    posted: u32,
    completed: u64,
}

impl Endpoint {
    /// On that device, whose doorbells are in `doorbell_bar`, and which has API version 0.1.
    pub fn new(server: &Running, device: usize, doorbell_bar: u8) -> Self {
        let mut guest = Guest::on(server, device);
        guest.set_up_queues();
        let llq = llq_of(&mut guest);
        let pd = get::<AllocPdResp>(&guest.command(c::ALLOC_PD, &[])).pd;
        let uar = get::<AllocUarResp>(&guest.command(c::ALLOC_UAR, &[])).uar;
        let mr = register_memory(&mut guest, pd);
        let cq = create_cq(&mut guest, uar);
        let qp = create_qp(&mut guest, pd, uar, cq.cq_idx);
        let states = [
            (c::QP_STATE_INIT, c::MODIFY_QP_CMD_QKEY_MASK),
            (c::QP_STATE_RTR, 0),
            (c::QP_STATE_RTS, c::MODIFY_QP_CMD_SQ_PSN_MASK),
        ];
        for (state, mask) in states {
            modify_qp(&mut guest, qp.qp_handle, state, mask);
        }
        Endpoint {
            guest,
            pd,
            qp: qp.qp_num,
            lkey: mr.l_key,
            rkey: mr.r_key,
            llq,
            llq_offset: qp.llq_descriptors_offset.into(),
            doorbell_bar: doorbell_bar.into(),
            send_doorbell: qp.sq_db_offset.into(),
            receive_doorbell: qp.rq_db_offset.into(),
            cq_doorbell: cq.db_offset.into(),
            sent: 0,
            posted: 0,
            completed: 0,
        }
    }

    /// An address handle for that device.
    pub fn create_ah(&mut self, gid: Gid) -> u16 {
        let command = CreateAhCmd {
            dest_addr: gid.0,
            pd: self.pd,
            reserved: 0,
        };
        let completion = self.guest.command(c::CREATE_AH, &command.encode());
        get::<CreateAhResp>(&completion).ah
    }

    /// Gives the device one buffer of `len` bytes at [`TARGET`].
    pub fn post_receive(&mut self, len: u16) {
        let (lo, hi) = split(BASE + TARGET);
        let descriptor = RxDesc {
            buf_addr_lo: lo,
            buf_addr_hi: hi,
            req_id: self.posted as u16,
            length: len,
            lkey_ctrl: self.lkey | io::RX_DESC_FIRST_MASK | io::RX_DESC_LAST_MASK,
        };
        self.write_receive_descriptor(self.posted % DEPTH, descriptor);
        self.posted += 1;
        self.ring(self.receive_doorbell, self.posted);
    }

    pub fn write_receive_descriptor(&mut self, slot: u32, descriptor: RxDesc) {
        let at = RQ + u64::from(slot) * RxDesc::SIZE as u64;
        let memory = &self.guest.memory;
        memory.write_all_at(&descriptor.encode(), at).unwrap();
    }

    /// Writes `message` to [`SOURCE`], a work request to send it to LLQ memory, and rings the doorbell.
    pub fn send(&mut self, ah: u16, to: u16, message: &[u8]) {
        self.guest.memory.write_all_at(message, SOURCE).unwrap();
        // Unlike all other queues, this one begins with phase 0.
        let phase = (self.sent / DEPTH) & 1;
        let meta = TxMetaDesc {
            req_id: self.sent as u16,
            ctrl1: (io::SEND | io::TX_META_DESC_META_DESC_MASK) as u8,
            ctrl2: (io::TX_META_DESC_FIRST_MASK
                | io::TX_META_DESC_LAST_MASK
                | io::TX_META_DESC_COMP_REQ_MASK
                | phase) as u8,
            dest_qp_num: to,
            length: 1,
            ah,
            qkey: QKEY,
            ..TxMetaDesc::default()
        };
        let (lo, hi) = split(BASE + SOURCE);
        let buffer = TxBufDesc {
            length: message.len() as u32,
            lkey: self.lkey,
            buf_addr_lo: lo,
            buf_addr_hi: hi,
        };
        let mut descriptor = [0; DESCRIPTOR];
        meta.put(&mut descriptor, 0);
        buffer.put(&mut descriptor, TxMetaDesc::SIZE);
        let slot = u64::from(self.sent % DEPTH) * DESCRIPTOR as u64;
        let llq_offset = self.llq_offset + slot;
        self.llq.write_all_at(&descriptor, llq_offset).unwrap();
        self.sent += 1;
        self.ring(self.send_doorbell, self.sent);
    }

    /// The next completion, which has to come before long.
    pub fn completion(&mut self) -> CdescCommon {
        let size = u64::from(CQ_ENTRY_WORDS) * 4;
        let depth = u64::from(DEPTH);
        let phase = (self.completed / depth + 1) as u8 & 1;
        let offset = CQ + self.completed % depth * size;
        let started = std::time::Instant::now();
        loop {
            let entry: [u8; 6] = self.guest.bytes(offset);
            let entry = CdescCommon::get(&entry, 0).unwrap();
            if entry.flags & 1 == phase {
                self.completed += 1;
                return entry;
            }
            assert!(started.elapsed() < PATIENCE, "no completion");
            std::thread::yield_now();
        }
    }

    pub fn ring(&mut self, doorbell: u64, value: u32) {
        let value = value.to_le_bytes();
        self.guest.client.write(self.doorbell_bar, doorbell, &value);
    }
}

fn llq_of(guest: &mut Guest) -> File {
    let request = words(&[64, 0, LLQ_BAR, 0, 0, 0, 0, 0]);
    let client = &mut guest.client;
    let info = client.ok_with(Command::DeviceGetRegionInfo, &request, &[]);
    info.fds.into_iter().next().expect("shared memory").into()
}

/// All of the guest's memory, at its bus address, for everything.
fn register_memory(guest: &mut Guest, pd: u16) -> RegMrResp {
    let mut pages = [0; 4];
    pages[0] = BASE;
    let command = RegMrCmd {
        pd,
        inline_pbl_array: pages,
        mr_length: SIZE,
        flags: PAGE_SHIFT,
        permissions: 7,
        iova: BASE,
        ..RegMrCmd::default()
    };
    get(&guest.command(c::REG_MR, &command.encode()))
}

fn create_cq(guest: &mut Guest, uar: u16) -> CreateCqResp {
    let (lo, hi) = split(BASE + CQ);
    let mut command = CreateCqCmd {
        cq_caps_2: CQ_ENTRY_WORDS,
        sub_cq_depth: DEPTH as u16,
        num_sub_cqs: 1,
        uar,
        ..CreateCqCmd::default()
    };
    command.cq_ba.mem_addr_low = lo;
    command.cq_ba.mem_addr_high = hi;
    get(&guest.command(c::CREATE_CQ, &command.encode()))
}

fn create_qp(guest: &mut Guest, pd: u16, uar: u16, cq: u16) -> CreateQpResp {
    let command = CreateQpCmd {
        pd,
        qp_type: c::QP_TYPE_SRD as u8,
        rq_base_addr: BASE + RQ,
        send_cq_idx: cq.into(),
        recv_cq_idx: cq.into(),
        qp_alloc_size: QpAllocSize {
            send_queue_ring_size: DEPTH * DESCRIPTOR as u32,
            send_queue_depth: DEPTH,
            recv_queue_ring_size: DEPTH * RxDesc::SIZE as u32,
            recv_queue_depth: DEPTH,
        },
        uar,
        ..CreateQpCmd::default()
    };
    get(&guest.command(c::CREATE_QP, &command.encode()))
}

fn modify_qp(guest: &mut Guest, handle: u32, state: u32, mask: u32) {
    let command = ModifyQpCmd {
        modify_mask: mask | c::MODIFY_QP_CMD_QP_STATE_MASK,
        qp_handle: handle,
        qp_state: state,
        qkey: QKEY,
        ..ModifyQpCmd::default()
    };
    guest.command(c::MODIFY_QP, &command.encode());
}

fn get<T: Wire>(completion: &[u8]) -> T {
    T::get(completion, 0).unwrap()
}

fn split(address: u64) -> (u32, u32) {
    (address as u32, (address >> 32) as u32)
}
