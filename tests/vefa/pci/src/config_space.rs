// SPDX-License-Identifier: GPL-2.0
//! Configuration space as a table of bytes with a mask of the bits that software can write.

use crate::{regs, Function, LayoutError};

/// A write to configuration space that the rest of the device has to act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigEvent {
    /// Bus mastering (DMA and interrupts) was turned on or off.
    BusMaster(bool),
    /// MSI-X delivery changed: `true` when the function may send messages (enabled and not masked).
    MsixDelivery(bool),
    /// Software asked for a function level reset; configuration space has been reset.
    FunctionReset,
}

/// Configuration space of one function.
pub struct ConfigSpace {
    value: Box<[u8; regs::CONFIG_SIZE]>,
    writable: Box<[u8; regs::CONFIG_SIZE]>,
    at_reset: Box<[u8; regs::CONFIG_SIZE]>,
}

impl ConfigSpace {
    /// Configuration space of `function`, in its state after reset.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] when the function's BARs or MSI-X structures cannot exist.
    pub fn new(function: &Function) -> Result<Self, LayoutError> {
        function.check()?;
        let mut table = Table::new();
        table.header(function);
        table.bars(function);
        table.express();
        table.msix(function);
        Ok(ConfigSpace {
            at_reset: table.value.clone(),
            value: table.value,
            writable: table.writable,
        })
    }

    /// Reads `data.len()` bytes at `offset`. Bytes beyond the end read as all ones.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        data.fill(0xff);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let stored = self.value.iter().skip(start);
        for (byte, stored) in data.iter_mut().zip(stored) {
            *byte = *stored;
        }
    }

    /// Writes `data` at `offset`, as far as the registers there are writable, and says what that changed.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Vec<ConfigEvent> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if self.asks_for_reset(start, data) {
            self.reset();
            return vec![ConfigEvent::FunctionReset];
        }
        let (bus_master, msix) = (self.bus_master(), self.msix_delivery());
        let registers = self.value.iter_mut().zip(self.writable.iter());
        for ((stored, mask), byte) in registers.skip(start).zip(data) {
            *stored = (*stored & !mask) | (byte & mask);
        }
        let mut events = Vec::new();
        if self.bus_master() != bus_master {
            events.push(ConfigEvent::BusMaster(self.bus_master()));
        }
        if self.msix_delivery() != msix {
            events.push(ConfigEvent::MsixDelivery(self.msix_delivery()));
        }
        events
    }

    /// Returns to the state after reset: bus mastering, memory space and MSI-X off, BARs cleared.
    pub fn reset(&mut self) {
        self.value.clone_from(&self.at_reset);
    }

    /// Whether the function may do DMA and send interrupts.
    pub fn bus_master(&self) -> bool {
        self.word(regs::COMMAND) & regs::COMMAND_BUS_MASTER != 0
    }

    /// Whether MSI-X is enabled and the function is not masked as a whole.
    pub fn msix_delivery(&self) -> bool {
        let both = regs::MSIX_CONTROL_ENABLE | regs::MSIX_CONTROL_FUNCTION_MASK;
        self.word(regs::MSIX_CONTROL) & both == regs::MSIX_CONTROL_ENABLE
    }

    /// Whether a write sets the function level reset bit, which never reads back as set.
    fn asks_for_reset(&self, start: usize, data: &[u8]) -> bool {
        const HIGH_BYTE: usize = regs::EXPRESS_DEVICE_CONTROL + 1;
        let written = HIGH_BYTE.checked_sub(start).and_then(|i| data.get(i));
        let [_, reset_bit] = regs::DEVICE_CONTROL_FUNCTION_RESET.to_le_bytes();
        written.is_some_and(|byte| byte & reset_bit != 0)
    }

    fn word(&self, offset: usize) -> u16 {
        let mut bytes = [0; 2];
        self.read(offset as u64, &mut bytes);
        u16::from_le_bytes(bytes)
    }
}

/// The table while it is built.
struct Table {
    value: Box<[u8; regs::CONFIG_SIZE]>,
    writable: Box<[u8; regs::CONFIG_SIZE]>,
}

impl Table {
    fn new() -> Self {
        Table {
            value: Box::new([0; regs::CONFIG_SIZE]),
            writable: Box::new([0; regs::CONFIG_SIZE]),
        }
    }

    fn header(&mut self, function: &Function) {
        self.set(regs::VENDOR_ID, &function.vendor_id.to_le_bytes());
        self.set(regs::DEVICE_ID, &function.device_id.to_le_bytes());
        self.set(regs::REVISION_ID, &[function.revision]);
        let [interface, subclass, class, _] = function.class.to_le_bytes();
        self.set(regs::CLASS_CODE, &[interface, subclass, class]);
        let subsystem_vendor = function.subsystem_vendor_id.to_le_bytes();
        self.set(regs::SUBSYSTEM_VENDOR_ID, &subsystem_vendor);
        self.set(regs::SUBSYSTEM_ID, &function.subsystem_id.to_le_bytes());
        self.set(regs::STATUS, &regs::STATUS_CAPABILITIES_LIST.to_le_bytes());
        self.set(regs::CAPABILITIES_POINTER, &[regs::EXPRESS as u8]);
        let command = regs::COMMAND_MEMORY_SPACE
            | regs::COMMAND_BUS_MASTER
            | regs::COMMAND_PARITY_ERROR_RESPONSE
            | regs::COMMAND_SERR_ENABLE
            | regs::COMMAND_INTERRUPT_DISABLE;
        self.allow(regs::COMMAND, &command.to_le_bytes());
        self.allow(regs::INTERRUPT_LINE, &[0xff]);
    }

    fn bars(&mut self, function: &Function) {
        for (index, bar) in function.present_bars() {
            let offset = regs::BAR0 + index * 4;
            let width = bar.slots() * 4;
            self.set(offset, &bar.flags().to_le_bytes());
            let writable = bar.writable().to_le_bytes();
            self.allow(offset, writable.get(..width).unwrap_or(&writable));
        }
    }

    /// Version 2 endpoint with a one-lane 2.5 GT/s link that can reset itself.
    fn express(&mut self) {
        const VERSION_2: u16 = 2;
        const LINK_X1_2_5GT: u16 = 0x11;
        self.set(regs::EXPRESS, &[regs::CAPABILITY_EXPRESS, regs::MSIX as u8]);
        self.set(regs::EXPRESS_CAPABILITIES, &VERSION_2.to_le_bytes());
        let device =
            regs::DEVICE_CAPABILITIES_ROLE_BASED_ERRORS | regs::DEVICE_CAPABILITIES_FUNCTION_RESET;
        self.set(regs::EXPRESS_DEVICE_CAPABILITIES, &device.to_le_bytes());
        let link = u32::from(LINK_X1_2_5GT).to_le_bytes();
        self.set(regs::EXPRESS_LINK_CAPABILITIES, &link);
        self.set(regs::EXPRESS_LINK_STATUS, &LINK_X1_2_5GT.to_le_bytes());
        let device_2 = regs::DEVICE_CAPABILITIES_2_TIMEOUT_DISABLE.to_le_bytes();
        self.set(regs::EXPRESS_DEVICE_CAPABILITIES_2, &device_2);

        let device_control = !regs::DEVICE_CONTROL_FUNCTION_RESET;
        self.allow(regs::EXPRESS_DEVICE_CONTROL, &device_control.to_le_bytes());
        self.allow(regs::EXPRESS_LINK_CONTROL, &0x00ff_u16.to_le_bytes());
        let timeout_disable = regs::DEVICE_CAPABILITIES_2_TIMEOUT_DISABLE as u16;
        self.allow(
            regs::EXPRESS_DEVICE_CONTROL_2,
            &timeout_disable.to_le_bytes(),
        );
    }

    fn msix(&mut self, function: &Function) {
        let Some(msix) = function.msix else {
            self.set(regs::EXPRESS + 1, &[0]);
            return;
        };
        // The low three bits of both offsets name the BAR.
        let placed = |offset: u64| (offset as u32 | msix.bar as u32).to_le_bytes();
        self.set(regs::MSIX, &[regs::CAPABILITY_MSIX, 0]);
        self.set(regs::MSIX_CONTROL, &(msix.vectors - 1).to_le_bytes());
        self.set(regs::MSIX_TABLE, &placed(msix.table));
        self.set(regs::MSIX_PBA, &placed(msix.pba));
        let control = regs::MSIX_CONTROL_ENABLE | regs::MSIX_CONTROL_FUNCTION_MASK;
        self.allow(regs::MSIX_CONTROL, &control.to_le_bytes());
    }

    fn set(&mut self, offset: usize, bytes: &[u8]) {
        copy_into(&mut self.value, offset, bytes);
    }

    /// Makes the bits set in `mask` writable.
    fn allow(&mut self, offset: usize, mask: &[u8]) {
        copy_into(&mut self.writable, offset, mask);
    }
}

fn copy_into(table: &mut [u8; regs::CONFIG_SIZE], offset: usize, bytes: &[u8]) {
    for (stored, byte) in table.iter_mut().skip(offset).zip(bytes) {
        *stored = *byte;
    }
}
