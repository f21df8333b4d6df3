// SPDX-License-Identifier: GPL-2.0
//! Execution of admin commands on the device's resources.

mod ah;
mod counter;
mod cq;
mod eq;
mod feature;
mod mr;
mod page_list;
mod pd;
mod qp;
mod stats;
mod transition;
mod uar;

use serde_json::{Map, Value};

use crate::command::Command;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, Status};
use crate::objects::Ah;
use crate::rules::{Breach, Rule};
use crate::EfaModel;

/// What a successful command returns.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The completion entry; its common part is filled in later.
    pub entry: Vec<u8>,
    /// Fields for the log.
    pub fields: Map<String, Value>,
}

impl Answer {
    fn entry(entry: impl Into<Vec<u8>>) -> Self {
        Self {
            entry: entry.into(),
            fields: Map::new(),
        }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub status: Status,
    /// The rule that the driver broke, if it did.
    pub breach: Option<Breach>,
}

impl Refusal {
    pub fn breach(status: Status, breach: Breach) -> Self {
        Self {
            status,
            breach: Some(breach),
        }
    }

    /// A destruction of what is still used, which breaks `rule`.
    fn busy(rule: Rule, text: String) -> Self {
        Self::breach(Status::ResourceBusy, Breach::new(rule, text))
    }

    /// An illegal parameter that breaks `rule`.
    fn illegal(rule: Rule, text: String) -> Self {
        Self::breach(Status::IllegalParameter, Breach::new(rule, text))
    }
}

/// A breach that makes a parameter illegal.
impl From<Breach> for Refusal {
    fn from(breach: Breach) -> Self {
        Self::breach(Status::IllegalParameter, breach)
    }
}

/// A refusal that is no fault of the driver's.
impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self {
            status,
            breach: None,
        }
    }
}

type Outcome = Result<Answer, Refusal>;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Executes a command.
    pub(crate) fn execute(&mut self, command: &Command) -> Outcome {
        match *command {
            Command::GetFeature { feature } => self.get_feature(feature),
            Command::SetAenqConfig { groups, .. } => self.set_aenq_config(groups),
            Command::SetHostInfo {
                length,
                address,
                has_control_buffer,
                ..
            } => self.set_host_info(length, address, has_control_buffer),
            Command::SetFeature { .. } | Command::Unsupported {} => {
                Err(Status::UnsupportedOpcode.into())
            }
            Command::GetStats {
                stats_type,
                scope,
                scope_modifier,
            } => self.get_stats(stats_type, scope, scope_modifier),
            Command::AllocPd {} => self.alloc_pd(),
            Command::DeallocPd { pd } => self.dealloc_pd(pd),
            Command::CreateAh { pd, gid } => self.create_ah(Ah { pd, gid }),
            Command::DestroyAh { pd, ah } => self.destroy_ah(pd, ah),
            Command::AllocUar {} => self.alloc_uar(),
            Command::DeallocUar { uar } => self.dealloc_uar(uar),
            Command::CreateEq(command) => self.create_eq(&command),
            Command::DestroyEq { eq } => self.destroy_eq(eq),
            Command::CreateCq(command) => self.create_cq(&command),
            Command::DestroyCq { cq } => self.destroy_cq(cq),
            Command::RegMr(command) => self.reg_mr(&command),
            Command::DeregMr { lkey } => self.dereg_mr(lkey),
            Command::CreateQp(command) => self.create_qp(&command),
            Command::ModifyQp(command) => self.modify_qp(&command),
            Command::QueryQp { qp_handle } => self.query_qp(qp_handle),
            Command::DestroyQp { qp_handle } => self.destroy_qp(qp_handle),
            Command::CreateCounter { uar, address } => self.create_counter(uar, address),
            Command::DestroyCounter { counter } => self.destroy_counter(counter),
            Command::AttachCounter(command) => self.attach_counter(&command),
            Command::DetachCounter(command) => self.detach_counter(&command),
            Command::ModifyCounter(command) => self.modify_counter(&command),
        }
    }

    /// Refuses what a driver must not ask of a device without `capability`.
    fn needs(&self, capability: Capability, what: &str) -> Result<(), Refusal> {
        if self.config.has_cap(capability) {
            return Ok(());
        }
        let text = format!("{what}, which needs {}", capability.name());
        Err(Refusal::illegal(Rule::CapabilityAbsent, text))
    }
}
