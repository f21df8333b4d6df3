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
        Attrs,
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

    fn add_piece(
        &mut self,
        mut piece: CoherentBox<[u8]>,
        fill: impl FnOnce(&mut [u8]) -> Result,
    ) -> Result<u64> {
        fill(&mut piece)?;
        let piece = Coherent::from(piece);
        let address = piece.dma_address();
        self.pieces.push(piece, GFP_KERNEL)?;
        Ok(address)
    }
}

impl Memory for DmaMemory<'_> {
    fn add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64> {
        let piece = CoherentBox::zeroed_slice(self.dev, len, GFP_KERNEL)?;
        self.add_piece(piece, fill)
    }

    fn try_add(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result) -> Result<u64> {
        const QUIET: (Flags, Attrs) = (__GFP_NOWARN, DMA_ATTR_NO_WARN);
        let (flags, attrs) = QUIET;
        let piece = CoherentBox::zeroed_slice_with_attrs(self.dev, len, GFP_KERNEL | flags, attrs)?;
        self.add_piece(piece, fill)
    }
}
