// SPDX-License-Identifier: GPL-2.0

//! Commands of memory regions.

use super::{
    words,
    AdminCommand,
    Creates, //
};
use crate::{
    hw::mr::*,
    page_list::PageList, //
};
use kernel::{
    fmt,
    prelude::*, //
};
use rdma::dma::Ends;

/// Registers a memory region.
pub(crate) struct RegMr {
    /// The protection domain.
    pub(crate) pdn: u16,
    /// Its length in bytes.
    pub(crate) length: u64,
    /// The address that work requests have for its first byte.
    pub(crate) iova: u64,
    /// What may be done to it, `ADMIN_REG_MR_CMD_*_ENABLE_MASK`.
    pub(crate) permissions: u8,
    /// The logarithm of the page size in bytes.
    pub(crate) page_shift: u8,
    /// Its pages. What it points to goes with the command.
    pub(crate) pages: PageList,
    /// The number of pages, for messages.
    pub(crate) page_count: usize,
}

/// What the device says of a new memory region.
pub(crate) struct RegisteredMr {
    /// The key by which local work requests name it.
    pub(crate) lkey: u32,
    /// The key by which remote ones do.
    pub(crate) rkey: u32,
    /// How the device reaches the memory.
    pub(crate) interconnects: Interconnects,
}

/// The interconnects by which the device reaches the memory of a region, where it tells them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interconnects {
    /// To receive.
    pub(crate) recv: Option<u8>,
    /// To read for RDMA.
    pub(crate) rdma_read: Option<u8>,
    /// To receive RDMA writes.
    pub(crate) rdma_recv: Option<u8>,
}

impl fmt::Display for RegMr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pdn,
            length,
            permissions,
            page_shift,
            page_count,
            pages,
            ..
        } = self;
        f.write_fmt(fmt!(
            "pd {pdn}, {length} bytes, permissions {permissions:#x}, {page_count} pages of \
             2^{page_shift} bytes, {pages} list"
        ))
    }
}

impl Creates for RegMr {
    type End = DeregMr;
}

impl AdminCommand for RegMr {
    const OPCODE: u8 = ADMIN_REG_MR;
    const NAME: &'static str = "REG_MR";
    const KILLABLE: bool = true;
    type Request = AdminRegMrCmd;
    type Response = AdminRegMrResp;
    type Reply = RegisteredMr;

    fn request(&self) -> Self::Request {
        let pbl = match &self.pages {
            PageList::Inline([a, b, c, d]) => {
                let ([a, e], [b, f], [c, g], [d, h]) = (words(*a), words(*b), words(*c), words(*d));
                [a, e, b, f, c, g, d, h]
            }
            PageList::Direct(list) | PageList::Indirect(list) => {
                // An `AdminCtrlBuffInfo`.
                let [low, high] = words(list.address);
                [list.length, low, high, 0, 0, 0, 0, 0]
            }
        };
        AdminRegMrCmd {
            pd: self.pdn,
            reserved16_w1: 0,
            pbl,
            mr_length: words(self.length),
            flags: self.page_shift & ADMIN_REG_MR_CMD_PHYS_PAGE_SIZE_SHIFT_MASK,
            permissions: self.permissions,
            reserved16_w5: 0,
            page_num: 0,
            iova: words(self.iova),
        }
    }

    fn reply(response: Self::Response) -> Self::Reply {
        let valid = |mask, id| (response.validity & mask != 0).then_some(id);
        RegisteredMr {
            lkey: response.l_key,
            rkey: response.r_key,
            interconnects: Interconnects {
                recv: valid(ADMIN_REG_MR_RESP_RECV_IC_ID_MASK, response.recv_ic_id),
                rdma_read: valid(
                    ADMIN_REG_MR_RESP_RDMA_READ_IC_ID_MASK,
                    response.rdma_read_ic_id,
                ),
                rdma_recv: valid(
                    ADMIN_REG_MR_RESP_RDMA_RECV_IC_ID_MASK,
                    response.rdma_recv_ic_id,
                ),
            },
        }
    }
}

/// Deregisters a memory region.
pub(crate) struct DeregMr {
    /// The key of local work requests.
    pub(crate) lkey: u32,
}

impl fmt::Display for DeregMr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lkey {:#x}", self.lkey)
    }
}

impl Ends for DeregMr {}

impl AdminCommand for DeregMr {
    const OPCODE: u8 = ADMIN_DEREG_MR;
    const NAME: &'static str = "DEREG_MR";
    const KILLABLE: bool = false;
    type Request = AdminDeregMrCmd;
    type Response = AdminDeregMrResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDeregMrCmd { l_key: self.lkey }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

#[kernel::macros::kunit_tests(efa_admin_commands_mr)]
mod tests {
    use super::*;
    use crate::page_list::Buffer;
    use zerocopy::FromZeros;

    fn reg_mr(pages: PageList) -> RegMr {
        RegMr {
            pdn: 0x0102,
            length: 0x1112_1314_1516_1718,
            iova: 0x2122_2324_2526_2728,
            permissions: 5,
            page_shift: 21,
            pages,
            page_count: 0,
        }
    }

    /// What follows the page list in a request.
    const REST: [u8; 24] = [
        0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 21, 5, 0, 0, 0, 0, 0, 0, 0x28, 0x27, 0x26,
        0x25, 0x24, 0x23, 0x22, 0x21,
    ];

    #[test]
    fn page_addresses_are_in_the_request() {
        let request =
            reg_mr(PageList::Inline([0x0000_0001_0000_2000, 0x3000, 0, 0x5000])).request();
        let mut expected = [0_u8; 60];
        expected[..2].copy_from_slice(&[2, 1]);
        expected[5] = 0x20;
        expected[8] = 1;
        expected[13] = 0x30;
        expected[29] = 0x50;
        expected[36..].copy_from_slice(&REST);
        assert!(request.as_bytes() == expected);
    }

    #[test]
    fn a_list_elsewhere_is_its_length_and_address() {
        let list = Buffer {
            address: 0x3132_3334_3536_3738,
            length: 0x4142_4344,
        };
        for pages in [PageList::Direct(list), PageList::Indirect(list)] {
            let request = reg_mr(pages).request();
            let mut expected = [0_u8; 60];
            expected[..2].copy_from_slice(&[2, 1]);
            expected[4..16].copy_from_slice(&[
                0x44, 0x43, 0x42, 0x41, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
            ]);
            expected[36..].copy_from_slice(&REST);
            assert!(request.as_bytes() == expected);
        }
    }

    #[test]
    fn a_deregistration_names_the_local_key() {
        let request = DeregMr { lkey: 0x0102_0304 }.request();
        assert_eq!(request.as_bytes(), &[4, 3, 2, 1]);
    }

    #[test]
    fn only_valid_interconnects_are_told() {
        let mut response = AdminRegMrResp::new_zeroed();
        (response.l_key, response.r_key) = (7, 8);
        (response.recv_ic_id, response.rdma_read_ic_id) = (1, 2);
        response.rdma_recv_ic_id = 3;
        for (validity, recv, rdma_read, rdma_recv) in [
            (0, None, None, None),
            (1, Some(1), None, None),
            (2, None, Some(2), None),
            (4, None, None, Some(3)),
            (0xff, Some(1), Some(2), Some(3)),
        ] {
            response.validity = validity;
            let reply = RegMr::reply(response);
            assert_eq!((reply.lkey, reply.rkey), (7, 8));
            assert_eq!(reply.interconnects.recv, recv);
            assert_eq!(reply.interconnects.rdma_read, rdma_read);
            assert_eq!(reply.interconnects.rdma_recv, rdma_recv);
        }
    }
}
