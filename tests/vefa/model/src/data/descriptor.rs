// SPDX-License-Identifier: GPL-2.0
//! From the bytes of a send descriptor to a work request.

use vefa_spec::io::{RdmaReq, RemoteMemAddr, ReqIdEx, TxBufDesc, TxMetaDesc, WIDE_TX_WQE_SIZE};
use vefa_spec::io_constants as io;
use vefa_spec::Wire;

use crate::names::{Operation, WorkStatus};

/// Most inline data of a descriptor of 64 and of 128 bytes.
const INLINE_ROOM: [usize; 2] = [io::TX_DESC_INLINE_MAX_SIZE as usize, 80];

/// A buffer in a memory region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub address: u64,
    /// In bytes.
    pub len: u32,
    pub lkey: u32,
}

/// Where a work request's bytes are on the sender's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Local {
    Inline(Vec<u8>),
    Buffers(Vec<Buffer>),
}

impl Local {
    /// Bytes in all.
    pub fn len(&self) -> u64 {
        match self {
            Self::Inline(data) => data.len() as u64,
            Self::Buffers(buffers) => buffers.iter().map(|buffer| u64::from(buffer.len)).sum(),
        }
    }

    /// The buffers; inline data has none.
    pub fn buffers(&self) -> &[Buffer] {
        match self {
            Self::Inline(_) => &[],
            Self::Buffers(buffers) => buffers,
        }
    }
}

/// Where an RDMA request's bytes are on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// First address, as the memory region names it.
    pub address: u64,
    /// In bytes.
    pub len: u64,
    /// Remote key of the memory region.
    pub rkey: u32,
}

/// A work request of a send queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkRequest {
    /// What its completion is told by: 16 or 64 bits.
    pub id: u64,
    pub operation: Operation,
    pub immediate: Option<u32>,
    pub ah: u16,
    pub destination_qp: u16,
    pub qkey: u32,
    pub local: Local,
    /// For RDMA requests only.
    pub remote: Option<Remote>,
    /// Whether success is completed, too.
    pub signaled: bool,
}

/// A descriptor that is no work request: how it completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flawed {
    pub id: u64,
    pub operation: Operation,
    pub status: WorkStatus,
}

/// How the descriptors of a queue look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Phase bit of the lap.
    pub phase: u8,
    /// Whether request ids have 64 bits.
    pub wide_id: bool,
    /// Most buffers of a send and of an RDMA request.
    pub max_buffers: [u16; 2],
}

/// Decodes a descriptor of 64 or 128 bytes.
///
/// # Errors
/// How the descriptor completes. With an internal error of the QP it is not
/// one that user space can mean.
pub(crate) fn parse(entry: &[u8], form: Form) -> Result<WorkRequest, Flawed> {
    let broken = |id, operation, status| Flawed {
        id,
        operation,
        status,
    };
    let Some(meta) = TxMetaDesc::parse(entry) else {
        return Err(broken(0, Operation::Send, WorkStatus::QpInternalError));
    };
    let id = request_id(&meta, form.wide_id);
    let number = field(meta.ctrl1, io::TX_META_DESC_OP_TYPE_MASK);
    let operation = Operation::from_number(number);
    let error = |status| broken(id, operation.unwrap_or(Operation::Send), status);
    if !is_well_formed(&meta, form) {
        return Err(error(WorkStatus::QpInternalError));
    }
    let Some(operation) = operation else {
        return Err(error(WorkStatus::UnsupportedOp));
    };
    let is_rdma = operation != Operation::Send;
    let data = entry.get(TxMetaDesc::SIZE..).unwrap_or_default();
    let remote = is_rdma.then(|| RemoteMemAddr::parse(data)).flatten();
    let local = if is_rdma {
        data.get(RemoteMemAddr::SIZE..).unwrap_or_default()
    } else {
        data
    };
    let is_wide = entry.len() >= WIDE_TX_WQE_SIZE;
    let local = if field(meta.ctrl1, io::TX_META_DESC_INLINE_MSG_MASK) != 0 {
        if operation == Operation::Read || (is_rdma && !is_wide) {
            return Err(error(WorkStatus::UnsupportedOp));
        }
        let room = INLINE_ROOM[usize::from(is_wide)];
        inline(local, usize::from(meta.length), room)
    } else {
        let max = form.max_buffers[usize::from(is_rdma)];
        buffers(local, meta.length, max)
    };
    let local = local.map_err(error)?;
    let remote = remote.map(|remote| Remote {
        address: address(remote.buf_addr_lo, remote.buf_addr_hi),
        len: u64::from(remote.length),
        rkey: remote.rkey,
    });
    if remote.is_some_and(|remote| remote.len != local.len()) {
        return Err(error(WorkStatus::BadLength));
    }
    let has_immediate = field(meta.ctrl1, io::TX_META_DESC_HAS_IMM_MASK) != 0;
    if has_immediate && operation == Operation::Read {
        return Err(error(WorkStatus::UnsupportedOp));
    }
    Ok(WorkRequest {
        id,
        operation,
        immediate: has_immediate.then_some(meta.immediate_data),
        ah: meta.ah,
        destination_qp: meta.dest_qp_num,
        qkey: meta.qkey,
        local,
        remote,
        signaled: field(meta.ctrl2, io::TX_META_DESC_COMP_REQ_MASK) != 0,
    })
}

/// The upper part of a 64-bit request id, as completions hold it.
pub(crate) fn upper_id(id: u64) -> ReqIdEx {
    ReqIdEx {
        w: [(id >> 16) as u16, (id >> 32) as u16, (id >> 48) as u16],
    }
}

/// The two halves of an address.
pub(crate) fn address(low: u32, high: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

fn request_id(meta: &TxMetaDesc, wide: bool) -> u64 {
    let [w0, w1, w2] = meta.req_id_ex.w.map(u64::from);
    let upper = if wide {
        w0 | (w1 << 16) | (w2 << 32)
    } else {
        0
    };
    u64::from(meta.req_id) | (upper << 16)
}

fn is_well_formed(meta: &TxMetaDesc, form: Form) -> bool {
    let bits = |mask: u32| u32::from(meta.ctrl2) & mask;
    let ends = io::TX_META_DESC_FIRST_MASK | io::TX_META_DESC_LAST_MASK;
    let known = ends | io::TX_META_DESC_PHASE_MASK | io::TX_META_DESC_COMP_REQ_MASK;
    field(meta.ctrl1, io::TX_META_DESC_META_DESC_MASK) != 0
        && field(meta.ctrl1, io::TX_META_DESC_META_EXTENSION_MASK) == 0
        && bits(ends) == ends
        && bits(!known) == 0
        && bits(io::TX_META_DESC_PHASE_MASK) == u32::from(form.phase)
        && u32::from(meta.ctrl3) & !io::TX_META_DESC_PROCESSING_HINTS_MASK == 0
        && meta.reserved == 0
        && meta.reserved2 == [0; 6]
        && (form.wide_id || meta.req_id_ex.w == [0; 3])
}

fn inline(data: &[u8], len: usize, room: usize) -> Result<Local, WorkStatus> {
    let data = data.get(..len).filter(|_| len <= room);
    let data = data.ok_or(WorkStatus::BadLength)?;
    Ok(Local::Inline(data.to_vec()))
}

fn buffers(descs: &[u8], count: u16, max: u16) -> Result<Local, WorkStatus> {
    if count > max {
        return Err(WorkStatus::BadLength);
    }
    let buffers = (0..usize::from(count)).map(|i| {
        let desc = TxBufDesc::get(descs, i * TxBufDesc::SIZE).ok_or(WorkStatus::BadLength)?;
        if desc.lkey & !io::TX_BUF_DESC_LKEY_MASK != 0 {
            return Err(WorkStatus::InvalidLkey);
        }
        Ok(Buffer {
            address: address(desc.buf_addr_lo, desc.buf_addr_hi),
            len: desc.length,
            lkey: desc.lkey,
        })
    });
    buffers.collect::<Result<_, _>>().map(Local::Buffers)
}

fn field(byte: u8, mask: u32) -> u32 {
    vefa_spec::regs::field_get(mask, u32::from(byte))
}

const _: () = assert!(RdmaReq::SIZE == RemoteMemAddr::SIZE + TxBufDesc::SIZE);
