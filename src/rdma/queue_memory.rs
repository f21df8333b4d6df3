// SPDX-License-Identifier: GPL-2.0

//! Memory of queues that a device and a process share.
//!
//! The kernel crate's `Coherent` cannot be mapped into a process. Here whole pages are mapped for
//! DMA once, and stay coherent without being synchronised: where the machine cannot do that
//! (bounce buffers, caches that do not snoop), the allocation fails instead. They are where the
//! device reaches them.

use crate::{
    bindings,
    dma::{
        Disclosure,
        HasDmaAddress, //
    },
    pci::dev_as_raw,
    reach::{
        NotShared,
        Reach, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    device::{
        self,
        Bound, //
    },
    dma::DataDirection,
    page::{
        page_align,
        BorrowedPage,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::aref::ARef, //
};

/// The memory must be coherent: neither device nor process say when they look at it.
const DMA_ATTRS: c_ulong = bindings::DMA_ATTR_REQUIRE_COHERENT as c_ulong;

/// Where memory may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    Any,
    /// In reach of each device.
    Below4Gib,
}

/// Zeroed pages that follow each other, which stay until the last clone goes.
///
/// # Invariants
///
/// `start` is that of `len` bytes from `alloc_pages_exact()`; `len` is a multiple of the page size
/// and not 0. Has a reference to each page.
pub(crate) struct Pages {
    start: NonNull<c_void>,
    len: usize,
}

// SAFETY: References to pages are not tied to a thread.
unsafe impl Send for Pages {}
// SAFETY: Shared access takes references to pages; the memory's content is not touched.
unsafe impl Sync for Pages {}

impl Pages {
    fn new(len: usize, zone: Zone) -> Result<Self> {
        let len = page_align(len).filter(|len| *len != 0).ok_or(EINVAL)?;
        // SAFETY: The function can always be called; it may sleep, as callers of this one may.
        let start = unsafe { bindings::rdma_shim_alloc_pages_exact(len, zone == Zone::Below4Gib) };
        let start = NonNull::new(start).ok_or(ENOMEM)?;
        // INVARIANT: Allocated just now, which is a reference to each page.
        Ok(Self { start, len })
    }

    /// Their size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Each of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = BorrowedPage<'_>> {
        (0..self.len).step_by(PAGE_SIZE).filter_map(|offset| {
            // SAFETY: `offset` is less than `len`, and by the type invariants the memory is of
            // that size and from the page allocator: the address has a page, which is there for as
            // long as `self` is.
            unsafe {
                let address = self.start.as_ptr().wrapping_byte_add(offset);
                NonNull::new(bindings::rdma_shim_virt_to_page(address))
                    .map(|page| BorrowedPage::from_raw(page))
            }
        })
    }
}

impl Clone for Pages {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariants there are pages of that size, each with our reference.
        unsafe { bindings::rdma_shim_get_pages(self.start.as_ptr(), self.len) };
        // INVARIANT: The references were taken just now.
        Self {
            start: self.start,
            len: self.len,
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the memory is allocated so, and each page has a reference
        // that is ours: this gives up no more. A process that has pages mapped holds its own.
        unsafe { bindings::free_pages_exact(self.start.as_ptr(), self.len) };
    }
}

/// Zeroed pages, contiguous for the device, that it reads or writes by DMA.
///
/// They are charged to the memory cgroup of the process that asks for them. Where there is no memory,
/// or none within the cgroup's limit, asking fails; no process is killed for it.
///
/// A process that may map them has them as long as it wants, also when this is dropped: each page
/// has its own reference count. A device gets them as [`Lent`](crate::dma::Lent).
///
/// # Invariants
///
/// `pages` are mapped for `dev` at `dma_address`, in `direction`.
pub struct QueueMemory {
    dev: ARef<device::Device>,
    pages: Pages,
    dma_address: u64,
    direction: DataDirection,
}

// SAFETY: Pages and DMA mappings are not tied to a thread.
unsafe impl Send for QueueMemory {}
// SAFETY: Shared access reads plain values and takes references on pages; the memory's content is
// not touched.
unsafe impl Sync for QueueMemory {}

impl QueueMemory {
    /// Allocates `len` bytes, rounded up to whole pages, that the device will access in
    /// `direction`.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: `len` is 0 or absurd.
    /// - `ENOMEM`: there is no contiguous memory of this size, or no room in the IOMMU.
    /// - What else [`NotShared`] says: the machine has no memory that it can share with the device.
    pub fn new(
        dev: &device::Device<Bound>,
        len: usize,
        direction: DataDirection,
    ) -> Result<Self, NotShared> {
        let reach = Reach::of(dev)?;
        match Self::in_zone(dev, reach, len, direction, Zone::Any) {
            Err(NotShared::OutOfReach { .. }) => {
                Self::in_zone(dev, reach, len, direction, Zone::Below4Gib)
            }
            other => other,
        }
    }

    fn in_zone(
        dev: &device::Device<Bound>,
        reach: Reach,
        len: usize,
        direction: DataDirection,
        zone: Zone,
    ) -> Result<Self, NotShared> {
        let pages = Pages::new(len, zone)?;
        let raw = dev_as_raw(dev);
        // SAFETY: The device is bound and does DMA; the memory is `len` bytes of kernel memory
        // that was allocated just now. The address is what mapping returned.
        let (dma_address, error) = unsafe {
            let dma_address = bindings::dma_map_page_attrs(
                raw,
                bindings::rdma_shim_virt_to_page(pages.start.as_ptr()),
                0,
                pages.len,
                direction.into(),
                DMA_ATTRS,
            );
            let error = bindings::rdma_shim_dma_mapping_error(raw, dma_address);
            (dma_address, error)
        };
        if error != 0 {
            return Err(ENOMEM.into());
        }
        // INVARIANT: Mapped just now.
        let memory = Self {
            dev: dev.into(),
            pages,
            dma_address,
            direction,
        };
        // CAST: `usize` has at most 64 bits.
        reach.check(dma_address, memory.len() as u64)?;
        Ok(memory)
    }

    /// Its size in bytes: whole pages, at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.pages.len
    }

    /// The pages, for processes to map.
    pub(crate) fn share(&self) -> Pages {
        self.pages.clone()
    }
}

// SAFETY: By the type invariants the memory is mapped there until `self` is dropped.
unsafe impl HasDmaAddress for QueueMemory {
    fn dma_address(&self, _lent: &Disclosure) -> u64 {
        self.dma_address
    }
}

impl Drop for QueueMemory {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the memory is mapped so. The device does not use it: it
        // was never lent, or `Lent` dropped it after a proof.
        unsafe {
            bindings::dma_unmap_page_attrs(
                dev_as_raw(&self.dev),
                self.dma_address,
                self.pages.len,
                self.direction.into(),
                DMA_ATTRS,
            );
        }
    }
}
