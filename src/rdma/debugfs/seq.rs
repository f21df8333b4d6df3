// SPDX-License-Identifier: GPL-2.0

//! The operations of a file, on the kernel's `seq_file`.
//!
//! A record of the `seq_file` is a piece of the file's text. The core may show a record twice, and
//! goes on to the next only by `next`: so showing remembers where the piece ends, and `next` moves
//! there.

use super::{dir::Entry, File, Place};
use crate::{bindings, provider::Provider};
use core::{
    marker::PhantomData,
    mem::{align_of, size_of},
    ptr,
};
use kernel::{
    ffi::{c_int, c_void},
    fmt,
    module::this_module,
    prelude::*,
};

/// What there is for each time that a file is opened: plain memory, which the core allocates, zeroed,
/// and frees.
#[repr(C)]
struct Reader<P: Provider> {
    entry: *const Entry<P>,
    file: *const File<P>,
    /// Where the record at hand starts.
    from: Place,
    /// Where it ends, once it was shown.
    to: Place,
    at_end: bool,
}

/// The text that a reader gets.
struct Out(*mut bindings::seq_file);

impl fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: The `seq_file` is valid as long as `show` runs, and the text is readable. What
        // does not fit is noticed by the core, which shows the record again.
        unsafe { bindings::seq_write(self.0, text.as_ptr().cast(), text.len()) };
        Ok(())
    }
}

/// The operations of a file.
pub(super) struct Operations<P: Provider>(PhantomData<fn() -> P>);

impl<P: Provider> Operations<P> {
    pub(super) const FILE: &bindings::file_operations = &bindings::file_operations {
        owner: this_module::<P::Module>().as_ptr(),
        open: Some(Self::open),
        read: Some(bindings::seq_read),
        llseek: Some(bindings::seq_lseek),
        release: Some(bindings::seq_release_private),
        ..pin_init::zeroed()
    };

    const SEQUENCE: &bindings::seq_operations = &bindings::seq_operations {
        start: Some(Self::start),
        stop: Some(Self::stop),
        next: Some(Self::next),
        show: Some(Self::show),
    };

    /// # Safety
    ///
    /// Only debugfs calls it, with an inode that points to an `Entry<P>`, for a file that was created
    /// with a `File<P>` that lives forever.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        const {
            assert!(
                align_of::<Reader<P>>() <= align_of::<u64>(),
                "what `kmalloc()` guarantees for any size"
            )
        };
        let Ok(size) = size_of::<Reader<P>>().try_into() else {
            return EINVAL.to_errno();
        };
        // SAFETY: The file of this inode is being opened; the operations live forever. A reader that
        // is there was allocated just now for a `Reader`, with the alignment that any memory has, and
        // all zeroes is a valid one.
        unsafe {
            let reader = bindings::__seq_open_private(file, Self::SEQUENCE, size);
            let Some(reader) = reader.cast::<Reader<P>>().as_mut() else {
                return ENOMEM.to_errno();
            };
            reader.entry = (*inode).i_private.cast();
            reader.file = bindings::debugfs_get_aux(file).cast_const().cast();
        }
        0
    }

    /// The reader of a sequence.
    ///
    /// # Safety
    ///
    /// `seq` is that of a file that was opened by `open`, and its lock is held, so that nobody else
    /// uses the reader during `'a`.
    unsafe fn reader<'a>(seq: *mut bindings::seq_file) -> &'a mut Reader<P> {
        // SAFETY: `open` made it, and by the precondition nobody else uses it.
        unsafe { &mut *(*seq).private.cast() }
    }

    /// # Safety
    ///
    /// Only the `seq_file` core calls it, with its lock held.
    unsafe extern "C" fn start(seq: *mut bindings::seq_file, pos: *mut i64) -> *mut c_void {
        // SAFETY: By the precondition.
        let (reader, pos) = unsafe { (Self::reader(seq), *pos) };
        if pos == 0 {
            reader.from = pin_init::zeroed();
            reader.at_end = false;
        }
        Self::record(reader)
    }

    /// # Safety
    ///
    /// As for `start`.
    unsafe extern "C" fn next(
        seq: *mut bindings::seq_file,
        _record: *mut c_void,
        pos: *mut i64,
    ) -> *mut c_void {
        // SAFETY: By the precondition.
        let reader = unsafe {
            *pos = (*pos).wrapping_add(1);
            Self::reader(seq)
        };
        reader.from = reader.to;
        Self::record(reader)
    }

    /// What stands for the record at hand; null where there is none.
    fn record(reader: &mut Reader<P>) -> *mut c_void {
        if reader.at_end {
            return ptr::null_mut();
        }
        ptr::from_mut(reader).cast()
    }

    /// # Safety
    ///
    /// As for `start`, after `start` or `next`.
    unsafe extern "C" fn show(seq: *mut bindings::seq_file, _record: *mut c_void) -> c_int {
        // SAFETY: By the precondition. debugfs lets operations run only while the file is there: so
        // is the entry, and the driver's device. Lifetimes do not change a layout.
        let (reader, data, file) = unsafe {
            let reader = Self::reader(seq);
            let data = (*reader.entry).data.cast::<P::Data<'_>>().as_ref();
            let file = &*reader.file;
            (reader, data, file)
        };
        reader.to = reader.from;
        reader.at_end = !(file.write)(data, &mut reader.to, &mut Out(seq));
        reader.to.pieces = reader.from.pieces.saturating_add(1);
        0
    }

    /// # Safety
    ///
    /// None: there is nothing to end.
    unsafe extern "C" fn stop(_seq: *mut bindings::seq_file, _record: *mut c_void) {}
}
