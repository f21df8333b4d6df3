// SPDX-License-Identifier: GPL-2.0
// error: E0200
//! A driver cannot lend something whose memory it can take out, or exchange, behind a lock.

#![forbid(unsafe_code)]

use core::cell::Cell;
use rdma::{
    dma::{Disclosure, HasDmaAddress},
    queue_memory::QueueMemory,
};

pub struct Slot(Cell<Option<QueueMemory>>);

impl HasDmaAddress for Slot {
    fn dma_address(&self, lent: &Disclosure) -> u64 {
        let memory = self.0.take();
        let address = memory.dma_address(lent);
        self.0.set(memory);
        address
    }
}
