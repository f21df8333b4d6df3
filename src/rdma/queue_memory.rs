// SPDX-License-Identifier: GPL-2.0

//! Memory of queues that a device and a process share.
//!
//! The kernel crate's `Coherent` cannot be mapped into a process. Here whole pages are mapped for
//! DMA once, and stay coherent without being synchronised: where the machine cannot do that
//! (bounce buffers, caches that do not snoop), the allocation fails instead.

use crate::{
    bindings,
    dma::{
        Disclosure,
        HasDmaAddress, //
    },
    pci::dev_as_raw, //
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

/// Zeroed pages, contiguous for the device, that it reads or writes by DMA.
///
/// They are charged to the memory cgroup of the process that asks for them. Where there is no memory,
/// or none within the cgroup's limit, asking fails; no process is killed for it.
///
/// A process that maps them has them as long as it wants, also when this is dropped: each page has
/// its own reference count. A device gets them as [`Lent`](crate::dma::Lent).
///
/// # Invariants
///
/// - `pages` are `len` bytes from `alloc_pages_exact()`, `len` is a multiple of the page size and
///   not 0.
/// - They are mapped for `dev` at `dma_address`, in `direction`.
pub struct QueueMemory {
    dev: ARef<device::Device>,
    pages: NonNull<c_void>,
    len: usize,
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
    /// - `ENOMEM`: there is no contiguous memory of this size, or it cannot be shared with the
    ///   device coherently.
    pub fn new(dev: &device::Device<Bound>, len: usize, direction: DataDirection) -> Result<Self> {
        let len = page_align(len).filter(|len| *len != 0).ok_or(EINVAL)?;
        // SAFETY: The function can always be called; it may sleep, as callers of this one may.
        let pages = unsafe { bindings::rdma_shim_alloc_pages_exact(len) };
        let pages = NonNull::new(pages).ok_or(ENOMEM)?;

        let raw = dev_as_raw(dev);
        // SAFETY: The device is bound and does DMA; the memory is `len` bytes of kernel memory
        // that was allocated just now.
        let dma_address = unsafe {
            bindings::dma_map_page_attrs(
                raw,
                bindings::rdma_shim_virt_to_page(pages.as_ptr()),
                0,
                len,
                direction.into(),
                DMA_ATTRS,
            )
        };
        // SAFETY: The device is valid; the address is what mapping returned.
        if unsafe { bindings::rdma_shim_dma_mapping_error(raw, dma_address) } != 0 {
            // SAFETY: Allocated above with this length, and not used by anybody.
            unsafe { bindings::free_pages_exact(pages.as_ptr(), len) };
            return Err(ENOMEM);
        }

        // INVARIANT: Allocated and mapped just now.
        Ok(Self {
            dev: dev.into(),
            pages,
            len,
            dma_address,
            direction,
        })
    }

    /// Its size in bytes: whole pages, at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The pages in order.
    pub(crate) fn pages(&self) -> impl Iterator<Item = BorrowedPage<'_>> {
        (0..self.len).step_by(PAGE_SIZE).filter_map(|offset| {
            // SAFETY: `offset` is less than `len`, and by the type invariants the memory is of
            // that size and from the page allocator: the address has a page, which is there for as
            // long as `self` is.
            unsafe {
                let address = self.pages.as_ptr().wrapping_byte_add(offset);
                NonNull::new(bindings::rdma_shim_virt_to_page(address))
                    .map(|page| BorrowedPage::from_raw(page))
            }
        })
    }
}

impl HasDmaAddress for QueueMemory {
    fn dma_address(&self, _lent: &Disclosure) -> u64 {
        self.dma_address
    }
}

impl Drop for QueueMemory {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the memory is mapped and allocated so. The device does
        // not use it: it was never lent, or `Lent` dropped it after a proof. A process that has
        // pages mapped holds references to them.
        unsafe {
            bindings::dma_unmap_page_attrs(
                dev_as_raw(&self.dev),
                self.dma_address,
                self.len,
                self.direction.into(),
                DMA_ATTRS,
            );
            bindings::free_pages_exact(self.pages.as_ptr(), self.len);
        }
    }
}
