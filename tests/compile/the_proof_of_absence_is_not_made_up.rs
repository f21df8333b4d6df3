// SPDX-License-Identifier: GPL-2.0
// error: E0423
//! That a device does no DMA any more is said by its reset or by the bus.

#![forbid(unsafe_code)]

use rdma::dma::{DmaEnded, DmaGeneration};

pub fn end(generation: &DmaGeneration) {
    generation.end(DmaEnded(()));
}
