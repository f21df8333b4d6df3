// SPDX-License-Identifier: GPL-2.0

//! The entries of an object in the RDMA core's table of what a user context can map.

use super::{
    IoPages,
    Request,
    Shown,
    Target, //
};
use crate::{
    bindings,
    pci::dev_as_raw, //
};
use core::{
    array,
    cell::{
        Cell,
        UnsafeCell, //
    },
    marker::PhantomData,
    mem::{
        offset_of,
        MaybeUninit, //
    },
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    build_assert::const_assert,
    device::Bound,
    error::to_result,
    page::PAGE_SIZE,
    pci,
    prelude::*,
    sync::{
        atomic::{
            ordering::Full,
            Atomic, //
        },
        Refcount, //
    },
    types::Opaque, //
};

/// So many mappings an object can have: two rings, with a doorbell each.
const MAX_ENTRIES: usize = 4;

/// An entry of the table.
///
/// It keeps what it shows alive, until neither its object nor a mapping of a device's pages needs
/// it.
///
/// # Invariants
///
/// - `base` is at offset 0, so that a pointer to it is a pointer to the whole.
/// - It is in `block`, and one of those who hold it, until [`free`].
/// - Pages of a device are those of an [`IoPages`] of the device that its user context is of.
#[repr(C)]
pub(super) struct Entry {
    base: Opaque<bindings::rdma_user_mmap_entry>,
    block: NonNull<Block>,
    pub(super) shown: Shown,
}

/// All entries of an object, which come at once and go one by one.
///
/// # Invariants
///
/// - It is on the heap from `KBox`, and freed by the last who gives up its hold.
/// - The first `len` places have an entry, which is in the table until [`free`]. Whoever has the
///   [`List`] alone has `len`, and the places behind.
struct Block {
    /// The list, and each entry.
    holds: Refcount,
    len: Cell<usize>,
    entries: [UnsafeCell<MaybeUninit<Entry>>; MAX_ENTRIES],
}

impl Block {
    /// One without entries, whose one hold is the caller's.
    fn new() -> Result<NonNull<Self>> {
        // INVARIANT: From a `KBox`, and no place has an entry.
        let block = KBox::new(
            Self {
                holds: Refcount::new(1),
                len: Cell::new(0),
                entries: array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
            },
            GFP_KERNEL_ACCOUNT,
        )?;
        Ok(NonNull::from(KBox::leak(block)))
    }

    /// Gives up a hold.
    ///
    /// # Safety
    ///
    /// The hold is the caller's, who does not use the block any more.
    unsafe fn put(block: NonNull<Self>) {
        // SAFETY: By the safety requirements the block is held. Once nobody holds it any more it is
        // ours, and by the type invariants from a `KBox`.
        unsafe {
            if block.as_ref().holds.dec_and_test() {
                drop(KBox::from_raw(block.as_ptr()));
            }
        }
    }
}

/// The entries of one object.
///
/// # Invariants
///
/// `block` is null, or one that this holds, with a reference to each of its entries; their user
/// context exists.
struct List {
    block: Atomic<*mut Block>,
}

// SAFETY: The entries are only reached to remove them, which any thread may do.
unsafe impl Send for List {}
// SAFETY: Whoever takes the block out has it alone.
unsafe impl Sync for List {}

impl List {
    /// No entries.
    fn new() -> Self {
        // INVARIANT: No block.
        Self {
            block: Atomic::new(ptr::null_mut()),
        }
    }

    /// The block, which is made now if there is none. Only where nobody else has the list.
    fn block(&mut self) -> Result<NonNull<Block>> {
        let place = self.block.get_mut();
        if let Some(block) = NonNull::new(*place) {
            return Ok(block);
        }
        let block = Block::new()?;
        // INVARIANT: The hold was ours, and there are no entries.
        *place = block.as_ptr();
        Ok(block)
    }

    /// Removes all entries.
    fn clear(&self) {
        // INVARIANT: The list has no block, and its hold and references are ours.
        let Some(block) = NonNull::new(self.block.xchg(ptr::null_mut(), Full)) else {
            return;
        };
        // SAFETY: The hold is ours, until the end.
        unsafe {
            let Block { len, entries, .. } = block.as_ref();
            for entry in entries.iter().take(len.get()) {
                // By the type invariants it is in the table, with a reference, which this gives up.
                bindings::rdma_user_mmap_entry_remove(entry.get().cast());
            }
            Block::put(block);
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        self.clear();
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
        // INVARIANT: By the safety requirements.
        Self {
            ucontext,
            list: List::new(),
            _call: PhantomData,
        }
    }

    /// Adds a mapping; returns its key.
    ///
    /// # Errors
    ///
    /// - `ENOMEM`: no memory, or no keys left in this user context.
    /// - `EINVAL`: the pages are not those of the user context's device.
    /// - `ENOSPC`: the object has four mappings.
    pub fn add(&mut self, target: Target<'_>) -> Result<u64> {
        const_assert!(offset_of!(Entry, base) == 0);
        let shown = match target {
            Target::Device(pages, caching, watched) => {
                self.expect_own(&pages)?;
                Shown::Device(pages.pages, caching, watched)
            }
            Target::Queue(memory, access) => Shown::Queue(memory.share(), access),
        };
        let len = shown.len();
        let block = self.list.block()?;
        // SAFETY: By the type invariants the list holds it, and `&mut self` says that it stays.
        let Block {
            holds,
            len: count,
            entries,
        } = unsafe { block.as_ref() };
        let place = entries.get(count.get()).ok_or(ENOSPC)?;
        let entry: *mut Entry = place.get().cast();

        holds.inc();
        let base = Opaque::zeroed();
        let raw = entry.cast::<bindings::rdma_user_mmap_entry>();
        // INVARIANT: The hold was taken for the entry, and `expect_own` looked at the pages.
        // SAFETY: The place is ours, since it is behind the entries that there are. By the type
        // invariants the user context is valid. The entry is zeroed memory that, once it is in the
        // table, stays until `free()`; its length is not 0. Where it is in the table we have a
        // reference, and the field does not change; else nobody knows of it.
        let page = unsafe {
            entry.write(Entry { base, block, shown });
            let inserted = bindings::rdma_user_mmap_entry_insert(self.ucontext.as_ptr(), raw, len);
            to_result(inserted).inspect_err(|_| free(raw))?;
            (*raw).start_pgoff as u64
        };
        // INVARIANT: It is in the table, and inserting gave us the reference.
        count.set(count.get().saturating_add(1));
        Ok(page.wrapping_mul(PAGE_SIZE as u64))
    }

    /// Checks that the pages are those of the device behind the user context: mappings are revoked
    /// when that goes away.
    fn expect_own(&self, pages: &IoPages<'_>) -> Result {
        let device: &pci::Device<Bound> = pages.device;
        // SAFETY: By the type invariants the user context is that of a running call, so that its
        // device is registered.
        let own = unsafe { (*self.ucontext.as_ref().device).dma_device };
        match ptr::eq(own, dev_as_raw(device.as_ref())) {
            true => Ok(()),
            false => Err(EINVAL),
        }
    }

    /// Gives all of them up: what is mapped stays mapped, and nothing more can be.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Hands the mappings over to the object, which was created.
    pub(crate) fn into_owned(self) -> ObjectMappings {
        ObjectMappings(self.list)
    }
}

/// The mappings of an object. They cannot be mapped any more when this is dropped.
///
/// It must be dropped before the user context of its object is gone.
pub(crate) struct ObjectMappings(List);

impl ObjectMappings {
    /// Gives all of them up: what is mapped stays mapped, and nothing more can be.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }
}

/// A reference to an entry.
///
/// # Invariants
///
/// It points to an [`Entry`] in the table, and owns one of its references.
pub(super) struct Reference(NonNull<Entry>);

impl Reference {
    /// The entry that a call of `mmap()` is for.
    ///
    /// # Errors
    ///
    /// `EINVAL`: there is none.
    pub(super) fn of(request: &Request<'_>) -> Result<Self> {
        // SAFETY: By the type invariants of the request both are valid.
        let raw =
            unsafe { bindings::rdma_user_mmap_entry_get(request.ucontext, request.vma.as_ptr()) };
        // INVARIANT: By those it is part of an `Entry`, and the reference is ours.
        NonNull::new(raw.cast()).map(Self).ok_or(EINVAL)
    }

    /// What the core knows it as.
    pub(super) fn as_ptr(&self) -> *mut bindings::rdma_user_mmap_entry {
        self.0.as_ptr().cast()
    }
}

impl Deref for Reference {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        // SAFETY: By the type invariants the entry is there, and nobody changes it.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the reference is ours, and this gives it back.
        unsafe { bindings::rdma_user_mmap_entry_put(self.as_ptr()) };
    }
}

/// Ends an entry that nobody needs any more.
///
/// # Safety
///
/// `entry` is part of an [`Entry`] to which nobody has a reference: this is the `mmap_free` callback
/// of a device all of whose entries are such, or it was never in the table.
pub(crate) unsafe fn free(entry: *mut bindings::rdma_user_mmap_entry) {
    let entry = entry.cast::<Entry>();
    // SAFETY: By the safety requirements and the type invariants the entry is there, as long as its
    // hold on the block, which is given up last.
    unsafe {
        let block = (*entry).block;
        ptr::drop_in_place(&raw mut (*entry).shown);
        Block::put(block);
    }
}
