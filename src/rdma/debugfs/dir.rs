// SPDX-License-Identifier: GPL-2.0

//! The directories.

use super::AnyFile;
use crate::{bindings, provider::Provider};
use core::ptr::{self, NonNull};
use kernel::{
    device,
    prelude::*,
    sync::atomic::{ordering::Relaxed, Atomic},
};

/// What a file's inode points to.
pub(super) struct Entry<P: Provider> {
    pub(super) data: NonNull<P::Data<'static>>,
}

/// The directory of the driver, as debugfs has it; null where there is none.
static DRIVER: Atomic<*mut bindings::dentry> = Atomic::new(ptr::null_mut());

/// The directory of the driver: a module has one driver.
pub(crate) enum DriverDir {}

impl DriverDir {
    /// Makes it, before any device is there.
    pub(crate) fn create(name: &CStr) {
        // SAFETY: The name is a string. What comes back is good as a parent, even an error.
        let dir = unsafe { bindings::debugfs_create_dir(name.as_char_ptr(), ptr::null_mut()) };
        DRIVER.store(dir, Relaxed);
    }

    /// Removes it, after the last device is gone.
    pub(crate) fn remove() {
        // SAFETY: Null, an error, or the directory, which nobody uses any more.
        unsafe { bindings::debugfs_remove(DRIVER.xchg(ptr::null_mut(), Relaxed)) };
    }
}

/// The directory of a device. Dropping it removes it, and waits for readers.
///
/// # Invariants
///
/// `dir` is null, an error, or a directory whose files point to `entry`.
pub(crate) struct DeviceDir<P: Provider> {
    dir: *mut bindings::dentry,
    _entry: Option<KBox<Entry<P>>>,
}

impl<P: Provider> DeviceDir<P> {
    /// Makes the directory of `dev`, whose files will see `data`.
    ///
    /// Files that there is no memory for are missing.
    ///
    /// # Safety
    ///
    /// `data` points to the driver's device, which is valid until the directory is dropped.
    pub(crate) unsafe fn new(
        dev: &device::Device<device::Bound>,
        data: NonNull<P::Data<'static>>,
    ) -> Self {
        let Ok(entry) = KBox::new(Entry::<P> { data }, GFP_KERNEL) else {
            // INVARIANT: There is no directory.
            return Self {
                dir: ptr::null_mut(),
                _entry: None,
            };
        };
        // SAFETY: The driver's directory is there as long as the driver has a device.
        let dir =
            unsafe { bindings::debugfs_create_dir(dev.name().as_char_ptr(), DRIVER.load(Relaxed)) };
        for file in P::DEBUG_FILES {
            // INVARIANT: It points to the entry.
            create_file(file, dir, &entry);
        }
        Self {
            dir,
            _entry: Some(entry),
        }
    }
}

fn create_file<P: Provider>(file: &AnyFile<P>, dir: *mut bindings::dentry, entry: &Entry<P>) {
    let entry: *const Entry<P> = entry;
    // SAFETY: The name is a string and lives forever, as the operations do, which are for a file
    // whose inode points to an `Entry<P>`; `dir` is a directory or an error.
    unsafe {
        bindings::debugfs_create_file_full(
            file.name.as_char_ptr(),
            0o400,
            dir,
            entry.cast_mut().cast(),
            ptr::null(),
            file.operations,
        )
    };
}

impl<P: Provider> Drop for DeviceDir<P> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants. No file operation but a release runs afterwards, and that
        // does not look at the entry.
        unsafe { bindings::debugfs_remove(self.dir) };
    }
}
