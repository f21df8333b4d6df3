// SPDX-License-Identifier: GPL-2.0
//! A guest with memory and a driver: registers and admin commands, by messages as QEMU sends them.

use super::*;
use std::os::unix::fs::FileExt;
use vefa_spec::regs;

pub const BAR0: u32 = 0;
pub const LLQ_BAR: u32 = 2;
/// Where the guest's memory is.
pub const BASE: u64 = 0x10_0000;
pub const SIZE: u64 = 0x10_0000;
/// Offsets in it.
pub const RESPONSE: u64 = 0;
const AQ: u64 = 0x1000;
const ACQ: u64 = 0x2000;
const AENQ: u64 = 0x3000;

/// Phase bit of the first lap.
pub const PHASE: u8 = 1;
pub const EVENTFD_TRIGGER: u32 = 0x24;
const DEPTH: u32 = 32;
const ENTRY: u32 = 64;

/// A guest with memory, and bus mastering and MSI-X on.
pub struct Guest {
    pub client: Client,
    pub memory: File,
    reads: u32,
    /// Admin commands so far.
    commands: u32,
}

impl Guest {
    pub fn new(server: &Running) -> Self {
        Self::on(server, 0)
    }

    /// As the client of that device.
    pub fn on(server: &Running, device: usize) -> Self {
        let mut client = server.client_of(device);
        let memory = guest_memory(SIZE);
        let window = dma_map(READ | WRITE, 0, BASE, SIZE);
        client.ok_with(Command::DmaMap, &window, &[memory.as_fd()]);
        client.enable();
        Guest {
            client,
            memory,
            reads: 0,
            commands: 0,
        }
    }

    pub fn set(&mut self, register: u32, value: u32) {
        self.client
            .write(BAR0, register.into(), &value.to_le_bytes());
    }

    /// Asks for a register and gives the answer found in memory.
    pub fn get(&mut self, register: u32) -> [u8; 8] {
        self.reads += 1;
        self.set(regs::MMIO_REG_READ_OFF, (register << 16) | self.reads);
        self.bytes(RESPONSE)
    }

    pub fn bytes<const N: usize>(&self, offset: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.memory.read_exact_at(&mut bytes, offset).unwrap();
        bytes
    }

    pub fn set_response_address(&mut self, address: u64) {
        self.set(regs::MMIO_RESP_LO_OFF, address as u32);
        self.set(regs::MMIO_RESP_HI_OFF, (address >> 32) as u32);
    }

    /// Admin queue, its completions and the event queue, with 64-byte entries.
    pub fn set_up_queues(&mut self) {
        let bases = [
            (regs::AQ_BASE_LO_OFF, AQ),
            (regs::ACQ_BASE_LO_OFF, ACQ),
            (regs::AENQ_BASE_LO_OFF, AENQ),
        ];
        for (register, offset) in bases {
            self.set(register, (BASE + offset) as u32);
            self.set(register + 4, 0);
        }
        self.set(regs::AQ_CAPS_OFF, (ENTRY << 16) | DEPTH);
        self.set(regs::ACQ_CAPS_OFF, (ENTRY << 16) | DEPTH);
        self.set(regs::AENQ_CAPS_OFF, (ENTRY << 16) | 16);
        self.set(regs::AENQ_CONS_DB_OFF, 0);
    }

    /// An admin command, which succeeds; `payload` follows the common part. Gives the completion.
    pub fn command(&mut self, opcode: u32, payload: &[u8]) -> [u8; ENTRY as usize] {
        let completion = self.try_command(opcode, payload);
        assert_eq!(completion[2], 0, "status of command {opcode}");
        completion
    }

    /// As [`Guest::command`], whatever comes of it.
    pub fn try_command(&mut self, opcode: u32, payload: &[u8]) -> [u8; ENTRY as usize] {
        let slot = self.commands % DEPTH;
        let phase = PHASE ^ (self.commands / DEPTH % 2) as u8;
        let mut entry = [0; ENTRY as usize];
        entry[..4].copy_from_slice(&[slot as u8, 0, opcode as u8, phase]);
        entry[4..][..payload.len()].copy_from_slice(payload);
        let offset = u64::from(slot * ENTRY);
        self.memory.write_all_at(&entry, AQ + offset).unwrap();
        self.commands += 1;
        self.set(regs::AQ_PROD_DB_OFF, self.commands);
        let completion: [u8; ENTRY as usize] = self.bytes(ACQ + offset);
        assert_eq!(completion[..2], [slot as u8, 0], "id of command {opcode}");
        assert_eq!(completion[3], phase, "phase of command {opcode}");
        completion
    }
}
