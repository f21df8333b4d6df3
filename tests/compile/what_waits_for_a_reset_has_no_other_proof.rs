// SPDX-License-Identifier: GPL-2.0
// error: E0599
//! Memory of an object that may or may not exist is freed by the end of its generation alone.

#![forbid(unsafe_code)]

use rdma::{
    dma::{DmaGeneration, Lent, LetGo, UntilReset},
    queue_memory::QueueMemory,
};

pub fn end(lent: &Lent<QueueMemory, UntilReset>, generation: &DmaGeneration) {
    lent.let_go(LetGo::acknowledged(generation));
}
