// SPDX-License-Identifier: GPL-2.0

//! What processes map of a device and of its queues.
//!
//! A driver gives a verbs object mappings while it creates it ([`Mappings`]), and tells user space
//! their keys, which are offsets for `mmap()`. They belong to the object from then on: when it is
//! destroyed they cannot be mapped any more. What is mapped already stays, until the process
//! unmaps it or, for a device's pages, the device goes away. A driver whose device gives such pages
//! to somebody else [watches](Watch) for that.

mod entries;

pub use self::entries::Mappings;
pub(crate) use self::entries::{
    free,
    ObjectMappings, //
};

use self::entries::Reference;
use crate::{
    bindings,
    pci::MemoryBars,
    queue_memory::{
        self,
        QueueMemory, //
    }, //
};
use kernel::{
    device::Bound,
    error::to_result,
    mm::virt::VmaNew,
    page::PAGE_SIZE,
    pci,
    prelude::*,
    sync::Arc, //
};

/// How a processor accesses a device's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Each access is one on the bus, in order: doorbells.
    Uncached,
    /// Writes are collected: memory of the device.
    WriteCombining,
}

/// What a process may do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it. A mapping that could write, now or later, is refused.
    ReadOnly,
    /// Read and write it.
    ReadWrite,
}

/// Whole pages of a device that is bound.
///
/// # Invariants
///
/// `pages` are in a memory BAR of `device`, and its interrupts are not set up there.
#[derive(Clone, Copy)]
pub struct IoPages<'a> {
    device: &'a pci::Device<Bound>,
    pages: Pages,
}

impl<'a> IoPages<'a> {
    /// The pages that hold the `len` bytes from `offset` on in a BAR.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: there is no such memory BAR, `len` is 0, or the pages are not all in the BAR.
    /// - `EACCES`: interrupts are set up on one of the pages.
    pub fn of_bar(bars: &MemoryBars<'a>, bar: u32, offset: u64, len: u64) -> Result<Self> {
        let region = bars.get(bar).ok_or(EINVAL)?;
        let pages = Pages::around(region.start, region.len, offset, len).ok_or(EINVAL)?;
        let first = pages.first.checked_sub(region.start).ok_or(EINVAL)?;
        // CAST: `usize` has at most 64 bits.
        if bars.has_interrupts(bar, first, pages.len as u64) {
            return Err(EACCES);
        }
        // INVARIANT: `around` keeps to the BAR, and what has interrupts was refused.
        Ok(Self {
            device: bars.device,
            pages,
        })
    }

    /// The offset in the first page of what the pages were asked for.
    pub fn offset_in_page(&self) -> u32 {
        self.pages.offset
    }
}

/// Whole pages in the memory of the machine, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pages {
    first: u64,
    len: usize,
    /// Where in the first one begins what they were asked for.
    offset: u32,
}

impl Pages {
    /// The pages around a part of a region, unless they reach beyond it.
    fn around(region: u64, region_len: u64, offset: u64, len: u64) -> Option<Self> {
        const PAGE: u64 = PAGE_SIZE as u64;
        let start = region.checked_add(offset)?;
        let end = start.checked_add(len)?;
        let first = start & !(PAGE - 1);
        let pages_end = end.checked_next_multiple_of(PAGE)?;
        if len == 0 || first < region || pages_end > region.checked_add(region_len)? {
            return None;
        }
        Some(Self {
            first,
            len: pages_end.checked_sub(first)?.try_into().ok()?,
            offset: start.checked_sub(first)?.try_into().ok()?,
        })
    }
}

/// Hears when nobody can reach a device's pages any more.
pub trait Watch: Send + Sync {
    /// The object has given the mapping up, and the process has it mapped no more. Children have no
    /// copy of it. Called with locks of a process's memory held, so it should not wait.
    fn unreachable(&self);
}

/// Tells a [`Watch`] when it is dropped.
pub struct Watched(Arc<dyn Watch>);

impl Watched {
    /// Tells `watch`.
    pub fn by(watch: Arc<dyn Watch>) -> Self {
        Self(watch)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.unreachable();
    }
}

/// What a mapping is to show. A process has to map all of it at once, and shared.
pub enum Target<'a> {
    /// Pages of the device, and who hears of their end.
    Device(IoPages<'a>, Caching, Option<Watched>),
    /// Memory of a queue.
    Queue(&'a QueueMemory, Access),
}

/// What a mapping shows.
enum Shown {
    Device(Pages, Caching, Option<Watched>),
    Queue(queue_memory::Pages, Access),
}

impl Shown {
    fn len(&self) -> usize {
        match self {
            Self::Device(pages, ..) => pages.len,
            Self::Queue(pages, _) => pages.len(),
        }
    }
}

/// A call of `mmap()` on a user context.
///
/// # Invariants
///
/// The `mmap` callback of `ucontext`, all of whose entries are [`Entry`](entries::Entry)s, sets up `vma` during
/// `'a`.
pub(crate) struct Request<'a> {
    ucontext: *mut bindings::ib_ucontext,
    vma: &'a VmaNew,
}

impl Request<'_> {
    /// Takes the arguments of the callback.
    ///
    /// # Safety
    ///
    /// The invariants of the type hold for `ucontext`, `vma` and `'a`.
    pub(crate) unsafe fn new(
        ucontext: *mut bindings::ib_ucontext,
        vma: *mut bindings::vm_area_struct,
    ) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            ucontext,
            // SAFETY: By the safety requirements the area is being set up, by us alone.
            vma: unsafe { VmaNew::from_raw(vma) },
        }
    }

    /// Maps what the process asks for.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: there is no such key, the mapping is not shared, or it has another length.
    /// - `EPERM`: it could write what may only be read.
    /// - `ENOMEM`: no memory.
    /// - `EAGAIN`: the device's pages could not be mapped.
    pub(crate) fn map(&self) -> Result {
        let entry = Reference::of(self)?;
        match &entry.shown {
            Shown::Device(pages, caching, watched) => {
                if watched.is_some() {
                    // A child would hold up who waits for the end of this mapping.
                    self.vma.set_dontcopy();
                }
                // SAFETY: By the type invariants this is the callback. By those of the entry the
                // pages are in a memory BAR of the user context's device, and none by which
                // interrupts are set up; this way of mapping revokes them when that device goes
                // away, but for what the core loses count of (Documentation/architecture.md). The
                // function takes a reference to the entry of its own.
                to_result(unsafe {
                    bindings::rdma_user_mmap_io(
                        self.ucontext,
                        self.vma.as_ptr(),
                        // CAST: `unsigned long` has 64 bits where this builds.
                        (pages.first / PAGE_SIZE as u64) as c_ulong,
                        pages.len,
                        self.protection(*caching),
                        entry.as_ptr(),
                    )
                })
            }
            Shown::Queue(pages, access) => map_queue(self.vma, pages, *access),
        }
    }

    /// The offset, in bytes, by which the process names what it asks for.
    pub(crate) fn offset(&self) -> u64 {
        // SAFETY: By the type invariants the area is valid, and ours while it is set up.
        let page = unsafe { (*self.vma.as_ptr()).vm_pgoff };
        // CAST: `unsigned long` has 64 bits where this builds.
        (page as u64).wrapping_mul(PAGE_SIZE as u64)
    }

    /// How the area's pages are to be accessed.
    fn protection(&self, caching: Caching) -> bindings::pgprot_t {
        let vma = self.vma.as_ptr();
        // SAFETY: By the type invariants the area is valid, and ours while it is set up.
        unsafe {
            match caching {
                Caching::Uncached => bindings::rdma_shim_vma_noncached(vma),
                Caching::WriteCombining => bindings::rdma_shim_vma_writecombine(vma),
            }
        }
    }
}

fn map_queue(vma: &VmaNew, pages: &queue_memory::Pages, access: Access) -> Result {
    if access == Access::ReadOnly {
        vma.try_clear_maywrite().map_err(|_| EPERM)?;
    }
    vma.set_dontexpand();
    let mixed = vma.set_mixedmap();
    let addresses = (vma.start()..vma.end()).step_by(PAGE_SIZE);
    for (address, page) in addresses.zip(pages.iter()) {
        mixed.vm_insert_page(address, &page)?;
    }
    Ok(())
}

#[kernel::macros::kunit_tests(rdma_mmap)]
mod tests {
    use super::*;

    const PAGE: u64 = PAGE_SIZE as u64;
    const BAR: u64 = 0x8000_0000;

    fn around(offset: u64, len: u64) -> Option<(u64, usize, u32)> {
        Pages::around(BAR, 4 * PAGE, offset, len)
            .map(|pages| (pages.first, pages.len, pages.offset))
    }

    #[test]
    fn whole_pages_around_a_part_of_a_bar_are_mapped() {
        assert_eq!(around(0, 1), Some((BAR, PAGE_SIZE, 0)));
        assert_eq!(around(8, PAGE), Some((BAR, 2 * PAGE_SIZE, 8)));
        assert_eq!(
            around(3 * PAGE + 0x40, PAGE - 0x40),
            Some((BAR + 3 * PAGE, PAGE_SIZE, 0x40))
        );
        assert_eq!(around(0, 4 * PAGE), Some((BAR, 4 * PAGE_SIZE, 0)));
    }

    #[test]
    fn nothing_outside_a_bar_is_mapped() {
        assert_eq!(around(0, 0), None);
        assert_eq!(around(4 * PAGE, 1), None);
        assert_eq!(around(3 * PAGE, PAGE + 1), None);
        assert_eq!(around(u64::MAX - BAR, 1), None);
        assert_eq!(around(u64::MAX, 1), None);
        assert_eq!(around(0, u64::MAX), None);
        // Pages that a BAR shares with something else.
        assert_eq!(Pages::around(BAR + 0x100, PAGE, 0, 8), None);
        assert_eq!(Pages::around(BAR, 0x100, 0, 8), None);
    }
}
