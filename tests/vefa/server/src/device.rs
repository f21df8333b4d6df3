// SPDX-License-Identifier: GPL-2.0
//! The device as a client sees it: numbered regions (BARs and configuration space), interrupts, memory and
//! reset, put together from configuration space and model.

use crate::interrupts::Interrupts;
use crate::memory::{map_file, Access, Memory};
use anyhow::{Context, Result};
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use vefa_model::{Config, ControlReply, ControlRequest, EfaModel, LlqMemory};
use vefa_pci::{regs, Bar, BarKind, ConfigEvent, ConfigSpace, Function, Msix, BAR_COUNT};
use vm_memory::{MmapRegion, VolatileMemory};

/// Number of regions of a VFIO PCI device: six BARs, expansion ROM, configuration space, VGA.
pub const REGION_COUNT: u32 = 9;
const REGION_CONFIG: u32 = 7;

const LLQ_BAR: u8 = 2;
/// Where the MSI-X structures are in BAR 0, behind the registers. A page of table has 256 entries.
const MSIX_TABLE: u64 = 0x2000;
const MSIX_PBA: u64 = 0x3000;

/// The device and what it needs from its client.
pub struct Device {
    config_space: ConfigSpace,
    model: EfaModel<Memory, Interrupts, NoLlq>,
    memory: Memory,
    interrupts: Interrupts,
    llq: Option<SharedBar>,
    started: Instant,
    /// Live objects at the times when a client went away, added up by kind.
    left_behind: BTreeMap<String, u64>,
}

/// What a region is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionInfo {
    /// Bytes; 0 for a region that is not there.
    pub size: u64,
    /// Whether the client can map it as memory.
    pub shared: bool,
}

/// A BAR that is plain memory, which a client can map and then access without the server.
struct SharedBar {
    file: File,
    mapping: MmapRegion,
}

/// LLQ memory that the model does not reach.
struct NoLlq;

impl LlqMemory for NoLlq {
    fn read(&self, _offset: u64, buf: &mut [u8]) {
        buf.fill(0);
    }
}

/// What is behind an access.
enum Target {
    ConfigSpace,
    Llq,
    Registers(u8),
}

impl Device {
    /// A device with this configuration, after power-on and without a client.
    ///
    /// # Errors
    ///
    /// When no device can have that configuration, or there is no memory for BAR 2.
    pub fn new(config: Config) -> Result<Self> {
        let config_space = ConfigSpace::new(&function(&config))?;
        let memory = Memory::default();
        let interrupts = Interrupts::new(config.num_vectors);
        let llq = shared_llq_size(&config)
            .map(SharedBar::new)
            .transpose()
            .context("memory for BAR 2")?;
        let model = EfaModel::new(config, memory.clone(), interrupts.clone(), NoLlq)?;
        Ok(Device {
            config_space,
            model,
            memory,
            interrupts,
            llq,
            started: Instant::now(),
            left_behind: BTreeMap::new(),
        })
    }

    /// The memory that the device reaches.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The device's vectors.
    pub fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }

    /// Size and kind of a region.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there is no region of that number.
    pub fn region(&self, index: u32) -> Result<RegionInfo, Errno> {
        let bar = u8::try_from(index)
            .ok()
            .filter(|bar| usize::from(*bar) < BAR_COUNT);
        let size = match (index, bar) {
            (_, Some(bar)) => self.model.config().bar_size(bar).unwrap_or(0),
            (REGION_CONFIG, _) => regs::CONFIG_SIZE as u64,
            (..REGION_COUNT, _) => 0,
            _ => return Err(Errno::INVAL),
        };
        let shared = bar == Some(LLQ_BAR) && self.llq.is_some();
        Ok(RegionInfo { size, shared })
    }

    /// A file descriptor of the region's memory, for a client to map.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the region is not shared; `EMFILE` when there are too many file descriptors.
    pub fn region_fd(&self, index: u32) -> Result<OwnedFd, Errno> {
        let bar = self.llq.as_ref().filter(|_| index == u32::from(LLQ_BAR));
        let file = &bar.ok_or(Errno::INVAL)?.file;
        rustix::io::fcntl_dupfd_cloexec(file, 0)
    }

    /// A read by the guest.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the region does not have those bytes, or registers cannot be read that way.
    pub fn read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        match self.target(region, offset, data.len())? {
            Target::ConfigSpace => self.config_space.read(offset, data),
            Target::Llq => {
                if let Some(bar) = &self.llq {
                    bar.read(offset, data)?;
                }
            }
            Target::Registers(bar) => {
                self.poll_model();
                self.model.bar_read(bar, offset, data);
            }
        }
        Ok(())
    }

    /// A write by the guest.
    ///
    /// # Errors
    ///
    /// As [`Device::read`].
    pub fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Errno> {
        match self.target(region, offset, data.len())? {
            Target::ConfigSpace => {
                for event in self.config_space.write(offset, data) {
                    self.apply(event);
                }
            }
            Target::Llq => {
                if let Some(bar) = &self.llq {
                    bar.write(offset, data)?;
                }
            }
            Target::Registers(bar) => {
                self.poll_model();
                self.model.bar_write(bar, offset, data);
            }
        }
        Ok(())
    }

    /// Resets the function, as a reset of its bus would.
    pub fn reset(&mut self) {
        self.config_space.reset();
        self.reset_function();
    }

    /// The client went away: its memory and interrupts with it, and the device is as after power-on.
    pub fn detach(&mut self) {
        for (kind, count) in self.model.leaks().live {
            *self.left_behind.entry(kind).or_default() += count;
        }
        self.memory.unmap_all();
        self.interrupts.disconnect_all();
        self.reset();
    }

    /// Does the work that is due. Returns how long it is until the next, if there is any.
    pub fn poll(&mut self) -> Option<Duration> {
        let next = self.poll_model()?;
        Some(next.saturating_sub(self.started.elapsed()))
    }

    /// Carries out a request of the control socket.
    pub fn control(&mut self, request: ControlRequest) -> ControlReply {
        self.poll_model();
        self.model.control(request)
    }

    /// What was not destroyed: objects alive now, at orderly resets, and when a client went away.
    pub fn leaks(&self) -> serde_json::Value {
        let leaks = self.model.leaks();
        serde_json::json!({
            "live": leaks.live,
            "at_reset": leaks.at_reset,
            "at_disconnect": self.left_behind,
        })
    }

    fn poll_model(&mut self) -> Option<Duration> {
        self.model.poll(self.started.elapsed())
    }

    fn target(&self, region: u32, offset: u64, len: usize) -> Result<Target, Errno> {
        let info = self.region(region)?;
        let end = offset.checked_add(len as u64).ok_or(Errno::INVAL)?;
        if end > info.size {
            return Err(Errno::INVAL);
        }
        if region == REGION_CONFIG {
            return Ok(Target::ConfigSpace);
        }
        if info.shared {
            return Ok(Target::Llq);
        }
        // What a CPU's load or store can be.
        if !matches!(len, 1 | 2 | 4 | 8) {
            return Err(Errno::INVAL);
        }
        u8::try_from(region)
            .map(Target::Registers)
            .map_err(|_| Errno::INVAL)
    }

    fn apply(&mut self, event: ConfigEvent) {
        match event {
            ConfigEvent::BusMaster(on) => {
                self.model.set_bus_master(on);
                self.interrupts.set_bus_master(on);
            }
            ConfigEvent::MsixDelivery(on) => self.interrupts.set_msix_delivery(on),
            ConfigEvent::FunctionReset => self.reset_function(),
        }
    }

    fn reset_function(&mut self) {
        self.interrupts.reset();
        self.model.set_bus_master(false);
        self.model.function_reset();
    }
}

impl SharedBar {
    fn new(size: u64) -> Result<Self, Errno> {
        let file = File::from(memfd_create("vefa-llq", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, size)?;
        let second = File::from(rustix::io::fcntl_dupfd_cloexec(&file, 0)?);
        let access = Access {
            read: true,
            write: true,
        };
        let mapping = map_file(second, 0, size, access)?;
        Ok(SharedBar { file, mapping })
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        self.slice(offset, data.len())?.copy_to(data);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.slice(offset, data.len())?.copy_from(data);
        Ok(())
    }

    fn slice(&self, offset: u64, len: usize) -> Result<vm_memory::VolatileSlice<'_>, Errno> {
        let offset = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        self.mapping
            .get_slice(offset, len)
            .map_err(|_| Errno::INVAL)
    }
}

/// Size of BAR 2 where it is plain memory. With doorbells in it, writes have to reach the model.
fn shared_llq_size(config: &Config) -> Option<u64> {
    let doorbells = config.has_db_bar && config.db_bar == LLQ_BAR;
    config.bar_size(LLQ_BAR).filter(|_| !doorbells)
}

/// The PCI function that a configuration describes.
fn function(config: &Config) -> Function {
    let mut bars = [None; BAR_COUNT];
    for (number, bar) in (0..).zip(&mut bars) {
        let kind = if number == LLQ_BAR {
            BarKind::Memory64Prefetchable
        } else {
            BarKind::Memory32
        };
        *bar = config.bar_size(number).map(|size| Bar { size, kind });
    }
    let msix = Msix {
        vectors: config.num_vectors,
        bar: 0,
        table: MSIX_TABLE,
        pba: MSIX_PBA,
    };
    Function {
        subsystem_id: config.subsystem_device_id,
        ..Function::efa(config.device_id, bars, Some(msix))
    }
}
