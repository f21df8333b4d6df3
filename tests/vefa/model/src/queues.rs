// SPDX-License-Identifier: GPL-2.0
//! The admin queue: from the doorbell to the completion.

use std::time::Duration;

use serde_json::json;
use vefa_spec::constants as c;
use vefa_spec::crc;
use vefa_spec::entries::AcqCommonDesc;
use vefa_spec::Wire;

use crate::aenq::Aenq;
use crate::answers::{self, Mask};
use crate::command::{Command, Header};
use crate::config::ApiVersion;
use crate::execute::{Answer, Refusal};
use crate::faults::{BadEntry, Effects};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::Status;
use crate::ring::Ring;
use crate::rules::{Breach, Rule};
use crate::EfaModel;

/// Offset of the checksum in a completion.
const CHECKSUM_OFFSET: usize = 4;

/// Bytes of a completion.
const COMPLETION_SIZE: usize = 64;

/// The admin completion queue.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    pub ring: Ring,
    pub vector: u16,
}

/// All that the driver set up through registers, and a reset ends.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    pub submission: Option<Ring>,
    pub completion: Option<CompletionQueue>,
    pub aenq: Option<Aenq>,
    /// Completions that are held back, in the order of their commands.
    pub in_flight: Vec<InFlight>,
    /// When interrupts of completions are due that come later.
    pub late_interrupts: Vec<Duration>,
}

/// A completion that is due later.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// When; `None`: when the faults are cleared.
    pub due: Option<Duration>,
    completion: Completion,
}

#[derive(Debug)]
struct Completion {
    id: u16,
    status: Status,
    data: Vec<u8>,
    /// What the driver reads of the entry.
    mask: Mask,
    effects: Effects,
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// The driver says how many commands it has submitted in all; the counter
    /// is compared in 16 bits.
    pub(crate) fn ring_admin_doorbell(&mut self, value: u32) -> Result<(), Breach> {
        let (Some(ring), Some(_)) = (&mut self.queues.submission, &self.queues.completion) else {
            let text = "admin doorbell without both admin queues";
            return Err(Breach::new(Rule::DoorbellWithoutQueue, text));
        };
        if !self.bus.master {
            let text = "admin doorbell while not bus master";
            return Err(Breach::new(Rule::BusMasterOff, text));
        }
        let new = (value as u16).wrapping_sub(ring.index as u16);
        if self.muted {
            ring.index = ring.index.wrapping_add(u32::from(new));
            return Ok(());
        }
        let outstanding = self.queues.in_flight.len();
        if usize::from(new) + outstanding > usize::from(ring.depth()) {
            let text = format!(
                "doorbell {value}: {new} new commands and {outstanding} outstanding in {} entries",
                ring.depth()
            );
            return Err(Breach::new(Rule::AqOverrun, text));
        }
        for _ in 0..new {
            if let Err(breach) = self.next_command() {
                self.journal.breach(breach);
            }
        }
        Ok(())
    }

    /// Completes what is due.
    pub(crate) fn complete_due(&mut self) {
        let now = self.journal.now;
        let (due, later) = std::mem::take(&mut self.queues.in_flight)
            .into_iter()
            .partition(|in_flight| in_flight.due.is_some_and(|due| due <= now));
        self.queues.in_flight = later;
        let mut due: Vec<InFlight> = due;
        due.sort_by_key(|in_flight| in_flight.due);
        for in_flight in due {
            self.complete(in_flight.completion);
        }
        let late = &mut self.queues.late_interrupts;
        let before = late.len();
        late.retain(|due| *due > now);
        for _ in late.len()..before {
            self.interrupt_for_completion();
        }
    }

    fn next_command(&mut self) -> Result<(), Breach> {
        let Some(ring) = &mut self.queues.submission else {
            return Ok(());
        };
        let (address, phase) = (ring.address(), ring.phase());
        let mut entry = vec![0; usize::from(ring.entry_size())];
        ring.advance();
        if self.muted {
            return Ok(());
        }
        self.bus
            .read(self.config.dma_addr_width, address, &mut entry)?;
        let parsed = Header::parse(self.config.api_version, phase, &entry);
        if let Some((header, breach)) = parsed {
            self.handle_command(&header, breach, &entry);
        }
        Ok(())
    }

    fn handle_command(&mut self, header: &Header, breach: Option<Breach>, entry: &[u8]) {
        let effects = self.faults.hit(&header.name());
        self.muted |= effects.mute;
        let command = match breach.or_else(|| self.id_in_use(header.id)) {
            Some(breach) => Err(breach),
            None => Command::parse(header, entry),
        };
        let mut fields = command.as_ref().map(Command::fields).unwrap_or_default();
        if !effects.names.is_empty() {
            fields.insert("faults".to_owned(), json!(effects.names));
        }
        if self.muted {
            self.journal.command(header.name(), header.id, None, fields);
            return;
        }
        let outcome = match (&command, effects.status) {
            (Err(breach), _) => Err(Refusal::breach(Status::MalformedRequest, breach.clone())),
            (Ok(_), Some(Status::Success)) => Ok(Answer::default()),
            (Ok(_), Some(status)) => Err(status.into()),
            (Ok(command), None) => self.execute(command).and_then(|answer| {
                effects
                    .denial
                    .map_or(Ok(answer), |status| Err(status.into()))
            }),
        };
        let mut mask = Mask::of_completion(None);
        let (status, data) = match outcome {
            Ok(mut answer) => {
                fields.extend(answer.fields);
                if let Ok(command) = &command {
                    answers::put_fields(command, &effects.fields, &mut answer.entry);
                    mask = Mask::of_completion(Some(command));
                }
                (Status::Success, answer.entry)
            }
            Err(refusal) => {
                if let Some(breach) = refusal.breach {
                    fields.insert("violation".to_owned(), json!(breach.rule));
                    self.journal.breach(breach);
                }
                (refusal.status, Vec::new())
            }
        };
        self.journal
            .command(header.name(), header.id, Some(status), fields);
        let completion = Completion {
            id: header.id,
            status,
            data,
            mask,
            effects,
        };
        let due = match self.completion_delay(&completion.effects) {
            _ if completion.effects.hold => None,
            Some(delay) => Some(self.journal.now.saturating_add(delay)),
            None => return self.complete(completion),
        };
        self.queues.in_flight.push(InFlight { due, completion });
    }

    /// Lets those go that a fault holds back.
    pub(crate) fn release_held(&mut self) {
        for in_flight in &mut self.queues.in_flight {
            in_flight.due.get_or_insert(self.journal.now);
        }
        self.complete_due();
    }

    /// How long a completion is held back.
    fn completion_delay(&self, effects: &Effects) -> Option<Duration> {
        let usual = Duration::from_micros(self.config.command_delay_us);
        effects.delay.or((!usual.is_zero()).then_some(usual))
    }

    fn id_in_use(&self, id: u16) -> Option<Breach> {
        let mut in_flight = self.queues.in_flight.iter();
        in_flight
            .any(|in_flight| in_flight.completion.id == id)
            .then(|| {
                Breach::new(
                    Rule::CommandIdInUse,
                    format!("command id {id:#x} is in use"),
                )
            })
    }

    fn complete(&mut self, completion: Completion) {
        if self.muted {
            return;
        }
        let Completion {
            id,
            status,
            data,
            mask,
            effects,
        } = completion;
        let entry = completion_entry(id, status, &data);
        let mut written = false;
        for bad in &effects.bad_entries {
            let (entry, flaw) = match bad {
                BadEntry::Id => {
                    let id = id ^ c::ACQ_COMMON_DESC_COMMAND_ID_MASK as u16;
                    (completion_entry(id, status, &data), None)
                }
                flaw => (entry, Some(*flaw)),
            };
            written |= self.write_completion(entry, &mask, flaw);
        }
        if !effects.drop_completion {
            written |= self.write_completion(entry, &mask, None);
            if effects.duplicate {
                written |= self.write_completion(entry, &mask, None);
            }
        }
        if !written || effects.drop_interrupt {
            return;
        }
        match effects.interrupt_delay {
            Some(delay) => {
                let due = self.journal.now.saturating_add(delay);
                self.queues.late_interrupts.push(due);
            }
            None => self.interrupt_for_completion(),
        }
    }

    fn interrupt_for_completion(&mut self) {
        if let Some(queue) = &self.queues.completion {
            self.raise_management(queue.vector);
        }
    }

    /// Writes one completion entry, which lacks phase and checksum; whether it reached the guest.
    fn write_completion(
        &mut self,
        mut entry: [u8; COMPLETION_SIZE],
        mask: &Mask,
        flaw: Option<BadEntry>,
    ) -> bool {
        let Some(queue) = &mut self.queues.completion else {
            return false;
        };
        let (address, phase) = (queue.ring.address(), queue.ring.phase());
        queue.ring.advance();
        let width = self.config.dma_addr_width;
        let outcome = if flaw == Some(BadEntry::EarlyPhase) {
            self.bus.read(width, address, &mut entry).map(|()| {
                entry[3] = entry[3] & !1 | phase;
            })
        } else {
            entry[3] = phase;
            self.shape(&mut entry, mask);
            if self.config.api_version >= ApiVersion::V0_2 {
                let mut checksum = crc::checksum(&entry, CHECKSUM_OFFSET);
                if flaw == Some(BadEntry::Checksum) {
                    checksum ^= 0xffff;
                }
                checksum.put(&mut entry, CHECKSUM_OFFSET);
            }
            Ok(())
        };
        match outcome.and_then(|()| self.bus.write_entry(width, address, &entry)) {
            Ok(()) => true,
            Err(breach) => {
                self.journal.breach(breach);
                false
            }
        }
    }

    /// Raises the management interrupt, unless the driver turned it off.
    pub(crate) fn raise_management(&mut self, vector: u16) {
        if !self.written.interrupt_masked() && self.bus.raise(vector) {
            *self.journal.counters.interrupts.entry(vector).or_default() += 1;
        }
    }
}

/// A completion entry without phase and checksum.
fn completion_entry(id: u16, status: Status, data: &[u8]) -> [u8; COMPLETION_SIZE] {
    let mut entry = [0; COMPLETION_SIZE];
    for (to, from) in entry.iter_mut().zip(data) {
        *to = *from;
    }
    let common = AcqCommonDesc {
        command: id,
        status: status.number(),
        ..AcqCommonDesc::default()
    };
    common.put(&mut entry, 0);
    entry
}
