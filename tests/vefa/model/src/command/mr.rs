// SPDX-License-Identifier: GPL-2.0
//! REG_MR.

use serde::Serialize;
use vefa_spec::commands::RegMrCmd;
use vefa_spec::constants as c;
use vefa_spec::entries::CtrlBuffInfo;
use vefa_spec::Wire;

use super::{check_bits, decode, Header};
use crate::ring::address;
use crate::rules::{Breach, Rule};

/// Where the list of pages, or its description, starts in the command.
const LIST_OFFSET: usize = 4;

/// How a command gives the pages of a region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PageList {
    /// In the command itself.
    Inline([u64; 4]),
    /// One list of addresses in host memory.
    Direct { length: u32, address: u64 },
    /// A chain of chunks with the addresses of the list's own pages.
    Indirect { length: u32, address: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct RegMr {
    pub pd: u16,
    pub iova: u64,
    pub length: u64,
    pub page_shift: u8,
    /// REG_MR_CMD_*_ENABLE bits.
    pub permissions: u8,
    /// Whether `iova` is a bus address.
    pub is_physical: bool,
    /// As the driver counts them, or 0.
    pub page_num: u32,
    pub list: PageList,
}

impl RegMr {
    pub fn parse(header: &Header, payload: &[u8]) -> Result<Self, Breach> {
        let cmd: RegMrCmd = decode(&RegMrCmd::LAYOUT, payload)?;
        let (shift, physical) = (
            c::REG_MR_CMD_PHYS_PAGE_SIZE_SHIFT_MASK,
            c::REG_MR_CMD_MEM_ADDR_PHY_MODE_EN_MASK,
        );
        let permissions = c::REG_MR_CMD_LOCAL_WRITE_ENABLE_MASK
            | c::REG_MR_CMD_REMOTE_WRITE_ENABLE_MASK
            | c::REG_MR_CMD_REMOTE_READ_ENABLE_MASK;
        let flags = u32::from(cmd.flags);
        check_bits("reg_mr.flags", flags, shift | physical)?;
        check_bits("reg_mr.permissions", cmd.permissions.into(), permissions)?;
        Ok(Self {
            pd: cmd.pd,
            iova: cmd.iova,
            length: cmd.mr_length,
            page_shift: (flags & shift) as u8,
            permissions: cmd.permissions,
            is_physical: flags & physical != 0,
            page_num: cmd.page_num,
            list: PageList::parse(header, payload, cmd.inline_pbl_array)?,
        })
    }
}

impl PageList {
    fn parse(header: &Header, payload: &[u8], inline: [u64; 4]) -> Result<Self, Breach> {
        let buffer = CtrlBuffInfo::get(payload, LIST_OFFSET).unwrap_or_default();
        let (length, address) = (buffer.length, address(buffer.address));
        match (header.has_control_buffer, header.is_indirect) {
            (false, false) => Ok(Self::Inline(inline)),
            (true, false) => Ok(Self::Direct { length, address }),
            (true, true) => Ok(Self::Indirect { length, address }),
            (false, true) => {
                let text = "reg_mr with an indirect control buffer that is not valid";
                Err(Breach::new(Rule::MrPageList, text))
            }
        }
    }
}
