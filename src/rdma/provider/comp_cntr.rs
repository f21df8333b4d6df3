// SPDX-License-Identifier: GPL-2.0

//! Completion counters: a count of completions, and one of completions with an error, that a
//! device keeps in memory of user space.

use super::QueuePairs;
use crate::{
    bindings,
    uverbs::DescribedMemory, //
};
use kernel::prelude::*;

/// What completion counters a device has.
pub struct CompCntrCaps {
    /// How many there can be.
    pub max_counters: u32,
    /// The largest value.
    pub max_value: u64,
    /// What can be counted.
    pub ops: CompCntrOps,
}

/// Kinds of operations whose completions are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompCntrOps(u32);

impl CompCntrOps {
    /// None.
    pub const NONE: Self = Self(0);
    /// Sends.
    pub const SEND: Self = Self(bindings::ib_qp_attach_comp_cntr_op_IB_QP_ATTACH_COMP_CNTR_OP_SEND);
    /// Receives.
    pub const RECV: Self = Self(bindings::ib_qp_attach_comp_cntr_op_IB_QP_ATTACH_COMP_CNTR_OP_RECV);
    /// RDMA reads.
    pub const RDMA_READ: Self =
        Self(bindings::ib_qp_attach_comp_cntr_op_IB_QP_ATTACH_COMP_CNTR_OP_RDMA_READ);
    /// RDMA reads by others.
    pub const REMOTE_RDMA_READ: Self =
        Self(bindings::ib_qp_attach_comp_cntr_op_IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ);
    /// RDMA writes.
    pub const RDMA_WRITE: Self =
        Self(bindings::ib_qp_attach_comp_cntr_op_IB_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE);
    /// RDMA writes by others.
    pub const REMOTE_RDMA_WRITE: Self =
        Self(bindings::ib_qp_attach_comp_cntr_op_IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE);

    /// The operations with these flags of the RDMA core.
    pub const fn from_raw(flags: u32) -> Self {
        Self(flags)
    }

    /// Both.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Says whether all of `other` is in this.
    pub const fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The flags as the RDMA core has them.
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

/// One of the two values of a completion counter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CompCntrEntry {
    /// The count of completions.
    Completions,
    /// The count of completions with an error.
    Errors,
}

/// A change of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CompCntrChange {
    /// It becomes this.
    Set(u64),
    /// This is added.
    Add(u64),
}

/// The attributes of the driver's own by which user space says where the two values are to be.
///
/// The numbers are from those that the core leaves to drivers.
pub struct CompCntrBuffers {
    /// Describes the memory of the count of completions.
    pub completions: u16,
    /// Describes that of the count of completions with an error.
    pub errors: u16,
}

/// The memory that user space wants the two values in.
pub struct CompCntrMemory<'a> {
    /// Of the count of completions.
    pub completions: DescribedMemory<'a>,
    /// Of the count of completions with an error.
    pub errors: DescribedMemory<'a>,
}

/// A provider of completion counters.
pub trait CompletionCounters: QueuePairs {
    /// The driver's part of a completion counter. It owns the pinned memory.
    type CompCntr: Send + Sync + 'static;

    /// By which attributes user space describes the memory.
    const BUFFERS: CompCntrBuffers;

    /// Reports what completion counters the device has.
    fn query_comp_cntr_caps(dev: &Self::Data<'_>) -> CompCntrCaps;

    /// Makes a completion counter.
    fn create_comp_cntr(
        dev: &Self::Data<'_>,
        ucontext: &Self::UContext,
        memory: &CompCntrMemory<'_>,
    ) -> Result<Self::CompCntr>;

    /// Ends a completion counter, which no queue pair has any more. It cannot fail, since it is
    /// not told whether the process asks or is exiting.
    fn end_comp_cntr(dev: &Self::Data<'_>, counter: Self::CompCntr);

    /// Changes a value.
    fn modify_comp_cntr(
        dev: &Self::Data<'_>,
        counter: &Self::CompCntr,
        entry: CompCntrEntry,
        change: CompCntrChange,
    ) -> Result;

    /// Counts completions of a queue pair, until it is destroyed. The core sees to it that no
    /// operation of a queue pair is counted twice.
    fn attach_comp_cntr(
        dev: &Self::Data<'_>,
        qp: &Self::Qp,
        counter: &Self::CompCntr,
        ops: CompCntrOps,
    ) -> Result;
}
