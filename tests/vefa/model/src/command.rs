// SPDX-License-Identifier: GPL-2.0
//! From the bytes of a submission entry to a command.

mod counter;
mod cq;
mod eq;
mod header;
mod mr;
mod qp;

use serde::Serialize;
use serde_json::{Map, Value};
use vefa_spec::commands::{
    CreateAhCmd, CreateEventCounterCmd, DeallocPdCmd, DeallocUarCmd, DeregMrCmd, DestroyAhCmd,
    DestroyCqCmd, DestroyEqCmd, DestroyEventCounterCmd, DestroyQpCmd, QueryQpCmd,
};
use vefa_spec::features::{AenqConfig, GetFeatureCmd, GetSetFeatureCommonDesc, SetFeatureCmd};
use vefa_spec::stats::GetStatsCmd;
use vefa_spec::{Layout, Wire};

pub(crate) use counter::{AttachCounter, ModifyCounter};
pub(crate) use cq::CreateCq;
pub(crate) use eq::CreateEq;
pub(crate) use header::{entry_size, Header};
pub(crate) use mr::{PageList, RegMr};
pub(crate) use qp::{CreateQp, ModifyQp};

use crate::gid::Gid;
use crate::names::{Feature, Opcode};
use crate::ring::address;
use crate::rules::{Breach, Rule};

/// An admin command, decoded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Command {
    GetFeature {
        feature: FeatureId,
    },
    SetAenqConfig {
        feature: FeatureId,
        groups: u32,
    },
    SetHostInfo {
        feature: FeatureId,
        length: u32,
        #[serde(skip)]
        address: u64,
        #[serde(skip)]
        has_control_buffer: bool,
    },
    /// SET_FEATURE of a feature that cannot be set.
    SetFeature {
        feature: FeatureId,
    },
    GetStats {
        #[serde(rename = "type")]
        stats_type: u8,
        scope: u8,
        scope_modifier: u16,
    },
    AllocPd {},
    DeallocPd {
        pd: u16,
    },
    CreateAh {
        pd: u16,
        gid: Gid,
    },
    DestroyAh {
        pd: u16,
        ah: u16,
    },
    AllocUar {},
    DeallocUar {
        uar: u16,
    },
    CreateEq(CreateEq),
    DestroyEq {
        eq: u16,
    },
    CreateCq(CreateCq),
    DestroyCq {
        cq: u16,
    },
    RegMr(RegMr),
    DeregMr {
        lkey: u32,
    },
    CreateQp(CreateQp),
    ModifyQp(ModifyQp),
    QueryQp {
        qp_handle: u32,
    },
    DestroyQp {
        qp_handle: u32,
    },
    CreateCounter {
        uar: u16,
        address: u64,
    },
    DestroyCounter {
        counter: u32,
    },
    AttachCounter(AttachCounter),
    DetachCounter(AttachCounter),
    ModifyCounter(ModifyCounter),
    /// An opcode that the device does not have.
    Unsupported {},
}

/// A feature by name where it has one, else by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum FeatureId {
    Known(Feature),
    Unknown(u8),
}

impl From<u8> for FeatureId {
    fn from(number: u8) -> Self {
        Feature::from_number(number).map_or(Self::Unknown(number), Self::Known)
    }
}

impl Command {
    /// Decodes the command of `entry`.
    ///
    /// # Errors
    /// A breach where the entry is too short, or bytes that must be zero are not.
    pub fn parse(header: &Header, entry: &[u8]) -> Result<Self, Breach> {
        let payload = header.payload(entry);
        let command = match Opcode::from_number(header.opcode) {
            Some(Opcode::GetFeature) => {
                let cmd: GetFeatureCmd = decode(&GetFeatureCmd::LAYOUT, payload)?;
                Self::GetFeature {
                    feature: feature_id(&cmd.feature_common)?,
                }
            }
            Some(Opcode::SetFeature) => Self::parse_set_feature(header, payload)?,
            Some(Opcode::GetStats) => {
                let cmd: GetStatsCmd = decode(&GetStatsCmd::LAYOUT, payload)?;
                Self::GetStats {
                    stats_type: cmd.stats_type,
                    scope: cmd.scope,
                    scope_modifier: cmd.scope_modifier,
                }
            }
            Some(Opcode::AllocPd) => Self::AllocPd {},
            Some(Opcode::DeallocPd) => {
                let cmd: DeallocPdCmd = decode(&DeallocPdCmd::LAYOUT, payload)?;
                Self::DeallocPd { pd: cmd.pd }
            }
            Some(Opcode::CreateAh) => {
                let cmd: CreateAhCmd = decode(&CreateAhCmd::LAYOUT, payload)?;
                Self::CreateAh {
                    pd: cmd.pd,
                    gid: Gid(cmd.dest_addr),
                }
            }
            Some(Opcode::DestroyAh) => {
                let cmd: DestroyAhCmd = decode(&DestroyAhCmd::LAYOUT, payload)?;
                Self::DestroyAh {
                    pd: cmd.pd,
                    ah: cmd.ah,
                }
            }
            Some(Opcode::AllocUar) => Self::AllocUar {},
            Some(Opcode::DeallocUar) => {
                let cmd: DeallocUarCmd = decode(&DeallocUarCmd::LAYOUT, payload)?;
                Self::DeallocUar { uar: cmd.uar }
            }
            Some(Opcode::CreateEq) => Self::CreateEq(CreateEq::parse(payload)?),
            Some(Opcode::DestroyEq) => {
                let cmd: DestroyEqCmd = decode(&DestroyEqCmd::LAYOUT, payload)?;
                Self::DestroyEq { eq: cmd.eqn }
            }
            Some(Opcode::CreateCq) => Self::CreateCq(CreateCq::parse(payload)?),
            Some(Opcode::DestroyCq) => {
                let cmd: DestroyCqCmd = decode(&DestroyCqCmd::LAYOUT, payload)?;
                Self::DestroyCq { cq: cmd.cq_idx }
            }
            Some(Opcode::RegMr) => Self::RegMr(RegMr::parse(header, payload)?),
            Some(Opcode::DeregMr) => {
                let cmd: DeregMrCmd = decode(&DeregMrCmd::LAYOUT, payload)?;
                Self::DeregMr { lkey: cmd.l_key }
            }
            Some(Opcode::CreateQp) => Self::CreateQp(CreateQp::parse(payload)?),
            Some(Opcode::ModifyQp) => Self::ModifyQp(ModifyQp::parse(payload)?),
            Some(Opcode::QueryQp) => {
                let cmd: QueryQpCmd = decode(&QueryQpCmd::LAYOUT, payload)?;
                Self::QueryQp {
                    qp_handle: cmd.qp_handle,
                }
            }
            Some(Opcode::DestroyQp) => {
                let cmd: DestroyQpCmd = decode(&DestroyQpCmd::LAYOUT, payload)?;
                Self::DestroyQp {
                    qp_handle: cmd.qp_handle,
                }
            }
            Some(Opcode::CreateEventCounter) => {
                let cmd: CreateEventCounterCmd = decode(&CreateEventCounterCmd::LAYOUT, payload)?;
                Self::CreateCounter {
                    uar: cmd.uar,
                    address: cmd.paddr,
                }
            }
            Some(Opcode::DestroyEventCounter) => {
                let cmd: DestroyEventCounterCmd = decode(&DestroyEventCounterCmd::LAYOUT, payload)?;
                Self::DestroyCounter {
                    counter: cmd.cntr_handle,
                }
            }
            Some(Opcode::AttachEventCounter) => Self::AttachCounter(AttachCounter::parse(payload)?),
            Some(Opcode::DetachEventCounter) => Self::DetachCounter(AttachCounter::parse(payload)?),
            Some(Opcode::ModifyEventCounter) => Self::ModifyCounter(ModifyCounter::parse(payload)?),
            Some(Opcode::AllocMr | Opcode::Service) | None => Self::Unsupported {},
        };
        Ok(command)
    }

    /// The command's fields, for the log.
    pub fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    fn parse_set_feature(header: &Header, payload: &[u8]) -> Result<Self, Breach> {
        let cmd: SetFeatureCmd = decode(&SetFeatureCmd::LAYOUT, payload)?;
        let feature = feature_id(&cmd.feature_common)?;
        let contents = payload.get(CONTENTS_OFFSET..).unwrap_or_default();
        Ok(match feature {
            FeatureId::Known(Feature::AenqConfig) => Self::SetAenqConfig {
                feature,
                groups: decode::<AenqConfig>(&AenqConfig::LAYOUT, contents)?.enabled_groups,
            },
            FeatureId::Known(Feature::HostInfo) => Self::SetHostInfo {
                feature,
                length: cmd.control_buffer.length,
                address: address(cmd.control_buffer.address),
                has_control_buffer: header.has_control_buffer,
            },
            _ => Self::SetFeature { feature },
        })
    }
}

/// Where the contents of a feature start in SET_FEATURE's payload.
const CONTENTS_OFFSET: usize = 16;

fn feature_id(common: &GetSetFeatureCommonDesc) -> Result<FeatureId, Breach> {
    check_reserved(&GetSetFeatureCommonDesc::LAYOUT, &common.encode())?;
    Ok(common.feature_id.into())
}

fn decode<T: Wire>(layout: &Layout, payload: &[u8]) -> Result<T, Breach> {
    check_reserved(layout, payload)?;
    T::get(payload, 0).ok_or_else(|| {
        let text = format!("{}: entry too short", layout.name);
        Breach::new(Rule::QueueEntrySize, text)
    })
}

/// Refuses bits beyond `known` in a field that has reserved ones.
fn check_bits(what: &str, value: u32, known: u32) -> Result<(), Breach> {
    if value & !known == 0 {
        return Ok(());
    }
    let text = format!("{what}: reserved bits are set ({value:#x})");
    Err(Breach::new(Rule::CommandReserved, text))
}

fn check_reserved(layout: &Layout, bytes: &[u8]) -> Result<(), Breach> {
    match layout.nonzero_reserved(bytes) {
        None => Ok(()),
        Some(field) => Err(Breach::new(
            Rule::CommandReserved,
            format!("{}.{} is not zero", layout.name, field.name),
        )),
    }
}
