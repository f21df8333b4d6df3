// SPDX-License-Identifier: GPL-2.0

//! Memory of page lists that a device reads.

use super::Memory;
use kernel::{
    alloc::Flags,
    device::{
        Bound,
        Device, //
    },
    dma::{
        attrs::DMA_ATTR_NO_WARN,
        Coherent,
        CoherentBox, //
    },
    prelude::*, //
};

/// Pieces of memory that one device can read.
pub(crate) struct DmaMemory<'a> {
    dev: &'a Device<Bound>,
    pieces: KVVec<Coherent<[u8]>>,
}

impl<'a> DmaMemory<'a> {
    /// No memory yet.
    pub(crate) fn new(dev: &'a Device<Bound>) -> Self {
        Self {
            dev,
            pieces: KVVec::new(),
        }
    }

    /// The pieces, to be kept for as long as the device may read them.
    pub(crate) fn into_pieces(self) -> KVVec<Coherent<[u8]>> {
        self.pieces
    }

    /// Adds a piece of `len` bytes. Nothing is written where there is no memory.
    fn add_piece(
        &mut self,
        len: usize,
        flags: Flags,
        fill: impl FnOnce(&mut [u8]) -> Result,
    ) -> Result<u64> {
        self.pieces.reserve(1, GFP_KERNEL)?;
        // Only the flags say whether a failure is worth a warning.
        let mut piece =
            CoherentBox::zeroed_slice_with_attrs(self.dev, len, flags, DMA_ATTR_NO_WARN)?;
        fill(&mut piece)?;
        let piece = Coherent::from(piece);
        let address = piece.dma_address();
        self.pieces.push(piece, GFP_KERNEL)?;
        Ok(address)
    }
}

impl Memory for DmaMemory<'_> {
    fn add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64> {
        self.add_piece(len, GFP_KERNEL, fill)
    }

    fn try_add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64> {
        // A large piece is worth taking where it is free. Making room for it, by moving other memory
        // or writing it out, takes longer than a list of small pieces does.
        self.add_piece(len, GFP_NOWAIT, fill)
    }
}
