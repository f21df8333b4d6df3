// SPDX-License-Identifier: GPL-2.0
//! Execution of admin commands on the device's resources.

use serde_json::{Map, Value};
use vefa_spec::commands::{AllocPdResp, AllocUarResp, CreateAhResp, CreateEqResp};
use vefa_spec::constants as c;
use vefa_spec::entries::Eqe;
use vefa_spec::features::HostInfo;

use crate::aenq::group_bit;
use crate::command::{Command, FeatureId};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Feature, StatsType, Status};
use crate::objects::{Ah, EventQueue};
use crate::ring::Ring;
use crate::rules::{Breach, Rule};
use crate::{attributes, EfaModel};

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

    /// An illegal parameter that breaks `rule`.
    fn illegal(rule: Rule, text: String) -> Self {
        Self::breach(Status::IllegalParameter, Breach::new(rule, text))
    }
}

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
                stats_type, scope, ..
            } => self.get_stats(stats_type, scope),
            Command::AllocPd {} => self.alloc_pd(),
            Command::DeallocPd { pd } => self.dealloc_pd(pd),
            Command::CreateAh { pd, gid } => self.create_ah(Ah { pd, gid }),
            Command::DestroyAh { pd, ah } => self.destroy_ah(pd, ah),
            Command::AllocUar {} => self.alloc_uar(),
            Command::DeallocUar { uar } => self.dealloc_uar(uar),
            Command::CreateEq {
                depth,
                vector,
                entry_words,
                base,
                ..
            } => self.create_eq(entry_words, vector, depth, base),
            Command::DestroyEq { eq } => self.destroy_eq(eq),
        }
    }

    fn get_feature(&mut self, feature: FeatureId) -> Outcome {
        let enabled = self.queues.aenq.as_ref().map_or(0, |q| q.enabled_groups);
        match feature {
            FeatureId::Known(feature) if self.config.has_feature(feature) => {
                attributes::feature(&self.config, feature, enabled)
                    .map(Answer::entry)
                    .ok_or_else(|| Status::UnsupportedOpcode.into())
            }
            _ => Err(Status::UnsupportedOpcode.into()),
        }
    }

    fn set_aenq_config(&mut self, groups: u32) -> Outcome {
        if !self.config.has_feature(Feature::AenqConfig) {
            return Err(Status::UnsupportedOpcode.into());
        }
        let supported = self.config.aenq_groups.iter();
        let supported = supported.fold(0, |mask, group| mask | group_bit(*group));
        if groups & !supported != 0 {
            let text = format!("groups {groups:#x} enabled of supported {supported:#x}");
            return Err(Refusal::illegal(Rule::AenqGroupUnsupported, text));
        }
        self.enable_groups(groups);
        Ok(Answer::default())
    }

    fn set_host_info(&mut self, length: u32, address: u64, has_control_buffer: bool) -> Outcome {
        if !self.config.has_feature(Feature::HostInfo) {
            return Err(Status::UnsupportedOpcode.into());
        }
        let mut buffer = [0; HostInfo::LAYOUT.size];
        if !has_control_buffer || length as usize != buffer.len() {
            let text = format!("control buffer of {length} bytes, valid: {has_control_buffer}");
            return Err(Refusal::illegal(Rule::HostInfoBuffer, text));
        }
        self.bus
            .read(self.config.dma_addr_width, address, &mut buffer)
            .map_err(|breach| Refusal::breach(Status::IllegalParameter, breach))?;
        let Some(info) = HostInfo::parse(&buffer) else {
            return Err(Status::MalformedRequest.into());
        };
        Ok(Answer::default()
            .with("os_dist", text(&info.os_dist_str))
            .with("os_type", info.os_type)
            .with("kernel_version", text(&info.kernel_ver_str))
            .with("kernel_version_code", info.kernel_ver)
            .with("driver_version", info.driver_ver)
            .with("bdf", info.bdf)
            .with("spec_version", info.spec_ver)
            .with("flags", info.flags))
    }

    /// There is no traffic yet, so every statistic is truthfully zero.
    fn get_stats(&mut self, stats_type: u8, scope: u8) -> Outcome {
        let known = StatsType::from_number(stats_type);
        if !known.is_some_and(|known| self.config.stats.contains(&known)) {
            return Err(Status::UnsupportedOpcode.into());
        }
        if u32::from(scope) != c::GET_STATS_SCOPE_ALL {
            return Err(Status::IllegalParameter.into());
        }
        Ok(Answer::default())
    }

    fn alloc_pd(&mut self) -> Outcome {
        let pd = self
            .objects
            .alloc_pd(self.config.max_pd)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = AllocPdResp {
            pd,
            ..AllocPdResp::default()
        };
        Ok(Answer::entry(response.encode()).with("pd", pd))
    }

    fn dealloc_pd(&mut self, pd: u16) -> Outcome {
        self.pd(pd)?;
        let ahs = self
            .objects
            .ahs
            .iter()
            .filter(|(_, ah)| ah.pd == pd)
            .count();
        let qps = self.objects.qps.iter().filter(|qp| qp.pd == pd).count();
        let mrs = self
            .objects
            .mrs
            .iter()
            .filter(|(_, mr)| mr.pd == pd)
            .count();
        if ahs + qps + mrs > 0 {
            let text = format!("dealloc_pd of {pd}, which owns {ahs} AHs, {qps} QPs and {mrs} MRs");
            let breach = Breach::new(Rule::PdBusy, text);
            return Err(Refusal::breach(Status::ResourceBusy, breach));
        }
        self.objects.pds.remove(&pd);
        Ok(Answer::default())
    }

    fn create_ah(&mut self, ah: Ah) -> Outcome {
        self.pd(ah.pd)?;
        if ah.gid.is_unspecified() {
            let text = format!("create_ah for `::` in pd {}", ah.pd);
            self.journal
                .breach(Breach::new(Rule::AhGidUnspecified, text));
        }
        if let Some(live) = self.objects.ahs.find(ah) {
            let text = format!("create_ah for ({}, {}), which AH {live} has", ah.pd, ah.gid);
            return Err(Refusal::illegal(Rule::AhDuplicate, text));
        }
        if let Some(status) = self.refused.get(&ah.gid) {
            return Err((*status).into());
        }
        let number = self
            .objects
            .ahs
            .create(self.config.max_ah, ah)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = CreateAhResp {
            ah: number,
            ..CreateAhResp::default()
        };
        Ok(Answer::entry(response.encode()).with("ah", number))
    }

    fn destroy_ah(&mut self, pd: u16, number: u16) -> Outcome {
        let Some(ah) = self.objects.ahs.get(number) else {
            let text = format!("destroy_ah of {number}, which does not exist");
            return Err(Refusal::illegal(Rule::AhUnknown, text));
        };
        if ah.pd != pd {
            let text = format!("destroy_ah of {number} by pd {pd}; pd {} owns it", ah.pd);
            return Err(Refusal::illegal(Rule::AhWrongPd, text));
        }
        self.objects.ahs.destroy(number);
        Ok(Answer::default().with("gid", ah.gid.to_string()))
    }

    fn alloc_uar(&mut self) -> Outcome {
        let uar = self
            .objects
            .alloc_uar(self.config.max_uar)
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = AllocUarResp {
            uar,
            ..AllocUarResp::default()
        };
        Ok(Answer::entry(response.encode()).with("uar", uar))
    }

    fn dealloc_uar(&mut self, uar: u16) -> Outcome {
        if self.objects.uars.remove(&uar).is_none() {
            let text = format!("dealloc_uar of {uar}, which does not exist");
            return Err(Refusal::illegal(Rule::UarUnknown, text));
        }
        Ok(Answer::default())
    }

    fn create_eq(&mut self, entry_words: u8, vector: u16, depth: u16, base: u64) -> Outcome {
        let size = u32::from(entry_words) * 4;
        if size as usize != Eqe::LAYOUT.size {
            let text = format!("create_eq with elements of {entry_words} words");
            return Err(Refusal::illegal(Rule::EqEntrySize, text));
        }
        let depth_limit = self.config.max_eq_depth;
        if !depth.is_power_of_two() || u32::from(depth) > depth_limit {
            let text = format!("create_eq with depth {depth} of {depth_limit}");
            return Err(Refusal::illegal(Rule::EqDepth, text));
        }
        if vector == 0 || vector >= self.config.num_vectors {
            let text = format!("create_eq on vector {vector}");
            return Err(Refusal::illegal(Rule::EqVector, text));
        }
        let ring = Ring::new("EQ", base, depth.into(), size, Eqe::LAYOUT.size as u16)
            .map_err(|breach| Refusal::breach(Status::IllegalParameter, breach))?;
        let eqn = self
            .objects
            .create_eq(self.config.max_eq, EventQueue::new(vector, ring))
            .ok_or(Status::ResourceAllocationFailure)?;
        let response = CreateEqResp {
            eqn,
            ..CreateEqResp::default()
        };
        Ok(Answer::entry(response.encode()).with("eq", eqn))
    }

    fn destroy_eq(&mut self, eqn: u16) -> Outcome {
        if self.objects.eqs.remove(&eqn).is_none() {
            let text = format!("destroy_eq of {eqn}, which does not exist");
            return Err(Refusal::illegal(Rule::EqUnknown, text));
        }
        Ok(Answer::default())
    }

    /// Whether a PD exists.
    fn pd(&self, pd: u16) -> Result<(), Refusal> {
        if self.objects.pds.contains(&pd) {
            return Ok(());
        }
        let text = format!("pd {pd} does not exist");
        Err(Refusal::illegal(Rule::PdUnknown, text))
    }
}

/// The text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
