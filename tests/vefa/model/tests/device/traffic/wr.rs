// SPDX-License-Identifier: GPL-2.0
//! Work requests, as user space writes them.

use vefa_spec::io::{RdmaReq, RemoteMemAddr, ReqIdEx, TxBufDesc, TxMetaDesc};

use super::side::QKEY;

/// A work request that is to be sent.
#[derive(Debug, Clone)]
pub struct Wr {
    pub meta: TxMetaDesc,
    pub body: Vec<u8>,
}

impl Wr {
    fn new(id: u64, operation: u8, to: (u16, u16)) -> Self {
        let [w0, w1, w2, w3] = [0, 16, 32, 48].map(|shift| (id >> shift) as u16);
        Self {
            meta: TxMetaDesc {
                req_id: w0,
                ctrl1: 0x80 | operation,
                ctrl2: 4 | 8 | 16,
                ah: to.0,
                dest_qp_num: to.1,
                qkey: QKEY,
                req_id_ex: ReqIdEx { w: [w1, w2, w3] },
                ..TxMetaDesc::default()
            },
            body: Vec::new(),
        }
    }

    /// A send to an AH and a QP.
    pub fn send(id: u64, to: (u16, u16), buffers: &[TxBufDesc]) -> Self {
        let mut wr = Self::new(id, 0, to);
        wr.meta.length = buffers.len() as u16;
        for buffer in buffers {
            wr.body.extend(buffer.encode());
        }
        wr
    }

    pub fn inline(id: u64, to: (u16, u16), data: &[u8]) -> Self {
        let mut wr = Self::new(id, 0, to);
        wr.meta.ctrl1 |= 0x20;
        wr.meta.length = data.len() as u16;
        wr.body = data.to_vec();
        wr
    }

    pub fn rdma_read(id: u64, to: (u16, u16), from: RemoteMemAddr, buffer: TxBufDesc) -> Self {
        Self::rdma(id, 1, to, from, buffer)
    }

    pub fn rdma_write(id: u64, to: (u16, u16), at: RemoteMemAddr, buffer: TxBufDesc) -> Self {
        Self::rdma(id, 2, to, at, buffer)
    }

    pub fn inline_write(id: u64, to: (u16, u16), at: RemoteMemAddr, data: &[u8]) -> Self {
        let mut wr = Self::new(id, 2 | 0x20, to);
        wr.meta.length = data.len() as u16;
        wr.body = at.encode().to_vec();
        wr.body.extend(data);
        wr
    }

    fn rdma(
        id: u64,
        operation: u8,
        to: (u16, u16),
        remote: RemoteMemAddr,
        buffer: TxBufDesc,
    ) -> Self {
        let mut wr = Self::new(id, operation, to);
        wr.meta.length = 1;
        let request = RdmaReq {
            remote_mem: remote,
            local_mem: [buffer],
        };
        wr.body = request.encode().to_vec();
        wr
    }

    pub fn with_immediate(mut self, immediate: u32) -> Self {
        self.meta.ctrl1 |= 0x10;
        self.meta.immediate_data = immediate;
        self
    }
}
