// SPDX-License-Identifier: GPL-2.0
// error: E0423
//! Only lent memory tells where it is.

#![forbid(unsafe_code)]

use rdma::{
    dma::{Disclosure, HasDmaAddress},
    queue_memory::QueueMemory,
};

pub fn address(memory: &QueueMemory) -> u64 {
    memory.dma_address(&Disclosure(()))
}
