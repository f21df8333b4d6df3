// SPDX-License-Identifier: GPL-2.0
//! Access to the memory of work requests, through memory regions: the region
//! must be of the QP's PD, hold all bytes, and allow what is done.

use crate::data::descriptor::Remote;
use crate::data::descriptor::{Buffer, Local};
use crate::data::packet::Request;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, WorkStatus};
use crate::objects::Mr;
use crate::rules::Breach;
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Checks the buffers of a work request, which the device will write to or
    /// only read.
    ///
    /// # Errors
    /// `InvalidLkey` where they may not be used so.
    pub(crate) fn check_local(
        &self,
        pd: u16,
        local: &Local,
        write: bool,
    ) -> Result<(), WorkStatus> {
        let Local::Buffers(buffers) = local else {
            return Ok(());
        };
        let used = buffers.iter().filter(|buffer| buffer.len > 0);
        for buffer in used {
            self.local_region(pd, *buffer, write)?;
        }
        Ok(())
    }

    /// Bytes of a work request, from `offset`.
    ///
    /// # Errors
    /// `InvalidLkey` as [`check_local`](Self::check_local), `QpInternalError`
    /// where a region's memory is not there.
    pub(crate) fn gather(
        &mut self,
        pd: u16,
        local: &Local,
        offset: u64,
        len: u32,
    ) -> Result<Vec<u8>, WorkStatus> {
        let mut data = vec![0; len as usize];
        match local {
            Local::Inline(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                for (to, from) in data.iter_mut().zip(bytes.iter().skip(start)) {
                    *to = *from;
                }
            }
            Local::Buffers(buffers) => {
                let mut pieces = Vec::new();
                for piece in Pieces::new(buffers, offset, u64::from(len)) {
                    let region = self.local_region(pd, piece, false)?;
                    pieces.extend(segments(region, piece.address, u64::from(piece.len)));
                }
                self.read_all(&pieces, &mut data)?;
            }
        }
        Ok(data)
    }

    /// Writes bytes into the buffers of a work request, from `offset`.
    ///
    /// # Errors
    /// As [`gather`](Self::gather); nothing is written then where it is the
    /// keys that are wrong.
    pub(crate) fn scatter(
        &mut self,
        pd: u16,
        buffers: &[Buffer],
        offset: u64,
        data: &[u8],
    ) -> Result<(), WorkStatus> {
        let mut pieces = Vec::new();
        for piece in Pieces::new(buffers, offset, data.len() as u64) {
            let region = self.local_region(pd, piece, true)?;
            pieces.extend(segments(region, piece.address, u64::from(piece.len)));
        }
        self.write_all(&pieces, data)
    }

    /// Bytes that a remote QP reads, from `offset` of the range it named.
    ///
    /// # Errors
    /// `RemoteBadAddress` where it may not, `RemoteBadStatus` where the
    /// region's memory is not there.
    pub(crate) fn remote_read(
        &mut self,
        pd: u16,
        remote: Remote,
        offset: u64,
        len: u32,
    ) -> Result<Vec<u8>, WorkStatus> {
        let region = self.remote_region(pd, remote, false)?;
        let address = remote.address.wrapping_add(offset);
        let pieces = segments(region, address, u64::from(len));
        let mut data = vec![0; len as usize];
        self.read_all(&pieces, &mut data)
            .map_err(|_| WorkStatus::RemoteBadStatus)?;
        Ok(data)
    }

    /// Writes bytes of a remote QP at `offset` of the range it named.
    ///
    /// # Errors
    /// As [`remote_read`](Self::remote_read).
    pub(crate) fn remote_write(
        &mut self,
        pd: u16,
        remote: Remote,
        offset: u64,
        data: &[u8],
    ) -> Result<(), WorkStatus> {
        let region = self.remote_region(pd, remote, true)?;
        let address = remote.address.wrapping_add(offset);
        let pieces = segments(region, address, data.len() as u64);
        self.write_all(&pieces, data)
            .map_err(|_| WorkStatus::RemoteBadStatus)
    }

    fn local_region(&self, pd: u16, buffer: Buffer, write: bool) -> Result<&Mr, WorkStatus> {
        let region = self.objects.mrs.by_lkey(buffer.lkey);
        let region = region.filter(|mr| {
            let allowed = !write || mr.access.local_write;
            let inside = mr.segments(buffer.address, u64::from(buffer.len)).is_some();
            mr.pd == pd && allowed && inside
        });
        region.ok_or(WorkStatus::InvalidLkey)
    }

    fn remote_region(&self, pd: u16, remote: Remote, write: bool) -> Result<&Mr, WorkStatus> {
        let region = self.objects.mrs.by_rkey(remote.rkey);
        let region = region.filter(|mr| {
            let allowed = if write {
                mr.access.remote_write
            } else {
                mr.access.remote_read
            };
            let inside = mr.segments(remote.address, remote.len).is_some();
            mr.pd == pd && allowed && inside
        });
        region.ok_or(WorkStatus::RemoteBadAddress)
    }

    fn read_all(&mut self, pieces: &[(u64, u64)], data: &mut [u8]) -> Result<(), WorkStatus> {
        let width = self.config.dma_addr_width;
        let mut rest = data;
        for (address, len) in pieces {
            let len = usize::try_from(*len).unwrap_or(usize::MAX).min(rest.len());
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(len);
            rest = after;
            if let Err(breach) = self.bus.read(width, *address, piece) {
                return Err(self.broken_region(breach));
            }
        }
        Ok(())
    }

    fn write_all(&mut self, pieces: &[(u64, u64)], data: &[u8]) -> Result<(), WorkStatus> {
        let width = self.config.dma_addr_width;
        let in_order = self.config.device_caps() & Capability::DataPolling128.number() != 0;
        let mut rest = data;
        for (address, len) in pieces {
            let len = usize::try_from(*len).unwrap_or(usize::MAX).min(rest.len());
            let (piece, after) = rest.split_at(len);
            rest = after;
            let written = if in_order {
                self.bus.write_in_order(width, *address, piece)
            } else {
                self.bus.write(width, *address, piece)
            };
            if let Err(breach) = written {
                return Err(self.broken_region(breach));
            }
        }
        Ok(())
    }

    /// A region's memory is not on the bus, which is the driver's fault.
    fn broken_region(&mut self, breach: Breach) -> WorkStatus {
        self.journal.breach(breach);
        WorkStatus::QpInternalError
    }
}

impl Request {
    /// Whether a part lies in the range that it belongs to.
    pub(crate) fn is_in_range(&self) -> bool {
        let (remote, offset, len) = match self {
            Self::Send { .. } => return true,
            Self::Write {
                remote,
                offset,
                data,
                ..
            } => (remote, offset, data.len() as u64),
            Self::Read {
                remote,
                offset,
                len,
                ..
            } => (remote, offset, u64::from(*len)),
        };
        offset.checked_add(len).is_some_and(|end| end <= remote.len)
    }
}

fn segments(region: &Mr, address: u64, len: u64) -> Vec<(u64, u64)> {
    region
        .segments(address, len)
        .into_iter()
        .flatten()
        .collect()
}

/// The parts of buffers that a range of their bytes is in.
struct Pieces<'a> {
    buffers: std::slice::Iter<'a, Buffer>,
    skip: u64,
    left: u64,
}

impl<'a> Pieces<'a> {
    fn new(buffers: &'a [Buffer], offset: u64, len: u64) -> Self {
        Self {
            buffers: buffers.iter(),
            skip: offset,
            left: len,
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Buffer;

    fn next(&mut self) -> Option<Buffer> {
        while self.left > 0 {
            let buffer = self.buffers.next()?;
            let len = u64::from(buffer.len)
                .saturating_sub(self.skip)
                .min(self.left);
            let skip = self.skip;
            self.skip = skip.saturating_sub(u64::from(buffer.len));
            if len > 0 {
                self.left -= len;
                return Some(Buffer {
                    address: buffer.address.wrapping_add(skip),
                    len: u32::try_from(len).ok()?,
                    lkey: buffer.lkey,
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_bytes_is_found_in_its_buffers() {
        let buffer = |address, len| Buffer {
            address,
            len,
            lkey: 1,
        };
        let buffers = [buffer(100, 10), buffer(200, 0), buffer(300, 10)];
        let pieces = |offset, len| -> Vec<_> {
            let pieces = Pieces::new(&buffers, offset, len);
            pieces.map(|piece| (piece.address, piece.len)).collect()
        };
        assert_eq!(pieces(0, 20), [(100, 10), (300, 10)]);
        assert_eq!(pieces(4, 10), [(104, 6), (300, 4)]);
        assert_eq!(pieces(12, 3), [(302, 3)]);
        assert_eq!(pieces(10, 0), []);
        assert_eq!(pieces(15, 100), [(305, 5)]);
    }
}
