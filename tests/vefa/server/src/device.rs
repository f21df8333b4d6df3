// SPDX-License-Identifier: GPL-2.0
//! The device as a client sees it: numbered regions (BARs and configuration space), interrupts, memory and
//! reset, put together from configuration space and model.

use crate::interrupts::Interrupts;
use crate::llq::Llq;
use crate::log::note;
use crate::memory::Memory;
use anyhow::{Context, Result};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use vefa_model::{Config, ControlReply, ControlRequest, EfaModel, Gid, LlqMemory, Packet};
use vefa_pci::{regs, Bar, BarKind, ConfigEvent, ConfigSpace, Function, Msix, BAR_COUNT};

/// Number of regions of a VFIO PCI device: six BARs, expansion ROM, configuration space, VGA.
pub const REGION_COUNT: u32 = 9;
const REGION_CONFIG: u32 = 7;

const LLQ_BAR: u8 = 2;
/// Where the MSI-X structures are in their BAR; in BAR 0 that is behind the registers. A page of table has 256 entries.
const MSIX_TABLE: u64 = 0x2000;
const MSIX_PBA: u64 = 0x3000;

/// The device and what it needs from its client.
pub struct Device {
    config_space: ConfigSpace,
    model: EfaModel<Memory, Interrupts, Llq>,
    memory: Memory,
    interrupts: Interrupts,
    llq: Llq,
    started: Instant,
    /// Live objects at the times when a client went away, added up by kind.
    left_behind: BTreeMap<String, u64>,
}

/// What a region is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionInfo {
    /// Bytes; 0 for a region that is not there.
    pub size: u64,
    /// How many of them, from the start, are memory that the client can map.
    pub shared: u64,
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
        let llq = Llq::new(config.llq_size()).context("memory for BAR 2")?;
        let model = EfaModel::new(config, memory.clone(), interrupts.clone(), llq.clone())?;
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

    /// The address by which other devices reach this one.
    pub fn gid(&self) -> Gid {
        self.model.config().gid
    }

    /// Takes some of the packets that the device sends; none when there are no more.
    pub fn take_packets(&mut self) -> Vec<Packet> {
        self.model.take_packets()
    }

    /// A packet of another device, or its own, arrives.
    pub fn deliver(&mut self, packet: Packet) {
        self.model.deliver(packet);
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
        let shared = match bar {
            Some(LLQ_BAR) => self.llq.size(),
            _ => 0,
        };
        Ok(RegionInfo { size, shared })
    }

    /// A file descriptor of the region's memory, for a client to map.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the region is not shared; `EMFILE` when there are too many file descriptors.
    pub fn region_fd(&self, index: u32) -> Result<OwnedFd, Errno> {
        if index != u32::from(LLQ_BAR) {
            return Err(Errno::INVAL);
        }
        self.llq.fd()
    }

    /// A read by the guest.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the region does not have those bytes, or registers cannot be read that way.
    pub fn read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        match self.target(region, offset, data.len())? {
            Target::ConfigSpace => self.config_space.read(offset, data),
            Target::Llq => self.llq.read(offset, data),
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
            Target::Llq => self.llq.write(offset, data)?,
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
        if let Err(error) = self.llq.clear() {
            note(format_args!("LLQ memory keeps its contents: {error}"));
        }
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
        if end <= info.shared {
            return Ok(Target::Llq);
        }
        if offset < info.shared {
            return Err(Errno::INVAL);
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
        bar: config.msix_bar.into(),
        table: MSIX_TABLE,
        pba: MSIX_PBA,
    };
    Function {
        subsystem_id: config.subsystem_device_id,
        ..Function::efa(config.device_id, bars, Some(msix))
    }
}
