// SPDX-License-Identifier: GPL-2.0
// error: E0308
//! The end of a completion queue says nothing of the memory of a queue pair.

#![forbid(unsafe_code)]

use rdma::{
    dma::{DmaGeneration, Ends, Lent, LetGo},
    queue_memory::QueueMemory,
};

pub enum DestroyCq {}

impl Ends for DestroyCq {}

pub enum DestroyQp {}

impl Ends for DestroyQp {}

pub fn end(lent: &Lent<QueueMemory, DestroyQp>, generation: &DmaGeneration) {
    lent.let_go(LetGo::<DestroyCq>::acknowledged(generation));
}
