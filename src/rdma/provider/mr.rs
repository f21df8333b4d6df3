// SPDX-License-Identifier: GPL-2.0

//! Memory regions: memory of user space that work requests can name.

use super::Provider;
use crate::{
    udata::Udata,
    umem::UserMemory, //
};
use kernel::prelude::*;

/// A memory region to be.
pub struct MrRequest<'a> {
    /// The memory, and what may be done to it.
    pub memory: UserMemory<'a>,
    /// The address that work requests will have for its first byte. It has the same offset in a
    /// page as the memory.
    pub iova: u64,
    /// User space wants the accesses to have a DMA handle (steering tags and the like).
    pub has_dma_handle: bool,
}

/// A new memory region.
pub struct NewMr<T> {
    /// The key by which local work requests name it.
    pub lkey: u32,
    /// The key by which remote ones do.
    pub rkey: u32,
    /// The driver's part.
    pub data: T,
}

/// A provider of memory regions.
pub trait MemoryRegions: Provider {
    /// The driver's part of a memory region. It owns the pinned memory.
    type Mr: Send + Sync + 'static;

    /// Registers memory, of the process or of a dmabuf.
    fn reg_user_mr(
        dev: &Self::Data<'_>,
        pd: &Self::Pd,
        request: &MrRequest<'_>,
        udata: &Udata<'_>,
    ) -> Result<NewMr<Self::Mr>>;

    /// Makes the device let go of a memory region, since user space asks for it. Then it is
    /// dropped.
    ///
    /// Where that fails the region stays, and user space may ask again. But it does not stay where
    /// the error is `ENODEV`, which says that no later try can succeed: then [`Self::end_mr`] is
    /// called.
    fn dereg_mr(dev: &Self::Data<'_>, mr: &Self::Mr) -> Result;

    /// Ends a memory region whose end must not fail: its context is closing, or the device is gone.
    fn end_mr(dev: &Self::Data<'_>, mr: Self::Mr);
}
