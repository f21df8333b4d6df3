// SPDX-License-Identifier: GPL-2.0
//! Commands of the data path, as the small driver sends them.

use vefa_model::names::{Opcode, QpState, QpType, Status};
use vefa_model::GuestMemory;
use vefa_spec::commands::{
    AttachDetachEventCounterCmd, CreateCqCmd, CreateCqResp, CreateEventCounterCmd,
    CreateEventCounterResp, CreateQpCmd, CreateQpResp, DeregMrCmd, DestroyCqCmd,
    DestroyEventCounterCmd, DestroyQpCmd, EventCounterAttachQpEvents, ModifyEventCounterCmd,
    ModifyQpCmd, QpAllocSize, QueryQpCmd, QueryQpResp, RegMrCmd, RegMrResp,
};
use vefa_spec::entries::{CtrlBuffInfo, MemAddr};

use crate::driver::{Driver, BUFFER};

/// The flags of a submission entry whose control buffer is valid.
pub const DIRECT: u8 = 2;
/// The same where the control buffer is a chain of chunks.
pub const INDIRECT: u8 = 2 | 4;

/// What an MR needs that has one page of its own.
pub fn mr_command(pd: u16) -> RegMrCmd {
    RegMrCmd {
        pd,
        inline_pbl_array: [BUFFER, 0, 0, 0],
        mr_length: 0x100,
        flags: 12,
        permissions: 7,
        iova: 0x7f00_0000_0000,
        ..Default::default()
    }
}

/// What a CQ of 16 entries needs.
pub fn cq_command(uar: u16) -> CreateCqCmd {
    CreateCqCmd {
        cq_caps_2: 4,
        sub_cq_depth: 16,
        cq_ba: address(BUFFER),
        num_sub_cqs: 1,
        uar,
        ..Default::default()
    }
}

/// What a QP of 32 requests each way needs, whose completions go to one CQ.
pub fn qp_command(kind: QpType, pd: u16, uar: u16, cq: u16) -> CreateQpCmd {
    CreateQpCmd {
        pd,
        qp_type: kind.number(),
        rq_base_addr: BUFFER,
        send_cq_idx: cq.into(),
        recv_cq_idx: cq.into(),
        qp_alloc_size: QpAllocSize {
            send_queue_ring_size: 32 * 64,
            send_queue_depth: 32,
            recv_queue_ring_size: 32 * 16,
            recv_queue_depth: 32,
        },
        uar,
        ..Default::default()
    }
}

pub fn address(address: u64) -> MemAddr {
    MemAddr {
        mem_addr_low: address as u32,
        mem_addr_high: (address >> 32) as u32,
    }
}

/// A MODIFY_QP that changes the state and nothing else.
pub fn to_state(qp: &CreateQpResp, from: QpState, to: QpState) -> ModifyQpCmd {
    ModifyQpCmd {
        modify_mask: 3,
        qp_handle: qp.qp_handle,
        qp_state: to.number(),
        cur_qp_state: from.number(),
        ..Default::default()
    }
}

/// A PD, a UAR and a CQ, for a test's QPs.
pub struct Base {
    pub pd: u16,
    pub uar: u16,
    pub cq: u16,
}

impl Driver {
    pub fn base(&mut self) -> Base {
        let (pd, uar) = (self.alloc_pd().unwrap(), self.alloc_uar().unwrap());
        let cq = self.create_cq(&cq_command(uar)).unwrap().cq_idx;
        Base { pd, uar, cq }
    }

    pub fn create_cq(&mut self, command: &CreateCqCmd) -> Result<CreateCqResp, Status> {
        let entry = self.command(Opcode::CreateCq, &command.encode())?;
        Ok(CreateCqResp::parse(&entry).unwrap())
    }

    pub fn destroy_cq(&mut self, cq_idx: u16) -> Result<(), Status> {
        let command = DestroyCqCmd {
            cq_idx,
            ..Default::default()
        };
        self.command(Opcode::DestroyCq, &command.encode()).map(drop)
    }

    pub fn reg_mr(&mut self, command: &RegMrCmd) -> Result<RegMrResp, Status> {
        self.reg_mr_with(0, command)
    }

    /// REG_MR with a list of pages at `address`.
    pub fn reg_mr_by_list(
        &mut self,
        flags: u8,
        length: u32,
        list: u64,
        command: &RegMrCmd,
    ) -> Result<RegMrResp, Status> {
        let buffer = CtrlBuffInfo {
            length,
            address: address(list),
        };
        let mut bytes = [0; 32];
        bytes[..12].copy_from_slice(&buffer.encode());
        let mut command = *command;
        for (page, bytes) in command.inline_pbl_array.iter_mut().zip(bytes.chunks(8)) {
            *page = u64::from_le_bytes(bytes.try_into().unwrap());
        }
        self.reg_mr_with(flags, &command)
    }

    fn reg_mr_with(&mut self, flags: u8, command: &RegMrCmd) -> Result<RegMrResp, Status> {
        let entry = self.entry(Opcode::RegMr.number(), flags, &command.encode());
        let completion = self.submit(&entry).unwrap();
        match completion.status {
            Status::Success => Ok(RegMrResp::parse(&completion.entry).unwrap()),
            status => Err(status),
        }
    }

    pub fn dereg_mr(&mut self, l_key: u32) -> Result<(), Status> {
        let command = DeregMrCmd { l_key };
        self.command(Opcode::DeregMr, &command.encode()).map(drop)
    }

    pub fn create_qp(&mut self, command: &CreateQpCmd) -> Result<CreateQpResp, Status> {
        let entry = self.command(Opcode::CreateQp, &command.encode())?;
        Ok(CreateQpResp::parse(&entry).unwrap())
    }

    pub fn modify_qp(&mut self, command: &ModifyQpCmd) -> Result<(), Status> {
        self.command(Opcode::ModifyQp, &command.encode()).map(drop)
    }

    pub fn query_qp(&mut self, qp_handle: u32) -> Result<QueryQpResp, Status> {
        let command = QueryQpCmd { qp_handle };
        let entry = self.command(Opcode::QueryQp, &command.encode())?;
        Ok(QueryQpResp::parse(&entry).unwrap())
    }

    pub fn destroy_qp(&mut self, qp_handle: u32) -> Result<(), Status> {
        let command = DestroyQpCmd { qp_handle };
        self.command(Opcode::DestroyQp, &command.encode()).map(drop)
    }

    pub fn create_counter(&mut self, uar: u16, paddr: u64) -> Result<u32, Status> {
        let command = CreateEventCounterCmd {
            uar,
            paddr,
            ..Default::default()
        };
        let entry = self.command(Opcode::CreateEventCounter, &command.encode())?;
        Ok(CreateEventCounterResp::parse(&entry).unwrap().cntr_handle)
    }

    pub fn destroy_counter(&mut self, cntr_handle: u32) -> Result<(), Status> {
        let command = DestroyEventCounterCmd { cntr_handle };
        self.command(Opcode::DestroyEventCounter, &command.encode())
            .map(drop)
    }

    /// ATTACH_ or DETACH_EVENT_COUNTER.
    pub fn attach_counter(
        &mut self,
        opcode: Opcode,
        cntr_handle: u32,
        qp_handle: u32,
        events: u32,
    ) -> Result<(), Status> {
        let command = AttachDetachEventCounterCmd {
            cntr_handle,
            qp_events: EventCounterAttachQpEvents { qp_handle, events },
            ..Default::default()
        };
        self.command(opcode, &command.encode()).map(drop)
    }

    pub fn modify_counter(
        &mut self,
        cntr_handle: u32,
        operation: u8,
        value: u64,
    ) -> Result<(), Status> {
        let command = ModifyEventCounterCmd {
            cntr_handle,
            operation,
            value,
            ..Default::default()
        };
        self.command(Opcode::ModifyEventCounter, &command.encode())
            .map(drop)
    }

    /// Writes 64-bit numbers to guest memory.
    pub fn write_list(&mut self, at: u64, list: &[u64]) {
        let bytes: Vec<u8> = list.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.memory.write(at, &bytes).unwrap();
    }
}
