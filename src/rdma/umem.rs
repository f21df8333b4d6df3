// SPDX-License-Identifier: GPL-2.0

//! Memory of user space that a device may use: pinned, and mapped for DMA.
//!
//! C header: `include/rdma/ib_umem.h`

use crate::{
    bindings,
    dma::{
        Disclosure,
        HasDmaAddress,
        Lent, //
    },
    reach::{
        NotShared,
        Reach, //
    }, //
};
use core::{
    marker::PhantomData,
    mem::{
        offset_of,
        MaybeUninit, //
    },
    num::NonZeroU64,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    build_assert::const_assert,
    device,
    error::from_err_ptr,
    page::PAGE_SIZE,
    prelude::*,
    scatterlist::SGTable,
    sync::aref::ARef, //
};

/// What a device may do to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Access(u32);

impl Access {
    /// The device itself may write.
    pub const LOCAL_WRITE: Self = Self(bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE);
    /// Remote devices may write.
    pub const REMOTE_WRITE: Self = Self(bindings::ib_access_flags_IB_ACCESS_REMOTE_WRITE);
    /// Remote devices may read.
    pub const REMOTE_READ: Self = Self(bindings::ib_access_flags_IB_ACCESS_REMOTE_READ);

    /// None.
    pub const NONE: Self = Self(0);

    /// The access with these flags of the RDMA core.
    pub const fn from_raw(flags: u32) -> Self {
        Self(flags)
    }

    /// Without what a driver may ignore.
    pub const fn required(self) -> Self {
        Self(self.0 & !bindings::ib_access_flags_IB_ACCESS_OPTIONAL)
    }

    /// Says whether all of `other` is in this.
    pub const fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Both together.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags as the RDMA core has them.
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

enum Source {
    Address(u64),
    DmaBuf { fd: c_int, offset: u64 },
}

/// Memory that the process which makes a verbs call named in it.
///
/// # Invariants
///
/// `ibdev` is a registered device, a verbs call of which runs during `'a` in the context of the
/// process that made it.
pub struct UserMemory<'a> {
    ibdev: *mut bindings::ib_device,
    source: Source,
    len: u64,
    access: Access,
    _call: PhantomData<&'a ()>,
}

impl UserMemory<'_> {
    /// Memory at an address of the process.
    ///
    /// # Safety
    ///
    /// The invariants of the type hold for `ibdev` and `'a`.
    pub(crate) unsafe fn at_address(
        ibdev: *mut bindings::ib_device,
        address: u64,
        len: u64,
        access: Access,
    ) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            ibdev,
            source: Source::Address(address),
            len,
            access,
            _call: PhantomData,
        }
    }

    /// Memory at an offset in a dmabuf of the process.
    ///
    /// # Safety
    ///
    /// The invariants of the type hold for `ibdev` and `'a`.
    pub(crate) unsafe fn in_dmabuf(
        ibdev: *mut bindings::ib_device,
        fd: c_int,
        offset: u64,
        len: u64,
        access: Access,
    ) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            ibdev,
            source: Source::DmaBuf { fd, offset },
            len,
            access,
            _call: PhantomData,
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Says whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the device is to be allowed.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Says whether the process may lock so much memory more. A dmabuf is not locked.
    pub fn is_within_limit(&self) -> bool {
        let Source::Address(address) = self.source else {
            return true;
        };
        let page = PAGE_SIZE as u64;
        let pages = (address % page).saturating_add(self.len).div_ceil(page);
        // SAFETY: By the type invariants the process that made the call runs, and has memory.
        let (pinned, limit, is_free) = unsafe {
            (
                bindings::rdma_shim_pinned_pages(),
                bindings::rdma_shim_memlock_limit(),
                bindings::rdma_shim_may_pin_without_limit(),
            )
        };
        is_free || pinned.saturating_add(pages) <= limit / page
    }

    /// Says whether an IOMMU, which has so many addresses and no more, stands before the device.
    pub fn is_behind_iommu(&self) -> bool {
        // SAFETY: By the type invariants the device is registered, and so has a DMA device.
        unsafe { bindings::rdma_shim_is_behind_iommu((*self.ibdev).dma_device) }
    }

    /// Pins the memory and maps it for DMA.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: the memory is empty, wraps around, or is not in the dmabuf.
    /// - `EFAULT`: it is not the process's, or not writable where the device is to write.
    /// - `EBADF`: there is no such file descriptor. `EINVAL`: it is not a dmabuf.
    /// - `EPERM`, `ENOMEM`: the process may not lock (so much) memory, or there is none, or the device
    ///   has no addresses left.
    /// - `EINTR`: the process was killed.
    /// - `EOPNOTSUPP`: memory of this kind cannot be pinned.
    /// - What else [`NotShared`] says.
    pub fn pin(&self) -> Result<Umem, NotShared> {
        let len = self.len.try_into().map_err(Error::from)?;
        // CAST: The flags are few, and the core itself has them signed.
        let access = self.access.0 as c_int;
        const_assert!(offset_of!(bindings::ib_umem_dmabuf, umem) == 0);
        // SAFETY: By the type invariants the device is valid and registered, and the process is the
        // one whose memory it is. Without attributes only the address counts, and a file descriptor
        // is looked up in the process that named it. What the core returns is ours.
        let umem = unsafe {
            let reach = Reach::of_raw((*self.ibdev).dma_device)?;
            let raw = match self.source {
                Source::Address(address) => bindings::ib_umem_get_attr_or_va(
                    self.ibdev,
                    ptr::null(),
                    0,
                    address,
                    len,
                    access,
                ),
                Source::DmaBuf { fd, offset } => {
                    let offset = offset.try_into().map_err(Error::from)?;
                    let ibdev = self.ibdev;
                    // CAST: The umem is the first member; an error is one of either.
                    bindings::ib_umem_dmabuf_get_pinned(ibdev, offset, len, fd, access).cast()
                }
            };
            Umem::from_raw(raw, reach)
        };
        match (umem, &self.source) {
            // That is how exporters refuse who cannot be revoked, or wants to pin.
            (Err(NotShared::Failed(EOPNOTSUPP)), Source::DmaBuf { .. }) => {
                Err(NotShared::OnlyRevocable)
            }
            (umem, _) => umem?.ok_or(NotShared::Failed(EINVAL)),
        }
    }
}

/// Pinned memory of user space, mapped for DMA by one device.
///
/// It is unmapped and unpinned when this is dropped. A device gets it as [`Lent`].
///
/// # Invariants
///
/// `raw` points to a umem that is pinned and mapped, and that this owns. The devices are the one
/// that it belongs to and the one that it was mapped for.
pub struct Umem {
    raw: NonNull<bindings::ib_umem>,
    _rdma_device: ARef<device::Device>,
    _dma_device: ARef<device::Device>,
}

// SAFETY: A umem is not tied to the task that pinned it.
unsafe impl Send for Umem {}

// SAFETY: Shared access only reads what does not change while it is shared.
unsafe impl Sync for Umem {}

impl Umem {
    /// Takes what a function of the core returned: a umem, null (`None`), or an error.
    ///
    /// # Errors
    ///
    /// The error; [`NotShared::OutOfReach`]: some of the memory is beyond the device's `reach`.
    ///
    /// # Safety
    ///
    /// `raw` is such a value, and a umem belongs to the caller, whose device is registered.
    pub(crate) unsafe fn from_raw(
        raw: *mut bindings::ib_umem,
        reach: Reach,
    ) -> Result<Option<Self>, NotShared> {
        let Some(raw) = NonNull::new(from_err_ptr(raw)?) else {
            return Ok(None);
        };
        // SAFETY: By the safety requirements the umem and its device are valid. The device's own
        // `struct device` shares the place of the anonymous union; while it is registered it has
        // a DMA device.
        let (rdma_device, dma_device) = unsafe {
            let ibdev = (*raw.as_ptr()).ibdev;
            let own = &raw mut (*ibdev).__bindgen_anon_1;
            (
                device::Device::get_device(own.cast()),
                device::Device::get_device((*ibdev).dma_device),
            )
        };
        // INVARIANT: By the safety requirements of this function.
        let umem = Self {
            raw,
            _rdma_device: rdma_device,
            _dma_device: dma_device,
        };
        if !reach.is_enforced() {
            umem.check(reach)?;
        }
        Ok(Some(umem))
    }

    /// Checks that all of it is in the device's reach.
    fn check(&self, reach: Reach) -> Result<(), NotShared> {
        // SAFETY: By the type invariants the umem is mapped, and its table stays as it is.
        let table = unsafe { SGTable::from_raw(&raw mut (*self.raw.as_ptr()).sgt_append.sgt) };
        table
            .iter()
            .try_for_each(|entry| reach.check(entry.dma_address(), entry.dma_len()))
    }

    /// How many bytes beyond a multiple of `alignment` the device finds its first byte.
    pub fn misalignment(&self, alignment: NonZeroU64) -> u64 {
        self.raw_dma_address() % alignment
    }

    fn raw_dma_address(&self) -> u64 {
        // SAFETY: By the type invariants the umem is mapped.
        unsafe { bindings::rdma_shim_umem_dma_address(self.raw.as_ptr()) }
    }

    /// Says whether it is one piece for the device.
    pub fn is_contiguous(&mut self) -> bool {
        // SAFETY: By the type invariants the umem is mapped, and nobody else uses it.
        unsafe { bindings::rdma_shim_umem_is_contiguous(self.raw.as_ptr()) }
    }
}

// SAFETY: By the type invariants the memory is pinned and mapped until `self` is dropped.
unsafe impl HasDmaAddress for Umem {
    /// Where its first byte is.
    fn dma_address(&self, _lent: &Disclosure) -> u64 {
        self.raw_dma_address()
    }
}

impl<End> Lent<Umem, End> {
    /// Cuts it in blocks of one size, the largest in `sizes` (bit N: 2^N bytes) with which a
    /// device finds its way from addresses that begin at `iova` to the memory. It is lent from now
    /// on.
    ///
    /// `None` where no size will do, or where the addresses wrap around.
    pub fn blocks(&mut self, sizes: u64, iova: u64) -> Option<Blocks<'_>> {
        let sizes = sizes.try_into().ok()?;
        let umem = self.lend();
        // SAFETY: By the type invariants the umem is mapped, and nobody else uses it.
        let size = unsafe { bindings::ib_umem_find_best_pgsz(umem.raw.as_ptr(), sizes, iova) };
        // CAST: Both are 64 bits, or the one less.
        let size = NonZeroU64::new(size as u64)?;
        // INVARIANT: The size was just computed, and the exclusive borrow keeps it right.
        Some(Blocks { umem, size })
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the umem is ours, and its devices are still there.
        unsafe { bindings::ib_umem_release(self.raw.as_ptr()) };
    }
}

/// A umem cut in blocks of one size.
///
/// # Invariants
///
/// `size` is a power of two that `ib_umem_find_best_pgsz()` returned last for this umem.
pub struct Blocks<'a> {
    umem: &'a Umem,
    size: NonZeroU64,
}

impl Blocks<'_> {
    /// The logarithm of the size in bytes.
    pub fn shift(&self) -> u32 {
        self.size.trailing_zeros()
    }

    /// The number of blocks.
    pub fn count(&self) -> usize {
        // SAFETY: The umem is valid.
        unsafe { bindings::rdma_shim_umem_num_dma_blocks(self.umem.raw.as_ptr(), self.raw_size()) }
    }

    /// The DMA addresses of the blocks, each aligned to their size.
    pub fn addresses(&self) -> BlockAddresses<'_> {
        let mut iter = MaybeUninit::uninit();
        // INVARIANT: `self` keeps the umem, and with it its mapping.
        // SAFETY: The umem is mapped, and `size` was made for it by the type invariants; the
        // function initialises all of the iterator.
        let iter = unsafe {
            bindings::rdma_shim_umem_blocks_start(
                iter.as_mut_ptr(),
                self.umem.raw.as_ptr(),
                self.raw_size(),
            );
            iter.assume_init()
        };
        BlockAddresses {
            iter,
            _umem: PhantomData,
        }
    }

    fn raw_size(&self) -> c_ulong {
        // CAST: It came from this type.
        self.size.get() as c_ulong
    }
}

/// The DMA addresses of [`Blocks`], written in the order of the memory.
///
/// # Invariants
///
/// `iter` was initialised for a umem that stays mapped during `'a`, and only the functions of the
/// core have moved it since.
pub struct BlockAddresses<'a> {
    iter: bindings::ib_block_iter,
    _umem: PhantomData<&'a Umem>,
}

impl BlockAddresses<'_> {
    /// Fills `list` with the next addresses, 8 bytes each, the least significant first.
    ///
    /// All at once, since a large region has some 100,000 of them.
    ///
    /// # Errors
    ///
    /// `EINVAL`: there are fewer addresses than have room in `list`.
    pub fn fill(&mut self, list: &mut [u8]) -> Result {
        let count = list.len() / size_of::<u64>();
        // SAFETY: By the type invariants the iterator is one of a mapped umem. So many addresses
        // have room in the list, which is ours to write; it needs no alignment.
        let written = unsafe {
            bindings::rdma_shim_umem_blocks_write(&mut self.iter, list.as_mut_ptr(), count)
        };
        if written == count {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }
}
