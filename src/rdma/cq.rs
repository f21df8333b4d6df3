// SPDX-License-Identifier: GPL-2.0

//! Completion queues: what creating one is given, and how a process learns of completions.

use crate::{
    bindings,
    dma::{
        Disclosure,
        HasDmaAddress, //
    },
    mmap::Mappings,
    queue_memory::QueueMemory,
    reach::{
        NotShared,
        Reach, //
    },
    udata::Udata,
    umem::Umem, //
};
use core::ptr::NonNull;
use kernel::{
    new_spinlock_irq,
    prelude::*,
    sync::{
        Arc,
        SpinLockIrq, //
    }, //
};

/// A completion queue that is being created.
pub struct NewCq<'a> {
    /// How many completions it has to hold, at least 1.
    pub depth: u32,
    /// The completion vector for its events, less than the device has.
    pub vector: u32,
    /// Flags of `ib_uverbs_ex_create_cq_flags`.
    pub flags: u32,
    /// The private part of the call.
    pub udata: Udata<'a>,
    /// What processes can map of it.
    pub mappings: Mappings<'a>,
    raw: NonNull<bindings::ib_cq>,
    attrs: NonNull<bindings::uverbs_attr_bundle>,
    notifier: Revoke,
}

impl<'a> NewCq<'a> {
    /// What a callback was given.
    ///
    /// # Safety
    ///
    /// `raw` is the queue that the running call creates, and `attrs` are that call's.
    pub(crate) unsafe fn new(
        raw: NonNull<bindings::ib_cq>,
        attrs: NonNull<bindings::uverbs_attr_bundle>,
        attr: &bindings::ib_cq_init_attr,
        udata: Udata<'a>,
        mappings: Mappings<'a>,
    ) -> Self {
        Self {
            depth: attr.cqe,
            vector: attr.comp_vector,
            flags: attr.flags,
            udata,
            mappings,
            raw,
            attrs,
            notifier: Revoke(None),
        }
    }

    /// The queue's notifier, which works from when the queue was created until it is destroyed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub fn notifier(&mut self) -> Result<Arc<Notifier>> {
        if let Some(notifier) = &self.notifier.0 {
            return Ok(notifier.clone());
        }
        let notifier = Notifier::new()?;
        self.notifier.0 = Some(notifier.clone());
        Ok(notifier)
    }

    /// Memory of `len` bytes or more that user space brought for the queue, if it did.
    ///
    /// # Errors
    ///
    /// - `EINVAL`: it is too small, or named in more than one way.
    /// - Else as [`UserMemory::pin`](crate::umem::UserMemory::pin).
    pub fn user_memory(&self, len: usize) -> Result<Option<Umem>, NotShared> {
        // SAFETY: Queue and attributes are those of the running call, and the core set the device,
        // which is registered, since it is called, before it. The result is ours.
        unsafe {
            let device = (*self.raw.as_ptr()).device;
            let reach = Reach::of_raw((*device).dma_device)?;
            let raw = bindings::ib_umem_get_cq_buf(
                device,
                self.attrs.as_ptr(),
                len,
                // CAST: A single bit.
                bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE as c_int,
            );
            Umem::from_raw(raw, reach)
        }
    }

    /// Takes what the object keeps until it is destroyed.
    pub(crate) fn into_parts(self) -> (Mappings<'a>, Revoke) {
        (self.mappings, self.notifier)
    }
}

/// The memory of a completion queue.
pub enum CqMemory {
    /// The kernel's, for user space to map.
    Kernel(QueueMemory),
    /// What user space brought.
    User(Umem),
}

// SAFETY: Each of them has its memory until it is dropped, and shared access does not exchange them.
unsafe impl HasDmaAddress for CqMemory {
    fn dma_address(&self, lent: &Disclosure) -> u64 {
        match self {
            Self::Kernel(memory) => memory.dma_address(lent),
            Self::User(umem) => umem.dma_address(lent),
        }
    }
}

/// A completion queue that is alive.
///
/// # Invariants
///
/// It was given to its creating callback, and not yet to its destroying one.
struct Live(NonNull<bindings::ib_cq>);

// SAFETY: Any thread may call a queue's completion handler.
unsafe impl Send for Live {}

/// Tells processes that a completion queue has new completions.
///
/// Before the queue was created, and after it was destroyed, it does nothing: what the core noted
/// for a queue whose creation then fails would outlive it. Destroying waits for one that runs.
#[pin_data]
pub struct Notifier {
    #[pin]
    cq: SpinLockIrq<Option<Live>>,
}

impl Notifier {
    fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                cq <- new_spinlock_irq!(None, "rdma_cq_notifier"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Reports a completion event. Any context.
    pub fn notify(&self) {
        let guard = self.cq.lock();
        let Some(Live(cq)) = &*guard else {
            return;
        };
        let cq = cq.as_ptr();
        // SAFETY: By the type invariants the queue is alive, and while the lock is held it stays
        // so. The core set handler and context before the queue was created.
        unsafe {
            if let Some(handler) = (*cq).comp_handler {
                handler(cq, (*cq).cq_context);
            }
        }
    }
}

/// Ends the notifications of a queue, if it has any, when dropped: when the queue is destroyed, or
/// was not created after all.
pub(crate) struct Revoke(Option<Arc<Notifier>>);

impl Revoke {
    /// Lets the notifications of `cq` begin.
    ///
    /// # Safety
    ///
    /// `cq` was given to its creating callback, which succeeds from here on, and stays until this
    /// is dropped.
    pub(crate) unsafe fn begin(&self, cq: NonNull<bindings::ib_cq>) {
        if let Some(notifier) = &self.0 {
            // INVARIANT: By the safety requirements; dropping this takes it out again.
            *notifier.cq.lock() = Some(Live(cq));
        }
    }
}

impl Drop for Revoke {
    fn drop(&mut self) {
        if let Some(notifier) = &self.0 {
            *notifier.cq.lock() = None;
        }
    }
}

#[kernel::macros::kunit_tests(rdma_cq)]
mod tests {
    use super::*;
    use core::{
        cell::Cell,
        mem::MaybeUninit, //
    };

    /// Counts calls where the context points.
    ///
    /// # Safety
    ///
    /// `context` points to a `Cell<u32>` that only this thread uses.
    unsafe extern "C" fn count(_cq: *mut bindings::ib_cq, context: *mut c_void) {
        // SAFETY: By the safety requirements.
        let calls = unsafe { &*context.cast::<Cell<u32>>() };
        calls.set(calls.get().wrapping_add(1));
    }

    #[test]
    fn only_a_queue_that_is_there_is_notified() -> Result {
        let calls = Cell::new(0);
        let mut memory = KBox::new(MaybeUninit::<bindings::ib_cq>::zeroed(), GFP_KERNEL)?;
        let cq = NonNull::from(&mut *memory).cast::<bindings::ib_cq>();
        // SAFETY: All zeroes is a valid queue, and the test has it for itself.
        unsafe {
            (*cq.as_ptr()).comp_handler = Some(count);
            (*cq.as_ptr()).cq_context = (&raw const calls).cast_mut().cast();
        }

        let notifier = Notifier::new()?;
        let revoke = Revoke(Some(notifier.clone()));
        notifier.notify();
        assert_eq!(calls.get(), 0);

        // SAFETY: The queue stays until `revoke` is dropped.
        unsafe { revoke.begin(cq) };
        notifier.notify();
        notifier.notify();
        assert_eq!(calls.get(), 2);
        drop(revoke);
        drop(memory);
        notifier.notify();
        assert_eq!(calls.get(), 2);
        Ok(())
    }
}
