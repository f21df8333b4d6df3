// SPDX-License-Identifier: GPL-2.0
//! Memory regions.

use vefa_spec::commands::RegMrResp;
use vefa_spec::constants as c;

use super::{Answer, Outcome, Refusal};
use crate::command::RegMr;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Capability, Status};
use crate::objects::{remote_key, Access, Mr};
use crate::rules::Rule;
use crate::EfaModel;

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn reg_mr(&mut self, command: &RegMr) -> Outcome {
        self.pd(command.pd)?;
        let access = self.access(command)?;
        let count = self.page_count(command)?;
        if self.objects.mrs.iter().len() as u64 >= u64::from(self.config.max_mr) {
            return Err(Status::ResourceAllocationFailure.into());
        }
        let pages = self.page_list(command.list, count)?;
        let mr = Mr {
            pd: command.pd,
            iova: command.iova,
            len: command.length,
            access,
            page_shift: command.page_shift,
            pages,
        };
        self.check_pages(&mr)?;
        let lkey = self
            .objects
            .mrs
            .create(self.config.max_mr, mr)
            .ok_or(Status::ResourceAllocationFailure)?;
        Ok(Answer::entry(self.reg_mr_response(lkey).encode())
            .with("lkey", lkey)
            .with("rkey", remote_key(lkey))
            .with("pages", count))
    }

    pub(super) fn dereg_mr(&mut self, lkey: u32) -> Outcome {
        match self.objects.mrs.destroy(lkey) {
            Some(mr) => Ok(Answer::default().with("pd", mr.pd)),
            None => {
                let text = format!("dereg_mr of {lkey:#x}, which does not exist");
                Err(Refusal::illegal(Rule::MrUnknown, text))
            }
        }
    }

    fn access(&self, command: &RegMr) -> Result<Access, Refusal> {
        if command.is_physical {
            let text = "reg_mr of physical memory, which is not for drivers of a guest";
            return Err(Refusal::illegal(Rule::MrPhysical, text.to_owned()));
        }
        let has = |mask: u32| u32::from(command.permissions) & mask != 0;
        let access = Access {
            local_write: has(c::REG_MR_CMD_LOCAL_WRITE_ENABLE_MASK),
            remote_write: has(c::REG_MR_CMD_REMOTE_WRITE_ENABLE_MASK),
            remote_read: has(c::REG_MR_CMD_REMOTE_READ_ENABLE_MASK),
        };
        if access.remote_read {
            self.needs(Capability::RdmaRead, "reg_mr with remote read")?;
        }
        if access.remote_write {
            self.needs(Capability::RdmaWrite, "reg_mr with remote write")?;
        }
        Ok(access)
    }

    /// How many pages the region has.
    fn page_count(&self, command: &RegMr) -> Result<u32, Refusal> {
        let shift = command.page_shift;
        if self.config.page_size_cap & (1_u64 << shift) == 0 {
            let text = format!("reg_mr with pages of 2^{shift} bytes");
            return Err(Refusal::illegal(Rule::MrPageSize, text));
        }
        if command.length == 0 {
            let text = "reg_mr of no bytes".to_owned();
            return Err(Refusal::illegal(Rule::MrLength, text));
        }
        // The first address is a program's choice.
        if command.iova.checked_add(command.length).is_none() {
            return Err(Status::IllegalParameter.into());
        }
        let page = 1_u128 << shift;
        let bytes = u128::from(command.iova) % page + u128::from(command.length);
        let count = u32::try_from(bytes.div_ceil(page)).unwrap_or(u32::MAX);
        if count > self.config.max_mr_pages {
            return Err(Status::ResourceAllocationFailure.into());
        }
        if ![0, count].contains(&command.page_num) {
            let text = format!("reg_mr says {} pages, and has {count}", command.page_num);
            return Err(Refusal::illegal(Rule::MrPageList, text));
        }
        Ok(count)
    }

    fn reg_mr_response(&self, lkey: u32) -> RegMrResp {
        let ids = [
            (self.config.recv_ic_id, c::REG_MR_RESP_RECV_IC_ID_MASK),
            (
                self.config.rdma_read_ic_id,
                c::REG_MR_RESP_RDMA_READ_IC_ID_MASK,
            ),
            (
                self.config.rdma_recv_ic_id,
                c::REG_MR_RESP_RDMA_RECV_IC_ID_MASK,
            ),
        ];
        let validity = ids.iter().fold(0, |validity, (id, mask)| {
            validity | id.map_or(0, |_| *mask as u8)
        });
        RegMrResp {
            l_key: lkey,
            r_key: remote_key(lkey),
            validity,
            recv_ic_id: self.config.recv_ic_id.unwrap_or(0),
            rdma_read_ic_id: self.config.rdma_read_ic_id.unwrap_or(0),
            rdma_recv_ic_id: self.config.rdma_recv_ic_id.unwrap_or(0),
            ..RegMrResp::default()
        }
    }
}
