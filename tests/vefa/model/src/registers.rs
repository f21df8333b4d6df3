// SPDX-License-Identifier: GPL-2.0
//! The registers: readless reads, set-up of the queues, doorbells, reset.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{json, Map, Value};
use vefa_spec::entries::{AcqEntry, AenqEntry, MmioReadResp};
use vefa_spec::regs::{self, field_get, field_prep};

use crate::aenq::Aenq;
use crate::answers::Mask;
use crate::command::entry_size;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::ResetReason;
use crate::queues::{CompletionQueue, Queues};
use crate::ring::Ring;
use crate::rules::{Breach, Rule};
use crate::EfaModel;

/// Version of the controller: 0.0.1, which is the lowest that drivers accept.
const CONTROLLER_VERSION: u32 = 1;

/// What a register that does not exist reads as.
const NO_REGISTER: u32 = 0xffff_ffff;

/// Registers that may be written during a reset.
const USED_DURING_RESET: [u32; 4] = [
    regs::DEV_CTL_OFF,
    regs::MMIO_REG_READ_OFF,
    regs::MMIO_RESP_LO_OFF,
    regs::MMIO_RESP_HI_OFF,
];

const READ_ONLY: [u32; 4] = [
    regs::VERSION_OFF,
    regs::CONTROLLER_VERSION_OFF,
    regs::CAPS_OFF,
    regs::DEV_STS_OFF,
];

/// Registers that can be written, with the bits that are defined.
const WRITABLE: [(u32, u32); 17] = [
    (regs::AQ_BASE_LO_OFF, u32::MAX),
    (regs::AQ_BASE_HI_OFF, u32::MAX),
    (regs::AQ_CAPS_OFF, u32::MAX),
    (regs::ACQ_BASE_LO_OFF, u32::MAX),
    (regs::ACQ_BASE_HI_OFF, u32::MAX),
    (regs::ACQ_CAPS_OFF, u32::MAX),
    (regs::AQ_PROD_DB_OFF, u32::MAX),
    (regs::AENQ_CAPS_OFF, u32::MAX),
    (regs::AENQ_BASE_LO_OFF, u32::MAX),
    (regs::AENQ_BASE_HI_OFF, u32::MAX),
    (regs::AENQ_CONS_DB_OFF, u32::MAX),
    (regs::INTR_MASK_OFF, regs::INTR_MASK_EN_MASK),
    (
        regs::DEV_CTL_OFF,
        regs::DEV_CTL_DEV_RESET_MASK | regs::DEV_CTL_RESET_REASON_MASK,
    ),
    (regs::MMIO_REG_READ_OFF, u32::MAX),
    (regs::MMIO_RESP_LO_OFF, u32::MAX),
    (regs::MMIO_RESP_HI_OFF, u32::MAX),
    (regs::EQ_DB_OFF, regs::EQ_DB_EQN_MASK | regs::EQ_DB_ARM_MASK),
];

/// How far a reset has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ResetState {
    #[default]
    Running,
    /// Asked for; RESET_IN_PROGRESS is set at this time.
    Starting(Duration),
    /// RESET_IN_PROGRESS is set.
    InProgress,
    /// DEV_CTL was cleared; RESET_IN_PROGRESS is cleared at this time.
    Finishing(Duration),
}

impl ResetState {
    /// The state at `now`.
    pub fn at(self, now: Duration) -> Self {
        match self {
            Self::Starting(due) if due <= now => Self::InProgress,
            Self::Finishing(due) if due <= now => Self::Running,
            state => state,
        }
    }

    /// When the state changes by itself.
    pub fn due(self) -> Option<Duration> {
        match self {
            Self::Starting(due) | Self::Finishing(due) => Some(due),
            Self::Running | Self::InProgress => None,
        }
    }
}

/// What was written to the registers since the last reset.
#[derive(Debug, Default)]
pub(crate) struct Written(BTreeMap<u32, u32>);

impl Written {
    fn value(&self, offset: u32) -> u32 {
        self.0.get(&offset).copied().unwrap_or(0)
    }

    /// The address in a pair of registers.
    fn address(&self, low: u32, high: u32) -> u64 {
        (u64::from(self.value(high)) << 32) | u64::from(self.value(low))
    }

    /// Whether the driver turned the management interrupt off.
    pub fn interrupt_masked(&self) -> bool {
        self.value(regs::INTR_MASK_OFF) & regs::INTR_MASK_EN_MASK != 0
    }

    /// Where answers to register reads go, if the driver has said so.
    pub fn response_address(&self) -> Option<u64> {
        let (low, high) = (regs::MMIO_RESP_LO_OFF, regs::MMIO_RESP_HI_OFF);
        let is_set = self.0.contains_key(&low) || self.0.contains_key(&high);
        is_set.then(|| self.address(low, high))
    }
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// A write to the register BAR.
    ///
    /// # Errors
    /// The rule that the write breaks; the device then ignores it.
    pub(crate) fn register_write(&mut self, offset: u64, data: &[u8]) -> Result<(), Breach> {
        let (Ok(bytes), 0) = (<[u8; 4]>::try_from(data), offset % 4) else {
            let text = format!("write of {} bytes at {offset:#x}", data.len());
            return Err(Breach::new(Rule::RegisterWidth, text));
        };
        let value = u32::from_le_bytes(bytes);
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        if READ_ONLY.contains(&offset) {
            let text = format!("write of {value:#x} to the register at {offset:#x}");
            return Err(Breach::new(Rule::RegisterReadOnly, text));
        }
        let Some((_, defined)) = WRITABLE.iter().find(|(known, _)| *known == offset) else {
            let text = format!("write of {value:#x} at {offset:#x}");
            return Err(Breach::new(Rule::RegisterUnknown, text));
        };
        if value & !defined != 0 {
            let text = format!("write of {value:#x} to the register at {offset:#x}");
            return Err(Breach::new(Rule::RegisterReservedBits, text));
        }
        self.reset = self.reset.at(self.journal.now);
        if self.reset != ResetState::Running && !USED_DURING_RESET.contains(&offset) {
            let text = format!("write of {value:#x} to the register at {offset:#x}");
            return Err(Breach::new(Rule::RegisterDuringReset, text));
        }
        self.written.0.insert(offset, value);
        match offset {
            regs::MMIO_REG_READ_OFF => self.register_read(value),
            regs::DEV_CTL_OFF => self.device_control(value),
            regs::AQ_CAPS_OFF => self.set_up_submission(value),
            regs::ACQ_CAPS_OFF => self.set_up_completion(value),
            regs::AENQ_CAPS_OFF => self.set_up_aenq(value),
            regs::AQ_PROD_DB_OFF => self.ring_admin_doorbell(value),
            regs::AENQ_CONS_DB_OFF => self.aenq_consumed(value),
            regs::EQ_DB_OFF => self.ring_eq_doorbell(value),
            _ => Ok(()),
        }
    }

    /// Drops everything that a reset ends. To the log go `fields`, what was alive, and what the
    /// device did by itself since the reset before.
    pub(crate) fn reset_state(&mut self, name: &str, mut fields: Map<String, Value>) {
        fields.insert("live".to_owned(), json!(self.objects.live()));
        fields.insert("did".to_owned(), json!(self.bus.take_activity()));
        self.journal.reset(name, fields);
        self.objects.clear();
        self.data.reset();
        self.queues = Queues::default();
        self.written = Default::default();
        self.muted = false;
    }

    fn register_read(&mut self, request: u32) -> Result<(), Breach> {
        let resets = self.reset != ResetState::Running;
        if self.muted || resets && !self.config.reads_during_reset {
            return Ok(());
        }
        let offset = field_get(regs::MMIO_REG_READ_REG_OFF_MASK, request);
        if offset == self.config.silent_register {
            return Ok(());
        }
        let Some(address) = self.written.response_address() else {
            let text = format!("read of the register at {offset:#x}");
            return Err(Breach::new(Rule::RegisterReadWithoutAddress, text));
        };
        let value = self.register_value(offset);
        self.journal.counters.register_reads += 1;
        let mut bytes = value.unwrap_or(NO_REGISTER).to_le_bytes();
        self.shape(&mut bytes, &Mask::of_register(offset));
        let answer = MmioReadResp {
            req_id: field_get(regs::MMIO_REG_READ_REQ_ID_MASK, request) as u16,
            reg_off: offset as u16,
            reg_val: u32::from_le_bytes(bytes),
        };
        let width = self.config.dma_addr_width;
        self.bus.answer(width, address, &answer.encode())?;
        match value {
            Some(_) => Ok(()),
            None => {
                let text = format!("read at {offset:#x}");
                Err(Breach::new(Rule::RegisterUnknown, text))
            }
        }
    }

    fn register_value(&self, offset: u32) -> Option<u32> {
        let config = &self.config;
        match offset {
            regs::VERSION_OFF => Some(config.api_version.minor()),
            regs::CONTROLLER_VERSION_OFF => Some(CONTROLLER_VERSION),
            regs::CAPS_OFF => Some(
                field_prep(
                    regs::CAPS_RESET_TIMEOUT_MASK,
                    u32::from(config.reset_timeout),
                ) | field_prep(
                    regs::CAPS_DMA_ADDR_WIDTH_MASK,
                    u32::from(config.dma_addr_width),
                ) | field_prep(
                    regs::CAPS_ADMIN_CMD_TO_MASK,
                    u32::from(config.admin_cmd_timeout),
                ),
            ),
            regs::DEV_STS_OFF => Some(self.status()),
            _ => WRITABLE
                .iter()
                .find(|(known, _)| *known == offset)
                .map(|_| self.written.value(offset)),
        }
    }

    fn status(&self) -> u32 {
        let ready = field_prep(regs::DEV_STS_READY_MASK, u32::from(self.config.ready));
        match self.reset.at(self.journal.now) {
            ResetState::Running | ResetState::Starting(_) => ready,
            ResetState::InProgress | ResetState::Finishing(_) => {
                ready | regs::DEV_STS_RESET_IN_PROGRESS_MASK
            }
        }
    }

    fn device_control(&mut self, value: u32) -> Result<(), Breach> {
        let now = self.journal.now;
        let delay = Duration::from_millis(self.config.reset_delay_ms);
        let due = now.saturating_add(delay);
        if value & regs::DEV_CTL_DEV_RESET_MASK != 0 {
            return self.start_reset(field_get(regs::DEV_CTL_RESET_REASON_MASK, value), due);
        }
        match self.reset {
            ResetState::Running | ResetState::Finishing(_) => Ok(()),
            ResetState::InProgress => {
                self.reset = ResetState::Finishing(due);
                Ok(())
            }
            ResetState::Starting(_) => {
                self.reset = ResetState::Finishing(due);
                let text = "DEV_CTL was cleared before RESET_IN_PROGRESS was set";
                Err(Breach::new(Rule::ResetHandshake, text))
            }
        }
    }

    fn start_reset(&mut self, number: u32, due: Duration) -> Result<(), Breach> {
        if !self.config.ready {
            let text = "reset while the device is not ready";
            return Err(Breach::new(Rule::ResetNotReady, text));
        }
        let reason = ResetReason::from_number(number);
        if reason == Some(ResetReason::Normal) {
            for (kind, count) in self.objects.live() {
                *self.leaked.entry(kind).or_default() += count;
            }
        }
        let name = reason.map_or(format!("reason_{number}"), |reason| {
            reason.name().to_owned()
        });
        self.reset_state(
            "reset",
            Map::from_iter([("reason".to_owned(), json!(name))]),
        );
        *self.journal.counters.resets.entry(name).or_default() += 1;
        self.reset = ResetState::Starting(due);
        match reason {
            Some(_) => Ok(()),
            None => {
                let text = format!("reset with reason {number}");
                Err(Breach::new(Rule::ResetReasonUnknown, text))
            }
        }
    }

    fn set_up_submission(&mut self, caps: u32) -> Result<(), Breach> {
        self.queues.submission = None;
        self.queues.submission = Some(Ring::new(
            "AQ",
            self.written
                .address(regs::AQ_BASE_LO_OFF, regs::AQ_BASE_HI_OFF),
            field_get(regs::AQ_CAPS_AQ_DEPTH_MASK, caps),
            field_get(regs::AQ_CAPS_AQ_ENTRY_SIZE_MASK, caps),
            entry_size(self.config.api_version),
        )?);
        Ok(())
    }

    fn set_up_completion(&mut self, caps: u32) -> Result<(), Breach> {
        self.queues.completion = None;
        let ring = Ring::new(
            "ACQ",
            self.written
                .address(regs::ACQ_BASE_LO_OFF, regs::ACQ_BASE_HI_OFF),
            field_get(regs::ACQ_CAPS_ACQ_DEPTH_MASK, caps),
            field_get(regs::ACQ_CAPS_ACQ_ENTRY_SIZE_MASK, caps),
            AcqEntry::LAYOUT.size as u16,
        )?;
        let vector = self.vector("ACQ", field_get(regs::ACQ_CAPS_ACQ_MSIX_VECTOR_MASK, caps))?;
        self.queues.completion = Some(CompletionQueue { ring, vector });
        Ok(())
    }

    fn set_up_aenq(&mut self, caps: u32) -> Result<(), Breach> {
        self.queues.aenq = None;
        let ring = Ring::new(
            "AENQ",
            self.written
                .address(regs::AENQ_BASE_LO_OFF, regs::AENQ_BASE_HI_OFF),
            field_get(regs::AENQ_CAPS_AENQ_DEPTH_MASK, caps),
            field_get(regs::AENQ_CAPS_AENQ_ENTRY_SIZE_MASK, caps),
            AenqEntry::LAYOUT.size as u16,
        )?;
        let vector = self.vector(
            "AENQ",
            field_get(regs::AENQ_CAPS_AENQ_MSIX_VECTOR_MASK, caps),
        )?;
        self.queues.aenq = Some(Aenq::new(ring, vector));
        Ok(())
    }

    fn vector(&self, what: &str, number: u32) -> Result<u16, Breach> {
        u16::try_from(number)
            .ok()
            .filter(|vector| *vector < self.config.num_vectors)
            .ok_or_else(|| {
                let text = format!("{what}: the function has no vector {number}");
                Breach::new(Rule::QueueVector, text)
            })
    }

    fn ring_eq_doorbell(&mut self, value: u32) -> Result<(), Breach> {
        let eqn = field_get(regs::EQ_DB_EQN_MASK, value) as u16;
        if !self.objects.eqs.contains_key(&eqn) {
            let text = format!("doorbell of event queue {eqn}, which does not exist");
            return Err(Breach::new(Rule::EqDoorbell, text));
        }
        self.arm_event_queue(eqn, value & regs::EQ_DB_ARM_MASK != 0);
        Ok(())
    }
}
