// SPDX-License-Identifier: GPL-2.0
// error: E0596
//! Nobody puts something else in the place of lent memory, which could then be dropped.

#![forbid(unsafe_code)]

use rdma::{
    dma::{Ends, Lent},
    queue_memory::QueueMemory,
};

pub enum DestroyQueue {}

impl Ends for DestroyQueue {}

pub fn exchange(mut lent: Lent<QueueMemory, DestroyQueue>, other: QueueMemory) {
    drop(core::mem::replace(&mut *lent, other));
}
