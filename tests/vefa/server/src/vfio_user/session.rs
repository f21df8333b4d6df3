// SPDX-License-Identifier: GPL-2.0
//! What each command does. A session is one client's use of the device; it does no I/O.

use super::message::{Command, FieldReader, FieldWriter, Header, Request, MAX_DATA, MAX_FDS};
use crate::device::{Device, REGION_COUNT};
use crate::memory::Access;
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use vefa_model::IrqSink;

/// Number of interrupt types: INTx, MSI, MSI-X. Of the five of VFIO, a client does without the last two.
const IRQ_TYPES: u32 = 3;
const IRQ_MSIX: u32 = 2;

const DEVICE_RESET: u32 = 1 << 0;
const DEVICE_PCI: u32 = 1 << 1;

const REGION_READ: u32 = 1 << 0;
const REGION_WRITE: u32 = 1 << 1;
const REGION_MMAP: u32 = 1 << 2;
const REGION_CAPS: u32 = 1 << 3;
const REGION_INFO_SIZE: u32 = 32;
const SPARSE_MMAP_ID: u16 = 1;
const SPARSE_MMAP_VERSION: u16 = 1;
/// Capability header, number of areas, one area.
const SPARSE_MMAP_SIZE: u32 = 8 + 8 + 16;

const DMA_MAP_READ: u32 = 1 << 0;
const DMA_MAP_WRITE: u32 = 1 << 1;
const DMA_UNMAP_ALL: u32 = 1 << 1;

const IRQ_INFO_EVENTFD: u32 = 1 << 0;
const IRQ_DATA_NONE: u32 = 1 << 0;
const IRQ_DATA_BOOL: u32 = 1 << 1;
const IRQ_DATA_EVENTFD: u32 = 1 << 2;
const IRQ_ACTION_TRIGGER: u32 = 1 << 5;

/// What to send to the client.
#[derive(Debug)]
pub struct Outcome {
    /// Reply message and the file descriptor to pass with it; `None` when the client wants none.
    pub reply: Option<(Vec<u8>, Option<OwnedFd>)>,
    /// Whether the connection must end after the reply, with the reason.
    pub refused: Option<&'static str>,
}

/// One client's use of the device.
#[derive(Default)]
pub struct Session {
    /// Version agreed on, which has to come first.
    negotiated: bool,
}

/// Payload of a successful reply, and the file descriptor that goes with it.
type Reply = Result<(Vec<u8>, Option<OwnedFd>), Errno>;

impl Session {
    /// Carries out one command. Whatever it contains, the worst that comes is an error reply, or the end of
    /// the session where the two sides cannot agree on a version.
    pub fn handle(&mut self, device: &mut Device, request: Request) -> Outcome {
        let header = request.header;
        let result = self.execute(device, request);
        let failed = result.is_err();
        let reply = match result {
            Ok((payload, fd)) => (header.reply(&payload), fd),
            Err(error) => (header.error_reply(error), None),
        };
        let refused = (failed && !self.negotiated).then_some("no agreement on a protocol version");
        Outcome {
            reply: header.wants_reply().then_some(reply),
            refused,
        }
    }

    fn execute(&mut self, device: &mut Device, request: Request) -> Reply {
        let Request {
            header: Header { command, .. },
            payload,
            fds,
        } = request;
        let command = Command::from_number(command)?;
        if self.negotiated == (command == Command::Version) {
            return Err(Errno::INVAL);
        }
        let takes_fds = matches!(command, Command::DmaMap | Command::DeviceSetIrqs);
        if !takes_fds && !fds.is_empty() {
            return Err(Errno::INVAL);
        }
        let mut fields = FieldReader::new(&payload);
        match command {
            Command::Version => {
                let reply = version(&mut fields)?;
                self.negotiated = true;
                Ok((reply, None))
            }
            Command::DmaMap => dma_map(device, &mut fields, fds),
            Command::DmaUnmap => dma_unmap(device, &payload),
            Command::DeviceGetInfo => device_info(&mut fields),
            Command::DeviceGetRegionInfo => region_info(device, &mut fields),
            Command::DeviceGetIrqInfo => irq_info(device, &mut fields),
            Command::DeviceSetIrqs => set_irqs(device, &mut fields, fds),
            Command::RegionRead => region_read(device, &mut fields),
            Command::RegionWrite => region_write(device, &mut fields),
            Command::DeviceReset => {
                device.reset();
                Ok((Vec::new(), None))
            }
        }
    }
}

/// Agrees on version 0.0, the only one. Of the client's capabilities none is needed.
fn version(fields: &mut FieldReader<'_>) -> Result<Vec<u8>, Errno> {
    let (major, _minor) = (fields.u16()?, fields.u16()?);
    if major != 0 {
        return Err(Errno::INVAL);
    }
    let text = fields.rest();
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    if !text.is_empty() {
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(text)
            .map_err(|_| Errno::INVAL)?;
    }
    let capabilities = serde_json::json!({"capabilities": {
        "max_msg_fds": MAX_FDS,
        "max_data_xfer_size": MAX_DATA,
        "pgsizes": 4096,
    }});
    let mut reply = FieldWriter::default();
    reply.u16(0).u16(0);
    reply.bytes(capabilities.to_string().as_bytes()).bytes(&[0]);
    Ok(reply.finish())
}

fn device_info(fields: &mut FieldReader<'_>) -> Reply {
    const SIZE: u32 = 16;
    require_room(fields.u32()?, SIZE)?;
    let mut reply = FieldWriter::default();
    reply.u32(SIZE).u32(DEVICE_RESET | DEVICE_PCI);
    reply.u32(REGION_COUNT).u32(IRQ_TYPES);
    Ok((reply.finish(), None))
}

/// Memory of a region that is shared is described by a sparse area, in a reply that may need more room than the client gave:
/// then it learns the size, asks again, and gets the file descriptor with the whole answer.
fn region_info(device: &Device, fields: &mut FieldReader<'_>) -> Reply {
    let (room, _flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
    require_room(room, REGION_INFO_SIZE)?;
    let info = device.region(index)?;
    let (size, flags, capability) = match info.shared {
        _ if info.size == 0 => (REGION_INFO_SIZE, 0, 0),
        0 => (REGION_INFO_SIZE, REGION_READ | REGION_WRITE, 0),
        _ => (
            REGION_INFO_SIZE + SPARSE_MMAP_SIZE,
            REGION_READ | REGION_WRITE | REGION_MMAP | REGION_CAPS,
            REGION_INFO_SIZE,
        ),
    };
    let mut reply = FieldWriter::default();
    reply.u32(size).u32(flags).u32(index).u32(capability);
    reply.u64(info.size).u64(0);
    if info.shared == 0 || room < size {
        return Ok((reply.finish(), None));
    }
    reply.u16(SPARSE_MMAP_ID).u16(SPARSE_MMAP_VERSION).u32(0);
    reply.u32(1).u32(0);
    reply.u64(0).u64(info.shared);
    Ok((reply.finish(), Some(device.region_fd(index)?)))
}

fn region_read(device: &mut Device, fields: &mut FieldReader<'_>) -> Reply {
    let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
    let len = data_len(count)?;
    let mut data = vec![0; len];
    device.read(region, offset, &mut data)?;
    let mut reply = FieldWriter::default();
    reply.u64(offset).u32(region).u32(count).bytes(&data);
    Ok((reply.finish(), None))
}

fn region_write(device: &mut Device, fields: &mut FieldReader<'_>) -> Reply {
    let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
    let data = fields.rest();
    if data.len() != data_len(count)? {
        return Err(Errno::INVAL);
    }
    device.write(region, offset, data)?;
    let mut reply = FieldWriter::default();
    reply.u64(offset).u32(region).u32(count);
    Ok((reply.finish(), None))
}

fn dma_map(device: &Device, fields: &mut FieldReader<'_>, fds: Vec<OwnedFd>) -> Reply {
    let (_size, flags) = (fields.u32()?, fields.u32()?);
    let (offset, iova, size) = (fields.u64()?, fields.u64()?, fields.u64()?);
    if flags & !(DMA_MAP_READ | DMA_MAP_WRITE) != 0 || fds.len() > 1 {
        return Err(Errno::INVAL);
    }
    let access = Access {
        read: flags & DMA_MAP_READ != 0,
        write: flags & DMA_MAP_WRITE != 0,
    };
    let file = fds.into_iter().next().map(|fd| (File::from(fd), offset));
    device.memory().map(iova, size, access, file)?;
    Ok((Vec::new(), None))
}

/// The reply repeats the request. Nothing can be in flight, since the device does its DMA between
/// messages.
fn dma_unmap(device: &Device, payload: &[u8]) -> Reply {
    let mut fields = FieldReader::new(payload);
    let (_size, flags) = (fields.u32()?, fields.u32()?);
    let (iova, size) = (fields.u64()?, fields.u64()?);
    match flags {
        0 => device.memory().unmap(iova, size)?,
        DMA_UNMAP_ALL if iova == 0 && size == 0 => device.memory().unmap_all(),
        _ => return Err(Errno::INVAL),
    }
    Ok((payload.to_vec(), None))
}

fn irq_info(device: &Device, fields: &mut FieldReader<'_>) -> Reply {
    const SIZE: u32 = 16;
    let (room, _flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
    require_room(room, SIZE)?;
    let (flags, count) = match index {
        IRQ_MSIX => (IRQ_INFO_EVENTFD, device.interrupts().count()),
        ..IRQ_TYPES => (0, 0),
        _ => return Err(Errno::INVAL),
    };
    let mut reply = FieldWriter::default();
    reply.u32(SIZE).u32(flags).u32(index).u32(count);
    Ok((reply.finish(), None))
}

fn set_irqs(device: &Device, fields: &mut FieldReader<'_>, fds: Vec<OwnedFd>) -> Reply {
    let (_size, flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (start, count) = (fields.u32()?, fields.u32()?);
    let (IRQ_MSIX, Some(data)) = (index, flags.checked_sub(IRQ_ACTION_TRIGGER)) else {
        return set_absent_irqs(index, flags, count);
    };
    let interrupts = device.interrupts();
    match data {
        IRQ_DATA_EVENTFD if fds.is_empty() => interrupts.disconnect(start, count)?,
        IRQ_DATA_EVENTFD if fds.len() == count as usize => interrupts.connect(start, fds)?,
        IRQ_DATA_NONE if start == 0 && count == 0 => interrupts.disconnect_all(),
        IRQ_DATA_NONE => raise(device, start, count, |_| true)?,
        IRQ_DATA_BOOL if fields.rest().len() == count as usize => {
            let wanted = fields.rest();
            raise(device, start, count, |i| {
                wanted.get(i).is_some_and(|b| *b != 0)
            })?;
        }
        _ => return Err(Errno::INVAL),
    }
    Ok((Vec::new(), None))
}

/// Of the interrupt types that the device does not have, only "disable all" makes sense.
fn set_absent_irqs(index: u32, flags: u32, count: u32) -> Reply {
    let disable = flags == IRQ_DATA_NONE | IRQ_ACTION_TRIGGER && count == 0;
    if index >= IRQ_TYPES || !disable {
        return Err(Errno::INVAL);
    }
    Ok((Vec::new(), None))
}

/// Raises those of the vectors from `start` on that are wanted, as a client may ask to test its wiring.
fn raise(
    device: &Device,
    start: u32,
    count: u32,
    wanted: impl Fn(usize) -> bool,
) -> Result<(), Errno> {
    let interrupts = device.interrupts();
    let end = start.checked_add(count).ok_or(Errno::INVAL)?;
    if end > interrupts.count() {
        return Err(Errno::INVAL);
    }
    for (_, vector) in (start..end).enumerate().filter(|(i, _)| wanted(*i)) {
        interrupts.raise(u16::try_from(vector).map_err(|_| Errno::INVAL)?);
    }
    Ok(())
}

/// Refuses a client that has no room for the fixed part of a reply.
fn require_room(room: u32, needed: u32) -> Result<(), Errno> {
    if room < needed {
        return Err(Errno::INVAL);
    }
    Ok(())
}

/// Number of bytes of a region access.
fn data_len(count: u32) -> Result<usize, Errno> {
    match usize::try_from(count) {
        Ok(len) if (1..=MAX_DATA).contains(&len) => Ok(len),
        _ => Err(Errno::INVAL),
    }
}
