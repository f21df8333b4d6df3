// SPDX-License-Identifier: GPL-2.0
//! The guest's memory as the device reaches it: windows of DMA addresses, each mapped from a file that the
//! client shares.
//!
//! Mapping and access go through the crate vm-memory, which keeps its bounds and lets the guest change the
//! memory at any time. Memory of a file that was shortened raises SIGBUS, so only files are mapped that are
//! sealed against that, as QEMU seals those of memory-backend-memfd.

use crate::log::note;
use rustix::fs::{fcntl_add_seals, fcntl_get_seals, fstat, FileType, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::sync::atomic::{fence, Ordering};
use vefa_model::{DmaError, GuestMemory};
use vm_memory::mmap::{MmapRegionBuilder, MmapRegionError};
use vm_memory::{FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// Most windows at one time: with an IOMMU, 4 GiB in pages of 4 KiB.
const MAX_WINDOWS: usize = 1 << 20;
/// What offsets of windows in files are multiples of.
const PAGE_SIZE: u64 = 4096;
/// Bytes at the start of a write that become visible last.
const HEAD: usize = 8;

/// What the device may do in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub read: bool,
    pub write: bool,
}

/// Windows of guest memory. Clones share them: the model accesses, the server maps.
#[derive(Clone, Default)]
pub struct Memory(Rc<RefCell<Windows>>);

#[derive(Default)]
struct Windows {
    by_start: BTreeMap<u64, Window>,
    files: MappedFiles,
}

struct Window {
    size: u64,
    access: Access,
    /// `None` for what the client has but does not share, such as the BARs of other devices.
    part: Option<Part>,
}

/// What a window shows of a file.
struct Part {
    mapping: Rc<MmapRegion>,
    /// Where the window begins in it.
    offset: usize,
}

impl Memory {
    /// Opens the window of `size` bytes at `iova`, mapped from `file` at an offset, if there is a file.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an empty window, one that wraps, or one beyond the end of the file; `EPERM` when
    /// the file can be shortened; `EEXIST` when it overlaps another; `ENOSPC` when there are too many; else that of `mmap`.
    pub fn map(
        &self,
        iova: u64,
        size: u64,
        access: Access,
        file: Option<(File, u64)>,
    ) -> Result<(), Errno> {
        let windows = &mut *self.0.borrow_mut();
        let last = last_byte(iova, size)?;
        if windows.overlapping(iova, last).next().is_some() {
            return Err(Errno::EXIST);
        }
        if windows.by_start.len() >= MAX_WINDOWS {
            return Err(Errno::NOSPC);
        }
        let part = match file {
            Some((file, offset)) => Some(windows.files.part(file, offset, size, access)?),
            None => None,
        };
        let window = Window { size, access, part };
        windows.by_start.insert(iova, window);
        Ok(())
    }

    /// Closes all windows within the `size` bytes at `iova`; there may be none.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the range is empty, wraps, or cuts a window.
    pub fn unmap(&self, iova: u64, size: u64) -> Result<(), Errno> {
        let windows = &mut *self.0.borrow_mut();
        let last = last_byte(iova, size)?;
        let inside = |(start, window): (u64, &Window)| {
            let whole = start >= iova && start + (window.size - 1) <= last;
            whole.then_some(start).ok_or(Errno::INVAL)
        };
        let starts: Vec<u64> = windows
            .overlapping(iova, last)
            .map(inside)
            .collect::<Result<_, _>>()?;
        for start in starts {
            windows.by_start.remove(&start);
        }
        Ok(())
    }

    /// Closes all windows.
    pub fn unmap_all(&self) {
        *self.0.borrow_mut() = Windows::default();
    }

    /// Number of open windows.
    pub fn windows(&self) -> usize {
        self.0.borrow().by_start.len()
    }
}

impl GuestMemory for Memory {
    fn read(&self, iova: u64, buf: &mut [u8]) -> Result<(), DmaError> {
        let windows = self.0.borrow();
        let pieces = windows.pieces(iova, buf.len(), |access| access.read)?;
        for Piece { slice, range } in pieces {
            if let Some(target) = buf.get_mut(range) {
                slice.copy_to(target);
            }
        }
        Ok(())
    }

    /// Writes back to front, the first eight bytes last and at once: each entry that the device writes has
    /// its phase bit there, so whoever sees the bit sees the whole entry.
    fn write(&self, iova: u64, buf: &[u8]) -> Result<(), DmaError> {
        let windows = self.0.borrow();
        let pieces = windows.pieces(iova, buf.len(), |access| access.write)?;
        for Piece { slice, range } in pieces.into_iter().rev() {
            let source = buf.get(range).unwrap_or_default();
            let (head, tail) = source.split_at(source.len().min(HEAD));
            if let Ok(rest) = slice.offset(head.len()) {
                rest.copy_from(tail);
            }
            fence(Ordering::Release);
            slice.copy_from(head);
        }
        Ok(())
    }
}

/// The part of an access that falls into one window.
struct Piece<'a> {
    slice: VolatileSlice<'a>,
    /// Which bytes of the caller's buffer.
    range: Range<usize>,
}

impl Windows {
    fn overlapping(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, &Window)> {
        let before = self.by_start.range(..=last).rev();
        let overlapping = before.take_while(move |(start, w)| **start + (w.size - 1) >= first);
        overlapping.map(|(start, window)| (*start, window))
    }

    /// Cuts an access into pieces, in order, or refuses it as a whole.
    fn pieces(
        &self,
        iova: u64,
        len: usize,
        allowed: fn(Access) -> bool,
    ) -> Result<Vec<Piece<'_>>, DmaError> {
        let mut pieces = Vec::with_capacity(1);
        let mut done = 0;
        while done < len {
            let piece = iova
                .checked_add(done as u64)
                .and_then(|at| self.piece(at, done, len - done, allowed))
                .ok_or(DmaError { iova, len })?;
            done = piece.range.end;
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// The piece at `at` of an access of which `done` bytes are served and `left` are not.
    fn piece(
        &self,
        at: u64,
        done: usize,
        left: usize,
        allowed: fn(Access) -> bool,
    ) -> Option<Piece<'_>> {
        let (start, window) = self.overlapping(at, at).next()?;
        let part = window.part.as_ref().filter(|_| allowed(window.access))?;
        let skipped = at - start;
        let there = usize::try_from(window.size.checked_sub(skipped)?).unwrap_or(usize::MAX);
        let count = left.min(there);
        let offset = part.offset.checked_add(usize::try_from(skipped).ok()?)?;
        let slice = part.mapping.get_slice(offset, count).ok()?;
        let range = done..done + count;
        Some(Piece { slice, range })
    }
}

/// Address of the last byte of a range.
fn last_byte(start: u64, size: u64) -> Result<u64, Errno> {
    let more = size.checked_sub(1).ok_or(Errno::INVAL)?;
    start.checked_add(more).ok_or(Errno::INVAL)
}

/// The files that windows show, each mapped as a whole and once: with an IOMMU there is a window for each
/// page, and neither file descriptors nor mappings are there without end.
#[derive(Default)]
struct MappedFiles {
    by_id: HashMap<FileId, Weak<MmapRegion>>,
    /// Kept, so that a file whose only window comes and goes is not mapped each time.
    last: Option<Rc<MmapRegion>>,
}

/// Device and inode, and whether it is mapped to be written.
type FileId = (u64, u64, bool);

impl MappedFiles {
    /// The `size` bytes of `file` at `offset`.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the file does not have them, or they do not begin with a page; else those of [`map_file`].
    fn part(&mut self, file: File, offset: u64, size: u64, access: Access) -> Result<Part, Errno> {
        let end = offset.checked_add(size).ok_or(Errno::INVAL)?;
        if offset % PAGE_SIZE != 0 {
            return Err(Errno::INVAL);
        }
        let status = fstat(&file)?;
        let id = (status.st_dev, status.st_ino, access.write);
        let known = self.by_id.get(&id).and_then(Weak::upgrade);
        let mapping = match known.filter(|mapping| end <= mapping.size() as u64) {
            Some(mapping) => mapping,
            None => self.add(id, map_file(file, access)?),
        };
        if end > mapping.size() as u64 {
            return Err(Errno::INVAL);
        }
        self.last = Some(mapping.clone());
        Ok(Part {
            mapping,
            offset: usize::try_from(offset).map_err(|_| Errno::INVAL)?,
        })
    }

    fn add(&mut self, id: FileId, mapping: MmapRegion) -> Rc<MmapRegion> {
        let mapping = Rc::new(mapping);
        self.by_id.retain(|_, mapping| mapping.strong_count() > 0);
        self.by_id.insert(id, Rc::downgrade(&mapping));
        mapping
    }
}

/// Maps a file, shared with the client, to be read, and written where that is wanted.
///
/// # Errors
///
/// `EINVAL` when it is no file in memory or on disk, or empty; `EPERM` when it can be shortened; else that of
/// `mmap`.
pub fn map_file(file: File, access: Access) -> Result<MmapRegion, Errno> {
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    forbid_shrinking(&file)?;
    let size = usize::try_from(fstat(&file)?.st_size).map_err(|_| Errno::INVAL)?;
    let mut protection = ProtFlags::READ;
    protection.set(ProtFlags::WRITE, access.write);
    let flags = MapFlags::SHARED | MapFlags::NORESERVE;
    MmapRegionBuilder::new(size)
        .with_file_offset(FileOffset::new(file, 0))
        .with_mmap_prot(protection.bits() as i32)
        .with_mmap_flags(flags.bits() as i32)
        .build()
        .map_err(|error| match error {
            MmapRegionError::Mmap(error) => Errno::from_io_error(&error).unwrap_or(Errno::INVAL),
            _ => Errno::INVAL,
        })
}

/// Seals a file against being shortened; a person knows one that cannot be sealed by an option of QEMU.
fn forbid_shrinking(file: &File) -> Result<(), Errno> {
    if fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
        return Ok(());
    }
    fcntl_add_seals(file, SealFlags::SHRINK).map_err(|_| {
        note("memory that can be shortened is refused: the client has to give a memfd that can be sealed");
        Errno::PERM
    })
}
