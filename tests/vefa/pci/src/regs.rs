// SPDX-License-Identifier: GPL-2.0
//! Offsets and bits of configuration space, named as in the PCI Local Bus and PCI Express specifications.

/// Bytes of configuration space of a PCI Express function.
pub const CONFIG_SIZE: usize = 4096;

pub const VENDOR_ID: usize = 0x00;
pub const DEVICE_ID: usize = 0x02;
pub const COMMAND: usize = 0x04;
pub const STATUS: usize = 0x06;
pub const REVISION_ID: usize = 0x08;
/// Three bytes: programming interface, subclass, base class.
pub const CLASS_CODE: usize = 0x09;
pub const BAR0: usize = 0x10;
pub const SUBSYSTEM_VENDOR_ID: usize = 0x2c;
pub const SUBSYSTEM_ID: usize = 0x2e;
pub const CAPABILITIES_POINTER: usize = 0x34;
pub const INTERRUPT_LINE: usize = 0x3c;

pub const COMMAND_MEMORY_SPACE: u16 = 1 << 1;
pub const COMMAND_BUS_MASTER: u16 = 1 << 2;
pub const COMMAND_PARITY_ERROR_RESPONSE: u16 = 1 << 6;
pub const COMMAND_SERR_ENABLE: u16 = 1 << 8;
pub const COMMAND_INTERRUPT_DISABLE: u16 = 1 << 10;
pub const STATUS_CAPABILITIES_LIST: u16 = 1 << 4;

pub const BAR_MEMORY_64BIT: u32 = 0b100;
pub const BAR_MEMORY_PREFETCHABLE: u32 = 0b1000;
/// The bits of a memory BAR that are not address.
pub const BAR_MEMORY_FLAGS: u32 = 0xf;

pub const CAPABILITY_EXPRESS: u8 = 0x10;
pub const CAPABILITY_MSIX: u8 = 0x11;

/// Where this function keeps its PCI Express capability (version 2: 60 bytes).
pub const EXPRESS: usize = 0x40;
pub const EXPRESS_CAPABILITIES: usize = EXPRESS + 0x02;
pub const EXPRESS_DEVICE_CAPABILITIES: usize = EXPRESS + 0x04;
pub const EXPRESS_DEVICE_CONTROL: usize = EXPRESS + 0x08;
pub const EXPRESS_LINK_CAPABILITIES: usize = EXPRESS + 0x0c;
pub const EXPRESS_LINK_CONTROL: usize = EXPRESS + 0x10;
pub const EXPRESS_LINK_STATUS: usize = EXPRESS + 0x12;
pub const EXPRESS_DEVICE_CAPABILITIES_2: usize = EXPRESS + 0x24;
pub const EXPRESS_DEVICE_CONTROL_2: usize = EXPRESS + 0x28;

pub const DEVICE_CAPABILITIES_ROLE_BASED_ERRORS: u32 = 1 << 15;
pub const DEVICE_CAPABILITIES_FUNCTION_RESET: u32 = 1 << 28;
pub const DEVICE_CONTROL_FUNCTION_RESET: u16 = 1 << 15;
/// Completion timeout disable.
pub const DEVICE_CAPABILITIES_2_TIMEOUT_DISABLE: u32 = 1 << 4;

/// Where this function keeps its MSI-X capability (12 bytes).
pub const MSIX: usize = 0xb0;
pub const MSIX_CONTROL: usize = MSIX + 0x02;
pub const MSIX_TABLE: usize = MSIX + 0x04;
pub const MSIX_PBA: usize = MSIX + 0x08;

pub const MSIX_CONTROL_FUNCTION_MASK: u16 = 1 << 14;
pub const MSIX_CONTROL_ENABLE: u16 = 1 << 15;
/// Bytes of one entry of the MSI-X table.
pub const MSIX_ENTRY_SIZE: u64 = 16;
