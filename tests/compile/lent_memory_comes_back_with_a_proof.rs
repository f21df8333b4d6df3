// SPDX-License-Identifier: GPL-2.0
// compiles
//! Memory is lent by telling its address, and freed after the proof that its object is gone.

#![forbid(unsafe_code)]

use rdma::{
    dma::{DmaGeneration, Ends, Lent, LetGo},
    queue_memory::QueueMemory,
};

pub enum DestroyQueue {}

impl Ends for DestroyQueue {}

pub fn use_and_end(memory: QueueMemory, generation: &DmaGeneration) -> u64 {
    let lent = Lent::<_, DestroyQueue>::new(memory, generation);
    let address = lent.dma_address();
    lent.let_go(LetGo::acknowledged(generation));
    address
}

pub fn keep(memory: QueueMemory, generation: &DmaGeneration) {
    let lent = Lent::<_, DestroyQueue>::new(memory, generation).until_reset();
    assert!(lent.dma_address() != 0);
}
