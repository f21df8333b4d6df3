// SPDX-License-Identifier: GPL-2.0

//! The directories.

use super::{seq::Operations, File};
use crate::{bindings, provider::Provider};
use core::{
    mem::ManuallyDrop,
    ptr::{self, NonNull},
};
use kernel::{
    device,
    prelude::*,
    sync::atomic::{ordering::Relaxed, Atomic},
};

/// What a file's inode points to.
pub(super) struct Entry<P: Provider> {
    pub(super) data: NonNull<P::Data<'static>>,
}

/// A directory, which is removed when this is dropped.
///
/// # Invariants
///
/// It is null, an error, or a directory that this owns.
struct Dir(*mut bindings::dentry);

impl Dir {
    /// Makes a directory in the driver's, or at the root of debugfs where there is none.
    fn create(name: &CStr) -> Self {
        // INVARIANT: It is new, or an error.
        // SAFETY: The name is a string. The driver's directory is null, which stands for the root,
        // an error, which is good as a parent, or there: as long as the driver has a device.
        Self(unsafe { bindings::debugfs_create_dir(name.as_char_ptr(), DRIVER.load(Relaxed)) })
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // SAFETY: By the type invariants. No file operation but a release runs afterwards, and that
        // does not look at what a file points to.
        unsafe { bindings::debugfs_remove(self.0) };
    }
}

/// The directory of the driver, as debugfs has it, from a [`Dir`]; null where there is none.
static DRIVER: Atomic<*mut bindings::dentry> = Atomic::new(ptr::null_mut());

/// The directory of the driver: a module has one driver.
pub(crate) enum DriverDir {}

impl DriverDir {
    /// Makes it, before any device is there.
    pub(crate) fn create(name: &CStr) {
        // `remove()` makes it a `Dir` again.
        DRIVER.store(ManuallyDrop::new(Dir::create(name)).0, Relaxed);
    }

    /// Removes it, after the last device is gone.
    pub(crate) fn remove() {
        // INVARIANT: It was that of a `Dir`, and nobody else has it any more.
        drop(Dir(DRIVER.xchg(ptr::null_mut(), Relaxed)));
    }
}

/// The directory of a device. Dropping it removes it, and waits for readers.
///
/// # Invariants
///
/// The files of the directory point to the entry.
pub(crate) struct DeviceDir<P: Provider> {
    // Dropped first.
    _dir: Dir,
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
                _dir: Dir(ptr::null_mut()),
                _entry: None,
            };
        };
        let dir = Dir::create(dev.name());
        for file in P::DEBUG_FILES {
            // INVARIANT: It points to the entry.
            create_file(file, &dir, &entry);
        }
        Self {
            _dir: dir,
            _entry: Some(entry),
        }
    }
}

fn create_file<P: Provider>(file: &'static File<P>, dir: &Dir, entry: &Entry<P>) {
    let entry: *const Entry<P> = entry;
    // SAFETY: The name is a string and lives forever, as the operations do, which are for a file
    // whose inode points to an `Entry<P>` and has a `File<P>` beside; `dir` is a directory or an error.
    unsafe {
        bindings::debugfs_create_file_full(
            file.name.as_char_ptr(),
            0o400,
            dir.0,
            entry.cast_mut().cast(),
            ptr::from_ref(file).cast(),
            Operations::<P>::FILE,
        )
    };
}
