// SPDX-License-Identifier: GPL-2.0

//! RDMA devices and their registration.
//!
//! C header: `include/rdma/ib_verbs.h`

use crate::{
    bindings,
    debugfs::DeviceDir,
    deferred::Running,
    pci::dev_as_raw,
    provider::{
        Operations,
        Provider, //
    }, //
};
use core::{
    cell::UnsafeCell,
    mem::{
        align_of,
        offset_of,
        size_of, //
    },
    ptr::NonNull,
};
use kernel::{
    build_assert::const_assert,
    device,
    error::to_result,
    prelude::*,
    types::Opaque, //
};

/// What the core is told about a device when it is registered.
pub struct Identity<'a> {
    /// Name pattern; `%d` in it becomes a free number.
    pub name_pattern: &'a CStr,
    /// GUID of the node, as it lies in memory.
    pub node_guid: u64,
    /// Number of ports.
    pub ports: u32,
    /// Number of completion vectors, at least 1.
    pub completion_vectors: usize,
}

/// The RDMA core's device with room for a pointer to the driver's.
///
/// # Invariants
///
/// - `ibdev` is at offset 0, and was made by `_ib_alloc_device()`.
/// - `data` points to the driver's device from before `ib_register_device()` is called until
///   after `ib_unregister_device()` returned, which is when callbacks may run.
#[repr(C)]
pub(crate) struct Device<P: Provider> {
    ibdev: Opaque<bindings::ib_device>,
    data: UnsafeCell<NonNull<P::Data<'static>>>,
}

impl<P: Provider> Device<P> {
    /// Gives `f` the driver's device.
    ///
    /// The higher-ranked callback keeps the erased lifetime of the device from escaping.
    ///
    /// # Safety
    ///
    /// `ibdev` is embedded in a `Device<P>`, and a callback of its operations is running.
    pub(crate) unsafe fn with_data<R>(
        ibdev: *mut bindings::ib_device,
        f: impl for<'a> FnOnce(&'a P::Data<'a>) -> R,
    ) -> R {
        // SAFETY: By the safety requirements and the type invariants, `ibdev` points to a
        // `Device<P>` whose `data` points to the driver's device for as long as the callback
        // runs. Lifetimes do not change a layout.
        let data = unsafe {
            (*(*ibdev.cast::<Self>()).data.get())
                .cast::<P::Data<'_>>()
                .as_ref()
        };

        f(data)
    }
}

/// The memory of a device.
///
/// # Invariants
///
/// Owns a `Device<P>` made by `_ib_alloc_device()`; it is not registered when this is dropped.
struct Allocation<P: Provider>(NonNull<Device<P>>);

impl<P: Provider> Allocation<P> {
    /// Allocates a device whose callbacks will see `data`.
    fn new(data: NonNull<P::Data<'static>>) -> Result<Self> {
        const_assert!(offset_of!(Device<P>, ibdev) == 0);
        const_assert!(align_of::<Device<P>>() <= align_of::<u64>());

        // SAFETY: The size has room for a `struct ib_device`, which is its first field; `init_net`
        // always exists.
        let raw = unsafe {
            bindings::_ib_alloc_device(size_of::<Device<P>>(), &raw mut bindings::init_net)
        };
        let device = NonNull::new(raw.cast::<Device<P>>()).ok_or(ENOMEM)?;

        // SAFETY: The allocation holds a `Device<P>`, and nobody else knows of it yet.
        unsafe { (&raw mut (*device.as_ptr()).data).write(UnsafeCell::new(data)) };

        // INVARIANT: It was just made, and the caller registers it only in a `Registration`.
        Ok(Self(device))
    }

    fn as_raw(&self) -> *mut bindings::ib_device {
        self.0.as_ptr().cast()
    }
}

impl<P: Provider> Drop for Allocation<P> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the device was made by `_ib_alloc_device()` and is not
        // registered. References that others still hold keep its memory.
        unsafe { bindings::ib_dealloc_device(self.as_raw()) };
    }
}

/// The registration of a device with the RDMA core.
///
/// Dropping it unregisters the device: contexts that processes hold open lose it, without waiting
/// for them, and no callback runs afterwards. Then the driver's device is dropped. A driver never
/// owns one (see [`Driver`](crate::pci_driver::Driver)), so that it cannot be forgotten.
///
/// # Invariants
///
/// `device` is registered, and its `data` points to `self.data`.
pub struct Registration<'a, P: Provider> {
    // Removed before the device is unregistered, by `drop`.
    debugfs: Option<DeviceDir<P>>,
    // Stopped after the device is unregistered, by `drop`, and before `data` is dropped.
    deferred: Option<Running>,
    // Freed before `data`, to which it has a pointer.
    device: Allocation<P>,
    data: Pin<KBox<P::Data<'a>>>,
}

// SAFETY: The RDMA core lets any thread unregister a device, debugfs lets any remove files, and
// `P::Data` is `Send` and `Sync`.
unsafe impl<P: Provider> Send for Registration<'_, P> {}

// SAFETY: Shared access only reaches `P::Data`, which is `Sync`.
unsafe impl<P: Provider> Sync for Registration<'_, P> {}

impl<'a, P: Provider> Registration<'a, P> {
    /// Registers a device of `parent` whose callbacks see `data`.
    ///
    /// # Errors
    ///
    /// - What `ib_register_device()` returns: `ENOMEM`, `ENFILE` where the name is taken, or the
    ///   error of a callback that it called.
    /// - `EBUSY`: the driver gave its handle of deferred work to two devices.
    ///
    /// `data` is dropped then.
    ///
    /// # Safety
    ///
    /// The registration must be dropped before `parent` is unbound, never forgotten.
    pub(crate) unsafe fn new(
        parent: &'a device::Device<device::Bound>,
        identity: &Identity<'_>,
        data: Pin<KBox<P::Data<'a>>>,
    ) -> Result<Self> {
        let device = Allocation::<P>::new(NonNull::from(Pin::get_ref(data.as_ref())).cast())?;
        let ibdev = device.as_raw();
        let vectors = identity.completion_vectors.max(1).try_into()?;

        // SAFETY: `ibdev` is valid and nobody else knows of it yet; `parent` is a device that
        // outlives the registration by the safety requirements.
        unsafe {
            (*ibdev).node_type = bindings::RDMA_NODE_UNSPECIFIED as u8;
            (*ibdev).node_guid = identity.node_guid;
            (*ibdev).phys_port_cnt = identity.ports;
            (*ibdev).num_comp_vectors = vectors;
            (*ibdev).driver_def = Operations::<P>::definitions();
            (*(&raw mut (*ibdev).__bindgen_anon_1).cast::<bindings::device>()).parent =
                dev_as_raw(parent);
            bindings::ib_set_device_ops(ibdev, P::OPERATIONS.as_raw());
        }

        // Before the first callback can ask for work.
        // SAFETY: The data stays where it is. Where registering fails it is dropped last, as the
        // parameter that it is; else `drop` stops the work before the data goes.
        let start = |deferred| unsafe { Running::start(deferred, &*data) };
        let deferred = P::OPERATIONS.deferred().map(start).transpose()?;

        // SAFETY: `ibdev` is complete, and `parent` is a bound device, so it does DMA.
        to_result(unsafe {
            bindings::ib_register_device(
                ibdev,
                identity.name_pattern.as_char_ptr(),
                dev_as_raw(parent),
            )
        })?;

        // SAFETY: The data stays where it is, and `drop` drops the directory before it.
        let debugfs = unsafe { DeviceDir::new(parent, NonNull::from(&*data).cast()) };
        // INVARIANT: The registration succeeded, and `Allocation::new` stored the pointer.
        Ok(Self {
            debugfs: Some(debugfs),
            deferred,
            device,
            data,
        })
    }

    /// The driver's device.
    pub(crate) fn data(&self) -> &P::Data<'a> {
        &self.data
    }
}

impl<P: Provider> Drop for Registration<'_, P> {
    fn drop(&mut self) {
        self.debugfs = None;
        // SAFETY: By the type invariants the device is registered. The call returns when no
        // callback runs any more; `self.device` and then `self.data` are dropped after it.
        unsafe { bindings::ib_unregister_device(self.device.as_raw()) };
        // After the last callback, which may have asked for work.
        self.deferred = None;
    }
}
