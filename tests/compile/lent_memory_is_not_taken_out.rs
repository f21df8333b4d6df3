// SPDX-License-Identifier: GPL-2.0
// error: E0616
//! Nobody takes memory out of what owes a proof.

#![forbid(unsafe_code)]

use rdma::{
    dma::{Ends, Lent},
    queue_memory::QueueMemory,
};

pub enum DestroyQueue {}

impl Ends for DestroyQueue {}

pub fn take(lent: Lent<QueueMemory, DestroyQueue>) {
    drop(lent.loan);
}
