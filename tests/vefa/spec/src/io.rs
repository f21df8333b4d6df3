// SPDX-License-Identifier: GPL-2.0
//! Work requests and completions of the data path (`efa_io_defs.h`).

use crate::layout::layout;

/// Bytes of a send descriptor that holds more inline data than 32 bytes, or an
/// RDMA write's inline data. User space has it from libefa; the kernel's
/// header does not name it.
pub const WIDE_TX_WQE_SIZE: usize = 128;

layout! {
    /// The upper 48 bits of a 64-bit request id, low word first.
    ReqIdEx = "efa_io_req_id_ex", 6 {
        0 => w: [u16; 3],
    }

    /// Start of every send descriptor.
    TxMetaDesc = "efa_io_tx_meta_desc", 32 {
        0 => req_id: u16,
        /// Bits 3:0 operation, 4 immediate data, 5 inline data, 6 extension
        /// (must be zero), 7 metadata descriptor (must be set).
        2 => ctrl1: u8,
        /// Bit 0 phase, 2 first, 3 last (both must be set), 4 completion
        /// requested.
        3 => ctrl2: u8,
        4 => dest_qp_num: u16,
        /// Bytes of inline data, or number of buffers.
        6 => length: u16,
        8 => immediate_data: u32,
        12 => ah: u16,
        /// Bits 1:0 hints.
        14 => ctrl3: u8,
        15 => reserved: u8,
        16 => qkey: u32,
        20 => reserved2: [u8; 6],
        26 => req_id_ex: ReqIdEx,
    }

    /// A local buffer of a work request.
    TxBufDesc = "efa_io_tx_buf_desc", 16 {
        0 => length: u32,
        /// Bits 23:0 the key, the others reserved.
        4 => lkey: u32,
        8 => buf_addr_lo: u32,
        12 => buf_addr_hi: u32,
    }

    /// The remote side of an RDMA request.
    RemoteMemAddr = "efa_io_remote_mem_addr", 16 {
        0 => length: u32,
        4 => rkey: u32,
        8 => buf_addr_lo: u32,
        12 => buf_addr_hi: u32,
    }

    /// What follows the metadata of an RDMA request.
    RdmaReq = "efa_io_rdma_req", 32 {
        0 => remote_mem: RemoteMemAddr,
        16 => local_mem: [TxBufDesc; 1],
    }

    FastMrRegReq = "efa_io_fast_mr_reg_req", 32 {
        0 => lkey: u32,
        4 => permissions: u8,
        5 => flags: u8,
        6 => reserved: [u8; 2],
        8 => iova: u64,
        16 => mr_length: u64,
        24 => dma_addr: u64 as "pbl.dma_addr",
    }

    FastMrInvReq = "efa_io_fast_mr_inv_req", 32 {
        0 => lkey: u32,
        4 => reserved: [u8; 28],
    }

    /// A send descriptor of 64 bytes.
    TxWqe = "efa_io_tx_wqe", 64 {
        0 => meta: TxMetaDesc,
        /// Buffers, inline data or an RDMA request.
        32 => data: [u8; 32] as "data.inline_data",
    }

    /// A buffer of the receive queue; a work request is one or more.
    RxDesc = "efa_io_rx_desc", 16 {
        0 => buf_addr_lo: u32,
        4 => buf_addr_hi: u32,
        8 => req_id: u16,
        10 => length: u16,
        /// Bits 23:0 local key, 30 first, 31 last.
        12 => lkey_ctrl: u32,
    }

    /// Start of every completion.
    CdescCommon = "efa_io_cdesc_common", 6 {
        0 => req_id: u16,
        2 => status: u8,
        /// Bit 0 phase, 2:1 queue type, 3 immediate data, 6:4 operation,
        /// 7 unsolicited.
        3 => flags: u8,
        4 => qp_num: u16,
    }

    /// Completion of a send queue.
    TxCdesc = "efa_io_tx_cdesc", 16 {
        0 => common: CdescCommon,
        6 => req_id_ex: ReqIdEx,
        12 => reserved: [u8; 4],
    }

    /// Completion of a receive queue.
    RxCdesc = "efa_io_rx_cdesc", 16 {
        0 => common: CdescCommon,
        /// Bits 15:0 of the length.
        6 => length: u16,
        /// The sender's address handle, 0xffff where there is none.
        8 => ah: u16,
        10 => src_qp_num: u16,
        12 => imm: u32,
    }

    /// What an RDMA write's completion has beyond [`RxCdesc`].
    RxCdescRdmaWrite = "efa_io_rx_cdesc_rdma_write", 2 {
        /// Bits 31:16 of the length.
        0 => length_hi: u16,
    }

    /// Long completion of a receive queue.
    RxCdescEx = "efa_io_rx_cdesc_ex", 32 {
        0 => base: RxCdesc,
        /// GID of a sender without an address handle, or [`RxCdescRdmaWrite`].
        16 => src_addr: [u8; 16] as "u.src_addr",
    }
}
