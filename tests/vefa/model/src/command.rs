// SPDX-License-Identifier: GPL-2.0
//! From the bytes of a submission entry to a command.

use serde::Serialize;
use serde_json::{Map, Value};
use vefa_spec::commands::{
    CreateAhCmd, CreateEqCmd, DeallocPdCmd, DeallocUarCmd, DestroyAhCmd, DestroyEqCmd,
};
use vefa_spec::constants as c;
use vefa_spec::entries::{AqCommonDesc, AqCommonDescV2, AqEntry, AqEntryV2};
use vefa_spec::features::{AenqConfig, GetFeatureCmd, GetSetFeatureCommonDesc, SetFeatureCmd};
use vefa_spec::stats::GetStatsCmd;
use vefa_spec::{crc, Layout, Wire};

use crate::config::ApiVersion;
use crate::gid::Gid;
use crate::names::{Feature, Opcode};
use crate::ring::address;
use crate::rules::{Breach, Rule};

/// Offset of the checksum in a 128-byte entry.
const CHECKSUM_OFFSET: usize = 4;
/// Flags of an entry that are defined.
const KNOWN_FLAGS: u32 = c::AQ_COMMON_DESC_PHASE_MASK
    | c::AQ_COMMON_DESC_CTRL_DATA_MASK
    | c::AQ_COMMON_DESC_CTRL_DATA_INDIRECT_MASK;

/// Size of a submission entry in bytes.
pub(crate) fn entry_size(version: ApiVersion) -> u16 {
    if version >= ApiVersion::V0_3 {
        AqEntryV2::LAYOUT.size as u16
    } else {
        AqEntry::LAYOUT.size as u16
    }
}

/// What every submission entry starts with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub id: u16,
    pub opcode: u8,
    pub has_control_buffer: bool,
    payload_offset: usize,
}

impl Header {
    /// The header of `entry`, and what is wrong with the entry as a whole;
    /// `None` where it is too short to have a header.
    pub fn parse(version: ApiVersion, phase: u8, entry: &[u8]) -> Option<(Self, Option<Breach>)> {
        let common = AqCommonDesc::parse(entry)?;
        let flags = u32::from(common.flags);
        let id = common.command_id & c::AQ_COMMON_DESC_COMMAND_ID_MASK as u16;
        let v2 = (version >= ApiVersion::V0_3)
            .then(|| AqCommonDescV2::parse(entry))
            .flatten();
        let header = Self {
            id,
            opcode: common.opcode,
            has_control_buffer: flags & c::AQ_COMMON_DESC_CTRL_DATA_MASK != 0,
            payload_offset: if v2.is_some() {
                AqCommonDescV2::SIZE
            } else {
                AqCommonDesc::SIZE
            },
        };
        let computed = crc::checksum(entry, CHECKSUM_OFFSET);
        let breach = if let Some(v2) = v2.filter(|v2| v2.checksum != computed) {
            Some(Breach::new(
                Rule::EntryChecksum,
                format!(
                    "command {id:#x}: checksum {:#06x} instead of {computed:#06x}",
                    v2.checksum
                ),
            ))
        } else if common.flags & 1 != phase {
            let text = format!("command {id:#x}: phase {} instead of {phase}", 1 - phase);
            Some(Breach::new(Rule::EntryPhase, text))
        } else if common.command_id != id
            || flags & !KNOWN_FLAGS != 0
            || v2.is_some_and(|v2| v2.reserved != [0; 5])
        {
            let text = format!("command {id:#x}: reserved bits of the entry are set");
            Some(Breach::new(Rule::EntryReserved, text))
        } else {
            None
        };
        Some((header, breach))
    }

    /// The command's name.
    pub fn name(&self) -> String {
        match Opcode::from_number(self.opcode) {
            Some(opcode) => opcode.name().to_owned(),
            None => format!("opcode_{}", self.opcode),
        }
    }
}

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
    CreateEq {
        depth: u16,
        vector: u16,
        entry_words: u8,
        event_bitmask: u32,
        base: u64,
    },
    DestroyEq {
        eq: u16,
    },
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
        let payload = entry.get(header.payload_offset..).unwrap_or_default();
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
            Some(Opcode::CreateEq) => Self::parse_create_eq(payload)?,
            Some(Opcode::DestroyEq) => {
                let cmd: DestroyEqCmd = decode(&DestroyEqCmd::LAYOUT, payload)?;
                Self::DestroyEq { eq: cmd.eqn }
            }
            _ => Self::Unsupported {},
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

    fn parse_create_eq(payload: &[u8]) -> Result<Self, Breach> {
        let cmd: CreateEqCmd = decode(&CreateEqCmd::LAYOUT, payload)?;
        let words = cmd.caps & c::CREATE_EQ_CMD_ENTRY_SIZE_WORDS_MASK as u8;
        if words != cmd.caps || cmd.event_bitmask & !c::CREATE_EQ_CMD_COMPLETION_EVENTS_MASK != 0 {
            let text = "create_eq: reserved bits are set";
            return Err(Breach::new(Rule::CommandReserved, text));
        }
        Ok(Self::CreateEq {
            depth: cmd.depth,
            vector: u16::from(cmd.msix_vec),
            entry_words: words,
            event_bitmask: cmd.event_bitmask,
            base: address(cmd.ba),
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

fn check_reserved(layout: &Layout, bytes: &[u8]) -> Result<(), Breach> {
    match layout.nonzero_reserved(bytes) {
        None => Ok(()),
        Some(field) => Err(Breach::new(
            Rule::CommandReserved,
            format!("{}.{} is not zero", layout.name, field.name),
        )),
    }
}
