// SPDX-License-Identifier: GPL-2.0

//! Memory regions: memory of user space that work requests can name.

use super::Provider;
use crate::{
    udata::Udata,
    umem::UserMemory,
    uverbs::AnyMrMethod, //
};
use kernel::prelude::*;
use zerocopy::{
    Immutable,
    IntoBytes, //
};

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

    /// The methods of the driver's own.
    const METHODS: &'static [AnyMrMethod<Self>] = &[];

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

/// A method of a driver's own: what a process can ask of a memory region, beyond verbs.
///
/// All numbers are the driver's choice, from those that the core leaves to drivers, and part of its
/// interface with user space.
pub trait MrMethod<const ANSWERS: usize>: 'static {
    /// Whose memory regions it is for.
    type Provider: MemoryRegions;

    /// What each attribute of the answer holds.
    type Value: IntoBytes + Immutable;

    /// The number of the method.
    const ID: u16;

    /// The attribute by which user space names the memory region.
    const HANDLE: u16;

    /// The attributes of the answer, all of which user space has to give room for.
    const ANSWER: [u16; ANSWERS];

    /// Answers, in the order of [`Self::ANSWER`].
    fn call(
        dev: &<Self::Provider as Provider>::Data<'_>,
        mr: &<Self::Provider as MemoryRegions>::Mr,
    ) -> Result<[Self::Value; ANSWERS]>;
}
