// SPDX-License-Identifier: GPL-2.0
//! LLQ memory: the part of BAR 2 that is plain memory, which a client maps and then writes without a message.

use crate::memory::{map_file, Access};
use rustix::fs::{
    fallocate, fcntl_add_seals, ftruncate, memfd_create, FallocateFlags, MemfdFlags, SealFlags,
};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use vefa_model::LlqMemory;
use vm_memory::{MmapRegion, VolatileMemory, VolatileSlice};

/// The device's LLQ memory, which may be none. Clones share it: the client writes, the model reads.
#[derive(Clone, Default)]
pub struct Llq(Option<Rc<Shared>>);

struct Shared {
    file: File,
    mapping: MmapRegion,
}

impl Llq {
    /// LLQ memory of `size` bytes, all zero; none where that is 0.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub fn new(size: u64) -> Result<Self, Errno> {
        if size == 0 {
            return Ok(Llq::default());
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("vefa-llq", flags)?);
        ftruncate(&file, size)?;
        // The client gets this file: its length stays what it is.
        let fixed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, fixed)?;
        let second = File::from(rustix::io::fcntl_dupfd_cloexec(&file, 0)?);
        let access = Access {
            read: true,
            write: true,
        };
        let mapping = map_file(second, access)?;
        Ok(Llq(Some(Rc::new(Shared { file, mapping }))))
    }

    /// Bytes of it.
    pub fn size(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |shared| shared.mapping.size() as u64)
    }

    /// A file descriptor of it, for a client to map.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there is none; `EMFILE` when there are too many file descriptors.
    pub fn fd(&self) -> Result<OwnedFd, Errno> {
        let shared = self.0.as_ref().ok_or(Errno::INVAL)?;
        rustix::io::fcntl_dupfd_cloexec(&shared.file, 0)
    }

    /// All zero again, as after power-on.
    ///
    /// # Errors
    ///
    /// That of `fallocate`.
    pub fn clear(&self) -> Result<(), Errno> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match &self.0 {
            Some(shared) => fallocate(&shared.file, flags, 0, self.size()),
            None => Ok(()),
        }
    }

    /// A write of the guest that came as a message.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there are not so many bytes.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.slice(offset, data.len())?.copy_from(data);
        Ok(())
    }

    fn slice(&self, offset: u64, len: usize) -> Result<VolatileSlice<'_>, Errno> {
        let shared = self.0.as_ref().ok_or(Errno::INVAL)?;
        let offset = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        let slice = shared.mapping.get_slice(offset, len);
        slice.map_err(|_| Errno::INVAL)
    }
}

impl LlqMemory for Llq {
    fn read(&self, offset: u64, data: &mut [u8]) {
        data.fill(0);
        let there = usize::try_from(self.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = there.min(data.len());
        if let (Ok(slice), Some(data)) = (self.slice(offset, count), data.get_mut(..count)) {
            slice.copy_to(data);
        }
    }
}
