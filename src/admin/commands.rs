// SPDX-License-Identifier: GPL-2.0

//! The admin commands as types, and the meaning of a completion's status.
//!
//! Features are in [`super::features`]; commands of the data path have files of their own below.

pub(crate) mod cq;
pub(crate) mod event_counter;
pub(crate) mod mr;
pub(crate) mod qp;
pub(crate) mod stats;

use crate::hw::admin::*;
use kernel::{
    fmt,
    prelude::*, //
};
use rdma::{
    attr::Gid,
    dma::Ends, //
};
use zerocopy::Immutable;

/// A command that the device executes, and completes with a reply.
///
/// The `Display` form shows the parameters a person needs to understand a failure.
pub(crate) trait AdminCommand: fmt::Display {
    /// Its opcode on the wire.
    const OPCODE: u8;
    /// Its name in messages.
    const NAME: &'static str;
    /// It may be given up, while it waits for its turn, when its process is killed. Not for a
    /// command that frees something.
    const KILLABLE: bool;
    /// A failure is of no consequence, and no line in the log. The tracepoint shows it.
    const OPTIONAL: bool = false;
    /// Its payload on the wire.
    type Request: IntoBytes + Immutable;
    /// Its completion on the wire, which is at most [`AdminAcqEntry`].
    type Response: FromBytes;
    /// What a successful completion says.
    type Reply;

    /// Statuses, other than success, that are an answer and no failure.
    fn answers(&self) -> &'static [u8] {
        &[]
    }

    /// The payload.
    fn request(&self) -> Self::Request;

    /// Takes the completion apart.
    fn reply(response: Self::Response) -> Self::Reply;
}

/// A command that creates an object which uses memory.
pub(crate) trait Creates: AdminCommand {
    /// The command that ends the object.
    type End: Ends;
}

/// The error that a status means. `Ok` is success.
pub(crate) fn status_to_result(status: u8) -> Result {
    match status {
        ADMIN_SUCCESS => Ok(()),
        ADMIN_RESOURCE_ALLOCATION_FAILURE => Err(ENOMEM),
        ADMIN_UNSUPPORTED_OPCODE => Err(EOPNOTSUPP),
        _ => Err(EINVAL),
    }
}

/// The name of a status in messages.
pub(crate) fn status_name(status: u8) -> &'static str {
    match status {
        ADMIN_SUCCESS => "success",
        ADMIN_RESOURCE_ALLOCATION_FAILURE => "resource allocation failure",
        ADMIN_BAD_OPCODE => "bad opcode",
        ADMIN_UNSUPPORTED_OPCODE => "unsupported opcode",
        ADMIN_MALFORMED_REQUEST => "malformed request",
        ADMIN_ILLEGAL_PARAMETER => "illegal parameter",
        ADMIN_UNKNOWN_ERROR => "unknown error",
        ADMIN_RESOURCE_BUSY => "resource busy",
        _ => "unknown status",
    }
}

/// A DMA address as it is on the wire.
pub(crate) fn mem_addr(addr: u64) -> CommonMemAddr {
    let [mem_addr_low, mem_addr_high] = words(addr);
    CommonMemAddr {
        mem_addr_low,
        mem_addr_high,
    }
}

/// A number as it is on the wire: its low word, then its high word.
pub(crate) fn words(number: u64) -> [u32; 2] {
    // CAST: The halves.
    [number as u32, (number >> 32) as u32]
}

/// Allocates a protection domain; replies its number.
pub(crate) struct AllocPd;

impl fmt::Display for AllocPd {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl AdminCommand for AllocPd {
    const OPCODE: u8 = ADMIN_ALLOC_PD;
    const NAME: &'static str = "ALLOC_PD";
    const KILLABLE: bool = true;
    type Request = ();
    type Response = AdminAllocPdResp;
    type Reply = u16;

    fn request(&self) -> Self::Request {}

    fn reply(response: Self::Response) -> Self::Reply {
        response.pd
    }
}

/// Frees a protection domain.
pub(crate) struct DeallocPd {
    /// Its number.
    pub(crate) pdn: u16,
}

impl fmt::Display for DeallocPd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pd {}", self.pdn)
    }
}

impl AdminCommand for DeallocPd {
    const OPCODE: u8 = ADMIN_DEALLOC_PD;
    const NAME: &'static str = "DEALLOC_PD";
    const KILLABLE: bool = false;
    type Request = AdminDeallocPdCmd;
    type Response = AdminDeallocPdResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDeallocPdCmd {
            pd: self.pdn,
            reserved: 0,
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Allocates a user access region; replies its number.
pub(crate) struct AllocUar;

impl fmt::Display for AllocUar {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl AdminCommand for AllocUar {
    const OPCODE: u8 = ADMIN_ALLOC_UAR;
    const NAME: &'static str = "ALLOC_UAR";
    const KILLABLE: bool = true;
    type Request = ();
    type Response = AdminAllocUarResp;
    type Reply = u16;

    fn request(&self) -> Self::Request {}

    fn reply(response: Self::Response) -> Self::Reply {
        response.uar
    }
}

/// Frees a user access region.
pub(crate) struct DeallocUar {
    /// Its number.
    pub(crate) uarn: u16,
}

impl fmt::Display for DeallocUar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uar {}", self.uarn)
    }
}

impl AdminCommand for DeallocUar {
    const OPCODE: u8 = ADMIN_DEALLOC_UAR;
    const NAME: &'static str = "DEALLOC_UAR";
    const KILLABLE: bool = false;
    type Request = AdminDeallocUarCmd;
    type Response = AdminDeallocUarResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDeallocUarCmd {
            uar: self.uarn,
            reserved: 0,
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Creates an address handle; replies its number.
pub(crate) struct CreateAh {
    /// The protection domain.
    pub(crate) pdn: u16,
    /// Where it leads.
    pub(crate) dest_addr: Gid,
}

impl fmt::Display for CreateAh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!("pd {}, gid {}", self.pdn, self.dest_addr))
    }
}

impl AdminCommand for CreateAh {
    const OPCODE: u8 = ADMIN_CREATE_AH;
    const NAME: &'static str = "CREATE_AH";
    const KILLABLE: bool = true;
    type Request = AdminCreateAhCmd;
    type Response = AdminCreateAhResp;
    type Reply = u16;

    fn request(&self) -> Self::Request {
        AdminCreateAhCmd {
            dest_addr: self.dest_addr.0,
            pd: self.pdn,
            reserved: 0,
        }
    }

    fn reply(response: Self::Response) -> Self::Reply {
        response.ah
    }
}

/// Destroys an address handle.
pub(crate) struct DestroyAh {
    /// Its protection domain.
    pub(crate) pdn: u16,
    /// Its number.
    pub(crate) ah: u16,
}

impl fmt::Display for DestroyAh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pd {}, ah {}", self.pdn, self.ah)
    }
}

impl AdminCommand for DestroyAh {
    const OPCODE: u8 = ADMIN_DESTROY_AH;
    const NAME: &'static str = "DESTROY_AH";
    const KILLABLE: bool = false;
    type Request = AdminDestroyAhCmd;
    type Response = AdminDestroyAhResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDestroyAhCmd {
            ah: self.ah,
            pd: self.pdn,
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Creates an event queue for completion events; replies its number.
pub(crate) struct CreateEq {
    /// Its size in entries, a power of two.
    pub(crate) depth: u16,
    /// Size of an entry in 32-bit words.
    pub(crate) entry_words: u8,
    /// Its index into the MSI-X table.
    pub(crate) vector: u8,
    /// The DMA address of its ring.
    pub(crate) ring_addr: u64,
}

impl fmt::Display for CreateEq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "depth {}, vector {}", self.depth, self.vector)
    }
}

impl AdminCommand for CreateEq {
    const OPCODE: u8 = ADMIN_CREATE_EQ;
    const NAME: &'static str = "CREATE_EQ";
    const KILLABLE: bool = true;
    type Request = AdminCreateEqCmd;
    type Response = AdminCreateEqResp;
    type Reply = u16;

    fn request(&self) -> Self::Request {
        AdminCreateEqCmd {
            depth: self.depth,
            msix_vec: self.vector,
            caps: self.entry_words,
            ba: mem_addr(self.ring_addr),
            event_bitmask: ADMIN_CREATE_EQ_CMD_COMPLETION_EVENTS_MASK,
            reserved: 0,
        }
    }

    fn reply(response: Self::Response) -> Self::Reply {
        response.eqn
    }
}

/// Destroys an event queue.
pub(crate) struct DestroyEq {
    /// Its number.
    pub(crate) eqn: u16,
}

impl fmt::Display for DestroyEq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eq {}", self.eqn)
    }
}

impl AdminCommand for DestroyEq {
    const OPCODE: u8 = ADMIN_DESTROY_EQ;
    const NAME: &'static str = "DESTROY_EQ";
    const KILLABLE: bool = false;
    type Request = AdminDestroyEqCmd;
    type Response = AdminDestroyEqResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        AdminDestroyEqCmd {
            eqn: self.eqn,
            reserved: 0,
        }
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

#[kernel::macros::kunit_tests(efa_admin_commands)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_errno() {
        for (status, errno) in [(1, ENOMEM), (3, EOPNOTSUPP)] {
            assert_eq!(status_to_result(status), Err(errno));
        }
        assert_eq!(status_to_result(0), Ok(()));
        for status in [2, 4, 5, 6, 7, 8, 255] {
            assert_eq!(status_to_result(status), Err(EINVAL));
        }
    }

    #[test]
    fn an_address_handle_is_encoded_byte_by_byte() {
        let request = CreateAh {
            pdn: 0x0102,
            dest_addr: Gid([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        }
        .request();
        assert_eq!(
            request.as_bytes(),
            &[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 2, 1, 0, 0]
        );
        let request = DestroyAh {
            pdn: 0x0102,
            ah: 0x0304,
        }
        .request();
        assert_eq!(request.as_bytes(), &[4, 3, 2, 1]);
    }

    #[test]
    fn an_event_queue_is_encoded_byte_by_byte() {
        let request = CreateEq {
            depth: 0x0100,
            entry_words: 4,
            vector: 2,
            ring_addr: 0x0011_2233_4455_6677,
        }
        .request();
        assert_eq!(
            request.as_bytes(),
            &[0, 1, 2, 4, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        );
    }
}
