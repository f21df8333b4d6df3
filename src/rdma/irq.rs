// SPDX-License-Identifier: GPL-2.0

//! MSI-X vectors and their handlers.
//!
//! The kernel crate's `irq::Registration` wants names that live forever, knows no affinity, and
//! is unsafe to create, since a leaked one outlives its device. Here a name is made at run time
//! and owned, and both vectors and handlers are managed by the device: they end when they are
//! dropped or when the driver is unbound, whichever comes first. So leaking one is harmless.
//! Threaded handlers and other kinds of interrupts than MSI-X are not covered.

use crate::{
    bindings,
    pci::{
        Taken,
        What, //
    }, //
};
use kernel::{
    device::{
        self,
        Bound, //
    },
    devres::Devres,
    error::to_result,
    fmt,
    pci,
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// The MSI-X vectors of a PCI device.
pub struct Vectors {
    allocation: Devres<Taken>,
    len: u32,
}

impl Vectors {
    /// Allocates up to `max` vectors, but no more than the device's MSI-X table has.
    ///
    /// # Errors
    ///
    /// * `EINVAL`: the device has no MSI-X. `ERANGE`: `max` is 0.
    /// * `ENOSPC`: there is not even one vector.
    /// * `ENOMEM`: out of memory.
    pub fn new(pdev: &pci::Device<Bound>, max: u32) -> Result<Arc<Self>> {
        let raw = crate::pci::as_raw(pdev);
        // SAFETY: `raw` is a valid PCI device; the function checks the other arguments, and cuts
        // the number down to what the table has.
        let len = unsafe { bindings::pci_alloc_irq_vectors(raw, 1, max, bindings::PCI_IRQ_MSIX) };
        to_result(len)?;
        // INVARIANT: The vectors were allocated just now.
        let allocation = Taken {
            pdev: pdev.into(),
            what: What::Vectors,
        };
        Ok(Arc::new(
            Self {
                allocation: Devres::new(pdev.as_ref(), allocation)?,
                len: len.try_into()?,
            },
            GFP_KERNEL,
        )?)
    }

    /// The number of vectors, 1 or more.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The interrupt number of vector `index`.
    ///
    /// Sleeps for the lock of the vectors' descriptors, so the allocation must not be reached
    /// through `try_access`, which holds the RCU read lock.
    fn irq(&self, dev: &device::Device<Bound>, index: u32) -> Result<u32> {
        let allocation = self.allocation.access(dev)?;
        // SAFETY: The device is valid; the function checks the index.
        let irq = unsafe { bindings::pci_irq_vector(crate::pci::as_raw(&allocation.pdev), index) };
        to_result(irq)?;
        Ok(irq.try_into()?)
    }
}

/// Something that handles an interrupt.
pub trait Handler: Send + Sync + 'static {
    /// Called in hard interrupt context for each interrupt of the vector.
    fn handle(&self);
}

/// A handler that serves a vector until it is dropped.
///
/// Dropping it waits for a handler that runs on another CPU.
#[pin_data]
pub struct Registration<T: Handler> {
    // Dropped first: the handler does not run any more once it is gone.
    line: NamedLine,
    handler: T,
    #[pin]
    _pin: core::marker::PhantomPinned,
}

/// A requested interrupt, and what it needs.
struct NamedLine {
    // Dropped first: no handler runs, and nothing reads the name, once it is gone.
    _line: Devres<Line>,
    _name: CString,
    // Dropped last: the vectors outlive each handler on them.
    _vectors: Arc<Vectors>,
}

/// # Invariants
///
/// `irq` was requested with `cookie`, and has no affinity hint but its own.
struct Line {
    irq: c_uint,
    cookie: *mut c_void,
}

// SAFETY: `free_irq` may be called by any thread; the cookie is not dereferenced here.
unsafe impl Send for Line {}
// SAFETY: A shared `Line` offers reading of two plain values only.
unsafe impl Sync for Line {}

impl Drop for Line {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the interrupt is ours, and was requested with this cookie.
        // The hint must be gone before the interrupt is; a null hint is always valid. Freeing waits
        // for running handlers, so none uses the cookie afterwards.
        unsafe {
            bindings::rdma_shim_irq_clear_affinity(self.irq);
            bindings::free_irq(self.irq, self.cookie);
        }
    }
}

impl<T: Handler> Registration<T> {
    /// Lets `handler` serve vector `index`, under `name` in `/proc/interrupts`.
    ///
    /// The interrupt is hinted to `cpu`, and goes there while that is on. The handler may be called
    /// before this returns.
    ///
    /// # Errors
    ///
    /// * `EINVAL`: there is no such vector, or the vectors are those of another device.
    /// * `ENOMEM`: out of memory; or what the kernel says when it requests an interrupt.
    pub fn new(
        dev: &device::Device<Bound>,
        vectors: Arc<Vectors>,
        index: u32,
        cpu: u32,
        name: fmt::Arguments<'_>,
        handler: T,
    ) -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(
            try_pin_init!(&this in Self {
                handler,
                _pin: core::marker::PhantomPinned,
                // SAFETY: `this` is pinned and its `handler` is initialised. It is not freed before
                // `line` is dropped: fields are dropped in the order of the declaration, and memory
                // that is pinned and leaked is never reused. `handler` is `'static`, so it stays
                // usable then, until devres drops the line.
                line: unsafe {
                    NamedLine::request(
                        dev,
                        vectors,
                        index,
                        cpu,
                        name,
                        Some(Self::callback),
                        this.as_ptr().cast(),
                    )
                }?,
            }? Error),
            GFP_KERNEL,
        )
    }
}

impl<T: Handler> Registration<T> {
    /// # Safety
    ///
    /// `cookie` points to a `Registration<T>` whose handler is initialised, and that is not freed
    /// before the interrupt is.
    unsafe extern "C" fn callback(_irq: c_int, cookie: *mut c_void) -> bindings::irqreturn_t {
        let this = cookie.cast_const().cast::<Self>();
        // SAFETY: By the safety requirements the field is initialised and lives on; the fields
        // after it may not be initialised yet, so no reference to the whole is made.
        let handler = unsafe { &(*this).handler };
        handler.handle();
        bindings::irqreturn::IRQ_HANDLED
    }
}

impl NamedLine {
    /// Requests the interrupt of a vector, hinted to a CPU.
    ///
    /// # Safety
    ///
    /// `callback` may be called with `cookie` until what is returned is dropped.
    unsafe fn request(
        dev: &device::Device<Bound>,
        vectors: Arc<Vectors>,
        index: u32,
        cpu: u32,
        name: fmt::Arguments<'_>,
        callback: bindings::irq_handler_t,
        cookie: *mut c_void,
    ) -> Result<Self> {
        let name = CString::try_from_fmt(name)?;
        let irq = vectors.irq(dev, index)?;
        // SAFETY: By the safety requirements callback and cookie stay valid until `free_irq`, which
        // the drop of the line calls. So does the text of `name`: it is on the heap, does not move,
        // and is dropped, or leaked, with the line. There is a mask for each of the CPUs for which
        // the interrupt gets a hint.
        unsafe {
            to_result(bindings::request_irq(
                irq,
                callback,
                0,
                name.as_char_ptr(),
                cookie,
            ))?;
            // A hint is not worth a failure.
            if cpu < bindings::rdma_shim_num_cpu_ids() {
                bindings::rdma_shim_irq_set_affinity(irq, cpu);
            }
        }
        // INVARIANT: Requested with this cookie.
        let line = Line { irq, cookie };
        Ok(Self {
            _line: Devres::new(dev, line)?,
            _name: name,
            _vectors: vectors,
        })
    }
}
