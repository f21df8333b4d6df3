// SPDX-License-Identifier: GPL-2.0
//! Event counters (completion counters).

use vefa_spec::commands::CreateEventCounterResp;
use vefa_spec::constants as c;

use super::{Answer, Outcome, Refusal};
use crate::command::{AttachCounter, ModifyCounter};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, CounterEvent, Status};
use crate::objects::{Attachment, EventCounter};
use crate::rules::{Breach, Rule};
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn create_counter(&mut self, uar: u16, address: u64) -> Outcome {
        self.has_counters()?;
        self.uar(uar)?;
        if address % 8 != 0 {
            let text = format!("create_event_counter at {address:#x}");
            return Err(Refusal::illegal(Rule::EventCounterAddress, text));
        }
        let counter = EventCounter {
            uar,
            address,
            value: 0,
        };
        self.store_value(&counter)?;
        let handle = self
            .objects
            .counters
            .create(self.config.max_event_counters, counter)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = CreateEventCounterResp {
            cntr_handle: handle,
            ..CreateEventCounterResp::default()
        };
        Ok(Answer::entry(response.encode()).with("counter", handle))
    }

    pub(super) fn destroy_counter(&mut self, handle: u32) -> Outcome {
        self.has_counters()?;
        self.counter(handle)?;
        let mut qps = self.objects.qps.iter();
        let user = qps.find(|qp| qp.counters.iter().any(|it| it.counter == handle));
        if let Some(qp) = user {
            let text = format!(
                "destroy_event_counter of {handle}, which QP {} uses",
                qp.number
            );
            return Err(Refusal::busy(Rule::EventCounterBusy, text));
        }
        self.objects.counters.destroy(handle);
        Ok(Answer::default())
    }

    pub(super) fn attach_counter(&mut self, command: &AttachCounter) -> Outcome {
        self.has_counters()?;
        self.counter(command.counter)?;
        self.check_events(command)?;
        let qp = self.qp(command.qp_handle)?;
        let mut attached = qp.counters.iter_mut();
        match attached.find(|it| it.counter == command.counter) {
            Some(attached) => attached.events |= command.events,
            None => qp.counters.push(Attachment {
                counter: command.counter,
                events: command.events,
            }),
        }
        Ok(Answer::default().with("qp", qp.number))
    }

    pub(super) fn detach_counter(&mut self, command: &AttachCounter) -> Outcome {
        self.has_counters()?;
        self.counter(command.counter)?;
        self.check_events(command)?;
        let qp = self.qp(command.qp_handle)?;
        let mut attached = qp.counters.iter_mut();
        let attached = attached
            .find(|it| it.counter == command.counter)
            .ok_or(Status::IllegalParameter)?;
        attached.events &= !command.events;
        qp.counters
            .retain(|it| it.counter != command.counter || it.events != 0);
        Ok(Answer::default().with("qp", qp.number))
    }

    pub(super) fn modify_counter(&mut self, command: &ModifyCounter) -> Outcome {
        self.has_counters()?;
        let max = self.config.event_counter_max_val;
        let counter = self.counter(command.counter)?;
        match u32::from(command.operation) {
            // The value is a program's choice.
            _ if command.value > max => return Err(Status::IllegalParameter.into()),
            c::EVENT_COUNTER_MODIFY_SET => counter.value = command.value,
            c::EVENT_COUNTER_MODIFY_ADD => counter.add(command.value, max),
            other => {
                let text = format!("modify_event_counter with operation {other}");
                return Err(Refusal::illegal(Rule::EventCounterOperation, text));
            }
        }
        let counter = *counter;
        self.store_value(&counter)?;
        Ok(Answer::default().with("now", counter.value))
    }

    /// Writes a counter's value to its place in host memory.
    pub(crate) fn store_value(&self, counter: &EventCounter) -> Result<(), Breach> {
        let bytes = counter.value.to_le_bytes();
        self.bus
            .write(self.config.dma_addr_width, counter.address, &bytes)
    }

    fn has_counters(&self) -> Result<(), Refusal> {
        if self.config.has_cap(Capability::EventCounters) {
            return Ok(());
        }
        Err(Status::UnsupportedOpcode.into())
    }

    fn counter(&mut self, handle: u32) -> Result<&mut EventCounter, Refusal> {
        self.objects.counters.get_mut(handle).ok_or_else(|| {
            let text = format!("event counter {handle} does not exist");
            Refusal::illegal(Rule::EventCounterUnknown, text)
        })
    }

    /// The events are a program's choice; they may be none, since not every
    /// kind of event has its error.
    fn check_events(&self, command: &AttachCounter) -> Result<(), Refusal> {
        if u32::from(command.attach_type) != c::EVENT_COUNTER_ATTACH_QP_EVENTS {
            let text = format!("event counter attached as type {}", command.attach_type);
            return Err(Refusal::illegal(Rule::EventCounterAttachType, text));
        }
        let supported = CounterEvent::mask(&self.config.event_counter_events);
        match command.events & !supported {
            0 => Ok(()),
            _ => Err(Status::IllegalParameter.into()),
        }
    }
}
