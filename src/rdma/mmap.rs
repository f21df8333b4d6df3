// SPDX-License-Identifier: GPL-2.0

//! What processes map of a device and of its queues.
//!
//! A driver gives a verbs object mappings while it creates it ([`Mappings`]), and tells user space
//! their keys, which are offsets for `mmap()`. They belong to the object from then on: when it is
//! destroyed they cannot be mapped any more. What is mapped already stays, until the process
//! unmaps it or, for a device's pages, the device goes away.

use crate::{
    bindings,
    pci::{
        is_memory_bar,
        InterruptMemory, //
    },
    queue_memory::QueueMemory, //
};
use core::{
    cell::Cell,
    marker::PhantomData,
    mem::offset_of,
    ptr::NonNull, //
};
use kernel::{
    build_assert::const_assert,
    device::Bound,
    error::to_result,
    mm::virt::VmaNew,
    page::PAGE_SIZE,
    pci,
    prelude::*,
    sync::Arc,
    types::Opaque, //
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

/// Whole pages of a device.
///
/// # Invariants
///
/// They are in a memory BAR, at least one, and interrupts are not set up there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoPages {
    first: u64,
    len: usize,
    offset: u32,
}

impl IoPages {
    /// The pages that hold the `len` bytes from `offset` on in a BAR.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: there is no such memory BAR, `len` is 0, or the pages are not all in the BAR.
    /// - `EACCES`: interrupts are set up on one of the pages.
    pub fn of_bar(
        pdev: &pci::Device<Bound>,
        interrupts: &InterruptMemory,
        bar: u32,
        offset: u64,
        len: u64,
    ) -> Result<Self> {
        if !is_memory_bar(pdev, bar) {
            return Err(EINVAL);
        }
        let start = pdev.resource_start(bar)?;
        // INVARIANT: `around` keeps to the BAR, and what has interrupts is not returned.
        let pages = Self::around(start, pdev.resource_len(bar)?, offset, len).ok_or(EINVAL)?;
        let first = pages.first.checked_sub(start).ok_or(EINVAL)?;
        // CAST: `usize` has at most 64 bits.
        if interrupts.is_in(bar, first, pages.len as u64) {
            return Err(EACCES);
        }
        Ok(pages)
    }

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

    /// The offset in the first page of what the pages were asked for.
    pub fn offset_in_page(&self) -> u32 {
        self.offset
    }

    /// Their size in bytes.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }
}

/// What a mapping shows. A process has to map all of it at once, and shared.
pub enum Target {
    /// Pages of the device.
    Device(IoPages, Caching),
    /// Memory of a queue.
    Queue(Arc<QueueMemory>, Access),
}

impl Target {
    fn len(&self) -> usize {
        match self {
            Self::Device(pages, _) => pages.len(),
            Self::Queue(memory, _) => memory.len(),
        }
    }
}

/// An entry of the RDMA core's table of what a user context can map.
///
/// It keeps what it shows alive, until neither its object nor a mapping of a device's pages needs
/// it.
///
/// # Invariants
///
/// - `base` is at offset 0, so that a pointer to it is a pointer to the whole.
/// - It is on the heap from `KBox`, in the table, and freed by [`free`].
#[repr(C)]
struct Entry {
    base: Opaque<bindings::rdma_user_mmap_entry>,
    /// The next entry of the same object.
    next: Cell<Option<NonNull<Entry>>>,
    target: Target,
}

/// The entries of one object.
///
/// # Invariants
///
/// Has the object's reference to each entry on the list that `head` begins; their user context
/// exists.
struct List {
    head: Option<NonNull<Entry>>,
}

impl Drop for List {
    fn drop(&mut self) {
        while let Some(entry) = self.head {
            // SAFETY: By the type invariants we have a reference to the entry.
            self.head = unsafe { entry.as_ref() }.next.get();
            // SAFETY: As above, and this gives the reference back.
            unsafe { bindings::rdma_user_mmap_entry_remove(entry.as_ptr().cast()) };
        }
    }
}

/// The mappings of an object that is being created.
///
/// Where creating it fails, they are gone with it.
///
/// # Invariants
///
/// `ucontext` is the user context of the running call.
pub struct Mappings<'a> {
    ucontext: NonNull<bindings::ib_ucontext>,
    list: List,
    _call: PhantomData<&'a bindings::ib_ucontext>,
}

impl Mappings<'_> {
    /// No mappings yet, for an object of a user context.
    ///
    /// # Safety
    ///
    /// `ucontext` is the user context of the running call, whose device's operations have
    /// `mmap_free` from [`Operations::with_user_mmap`](crate::provider::Operations).
    pub(crate) unsafe fn new(ucontext: NonNull<bindings::ib_ucontext>) -> Self {
        // INVARIANT: By the safety requirements; an empty list refers to nothing.
        Self {
            ucontext,
            list: List { head: None },
            _call: PhantomData,
        }
    }

    /// Adds a mapping; returns its key.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: no memory, or no keys left in this user context.
    pub fn add(&mut self, target: Target) -> Result<u64> {
        const_assert!(offset_of!(Entry, base) == 0);
        let len = target.len();
        let entry = KBox::new(
            Entry {
                base: Opaque::zeroed(),
                next: Cell::new(self.list.head),
                target,
            },
            GFP_KERNEL,
        )?;
        let entry = NonNull::from(KBox::leak(entry));
        let raw = entry.as_ptr().cast::<bindings::rdma_user_mmap_entry>();

        // SAFETY: By the type invariants the user context is valid. The entry is zeroed memory
        // that stays until `free()`; its length is not 0.
        let inserted = to_result(unsafe {
            bindings::rdma_user_mmap_entry_insert(self.ucontext.as_ptr(), raw, len)
        });
        if let Err(error) = inserted {
            // SAFETY: It came from `KBox::leak()`, and is not in the table.
            drop(unsafe { KBox::from_raw(entry.as_ptr()) });
            return Err(error);
        }
        // INVARIANT: Inserting gave us a reference.
        self.list.head = Some(entry);
        // SAFETY: We have a reference, and the field does not change.
        let page = unsafe { (*raw).start_pgoff } as u64;
        Ok(page.wrapping_mul(PAGE_SIZE as u64))
    }

    /// Hands the mappings over to the object, which was created.
    pub(crate) fn into_owned(self) -> ObjectMappings {
        ObjectMappings { _list: self.list }
    }
}

/// The mappings of an object. They cannot be mapped any more when this is dropped.
///
/// It must be dropped before the user context of its object is gone.
pub(crate) struct ObjectMappings {
    _list: List,
}

// SAFETY: The entries are only reached to remove them, which any thread may do.
unsafe impl Send for ObjectMappings {}
// SAFETY: Shared access offers nothing.
unsafe impl Sync for ObjectMappings {}

/// Maps what a process asks for.
///
/// # Errors
///
/// - `EINVAL`: there is no such key, the mapping is not shared, or it has another length.
/// - `EPERM`: it could write what may only be read.
/// - `ENOMEM`: no memory.
/// - `EAGAIN`: the device's pages could not be mapped.
///
/// # Safety
///
/// This is the `mmap` callback of a device all of whose entries are [`Entry`]s.
pub(crate) unsafe fn map(
    ucontext: *mut bindings::ib_ucontext,
    vma: *mut bindings::vm_area_struct,
) -> Result {
    /// A reference to an entry.
    struct Reference(NonNull<bindings::rdma_user_mmap_entry>);

    impl Drop for Reference {
        fn drop(&mut self) {
            // SAFETY: We have a reference, and give it back.
            unsafe { bindings::rdma_user_mmap_entry_put(self.0.as_ptr()) };
        }
    }

    // SAFETY: Both are valid by the safety requirements.
    let raw = unsafe { bindings::rdma_user_mmap_entry_get(ucontext, vma) };
    let reference = Reference(NonNull::new(raw).ok_or(EINVAL)?);
    // SAFETY: By the safety requirements and the type invariants it is part of an `Entry`, which
    // the reference keeps.
    let entry = unsafe { reference.0.cast::<Entry>().as_ref() };
    match &entry.target {
        // SAFETY: This is the callback, and these are the pages of the entry.
        Target::Device(pages, caching) => unsafe {
            map_device(ucontext, vma, *pages, *caching, reference.0)
        },
        Target::Queue(memory, access) => {
            // SAFETY: The area is being set up, since this is the callback.
            map_queue(unsafe { VmaNew::from_raw(vma) }, memory, *access)
        }
    }
}

/// # Safety
///
/// This is the `mmap` callback, and `entry` the one of `pages`, to which there is a reference.
unsafe fn map_device(
    ucontext: *mut bindings::ib_ucontext,
    vma: *mut bindings::vm_area_struct,
    pages: IoPages,
    caching: Caching,
    entry: NonNull<bindings::rdma_user_mmap_entry>,
) -> Result {
    // SAFETY: The area is valid and ours while it is set up.
    let prot = unsafe {
        match caching {
            Caching::Uncached => bindings::rdma_shim_vma_noncached(vma),
            Caching::WriteCombining => bindings::rdma_shim_vma_writecombine(vma),
        }
    };
    // SAFETY: By the safety requirements. The pages are in a BAR of the device, by the type
    // invariants, and this way of mapping revokes them when the device goes away. The function
    // takes a reference to the entry of its own.
    to_result(unsafe {
        bindings::rdma_user_mmap_io(
            ucontext,
            vma,
            // CAST: `unsigned long` has 64 bits where this builds.
            (pages.first / PAGE_SIZE as u64) as c_ulong,
            pages.len,
            prot,
            entry.as_ptr(),
        )
    })
}

fn map_queue(vma: &VmaNew, memory: &QueueMemory, access: Access) -> Result {
    if access == Access::ReadOnly {
        vma.try_clear_maywrite().map_err(|_| EPERM)?;
    }
    vma.set_dontexpand();
    let mixed = vma.set_mixedmap();
    let addresses = (vma.start()..vma.end()).step_by(PAGE_SIZE);
    for (address, page) in addresses.zip(memory.pages()) {
        mixed.vm_insert_page(address, &page)?;
    }
    Ok(())
}

/// Frees an entry that nobody needs any more.
///
/// # Safety
///
/// This is the `mmap_free` callback of a device all of whose entries are [`Entry`]s.
pub(crate) unsafe fn free(entry: *mut bindings::rdma_user_mmap_entry) {
    // SAFETY: By the safety requirements and the type invariants it is part of an `Entry` from
    // `KBox::leak()`, and nobody has a reference to it.
    drop(unsafe { KBox::from_raw(entry.cast::<Entry>()) });
}

#[kernel::macros::kunit_tests(rdma_mmap)]
mod tests {
    use super::*;

    const PAGE: u64 = PAGE_SIZE as u64;
    const BAR: u64 = 0x8000_0000;

    fn around(offset: u64, len: u64) -> Option<(u64, usize, u32)> {
        IoPages::around(BAR, 4 * PAGE, offset, len)
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
        assert_eq!(IoPages::around(BAR + 0x100, PAGE, 0, 8), None);
        assert_eq!(IoPages::around(BAR, 0x100, 0, 8), None);
    }
}
