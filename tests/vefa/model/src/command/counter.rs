// SPDX-License-Identifier: GPL-2.0
//! ATTACH_, DETACH_ and MODIFY_EVENT_COUNTER.

use serde::Serialize;
use vefa_spec::commands::{AttachDetachEventCounterCmd, ModifyEventCounterCmd};

use super::{check_bits, decode};
use crate::names::CounterEvent;
use crate::rules::Breach;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct AttachCounter {
    pub counter: u32,
    pub attach_type: u8,
    pub qp_handle: u32,
    /// [`CounterEvent`] bits.
    pub events: u32,
}

impl AttachCounter {
    pub fn parse(payload: &[u8]) -> Result<Self, Breach> {
        let layout = &AttachDetachEventCounterCmd::LAYOUT;
        let cmd: AttachDetachEventCounterCmd = decode(layout, payload)?;
        let known = CounterEvent::mask(CounterEvent::ALL);
        check_bits("event_counter.events", cmd.qp_events.events, known)?;
        Ok(Self {
            counter: cmd.cntr_handle,
            attach_type: cmd.attach_type,
            qp_handle: cmd.qp_events.qp_handle,
            events: cmd.qp_events.events,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct ModifyCounter {
    pub counter: u32,
    pub operation: u8,
    pub value: u64,
}

impl ModifyCounter {
    pub fn parse(payload: &[u8]) -> Result<Self, Breach> {
        let cmd: ModifyEventCounterCmd = decode(&ModifyEventCounterCmd::LAYOUT, payload)?;
        Ok(Self {
            counter: cmd.cntr_handle,
            operation: cmd.operation,
            value: cmd.value,
        })
    }
}
