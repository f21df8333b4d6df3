// SPDX-License-Identifier: GPL-2.0
//! What every submission entry starts with.

use vefa_spec::constants as c;
use vefa_spec::crc;
use vefa_spec::entries::{AqCommonDesc, AqCommonDescV2, AqEntry, AqEntryV2};
use vefa_spec::Wire;

use crate::config::ApiVersion;
use crate::names::Opcode;
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
    /// Whether the control buffer is a chain of chunks.
    pub is_indirect: bool,
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
            is_indirect: flags & c::AQ_COMMON_DESC_CTRL_DATA_INDIRECT_MASK != 0,
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

    /// The command's own part of `entry`.
    pub fn payload<'a>(&self, entry: &'a [u8]) -> &'a [u8] {
        entry.get(self.payload_offset..).unwrap_or_default()
    }

    /// The command's name.
    pub fn name(&self) -> String {
        match Opcode::from_number(self.opcode) {
            Some(opcode) => opcode.name().to_owned(),
            None => format!("opcode_{}", self.opcode),
        }
    }
}
