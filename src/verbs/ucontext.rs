// SPDX-License-Identifier: GPL-2.0

//! User contexts: each has a user access region (UAR) of the device, the part of its doorbells that
//! a process may reach.

use super::{
    refused::{
        Name,
        Object,
        Returnable, //
    },
    request::{
        check,
        Refusal,
        Rule, //
    }, //
};
use crate::{
    admin::commands::{
        AllocUar,
        DeallocUar, //
    },
    uapi::*,
    users::Users, //
    verbs::device::Device,
};
use kernel::{
    prelude::*,
    types::ScopeGuard, //
};
use rdma::udata::Udata;

/// The user context of an open device file.
pub(crate) struct UContext {
    /// The reset generation in which the device handed the UAR out.
    pub(super) generation: u32,
    /// The device's number of the UAR.
    pub(super) uarn: u16,
    /// Completion queues and queue pairs that the device has with doorbells in it.
    pub(super) users: Users,
}

/// Opens a user context.
///
/// A request longer than the driver knows is accepted, whatever it says: user space learns from
/// the response what was understood.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the device has a limit that user space does not know.
/// - `ENOMEM`: the device has no UAR left.
/// - `EFAULT`: the request cannot be read or the response not written. The UAR is given back.
/// - `EIO`: the device handed out a UAR that it refused to take back before.
/// - What the admin queue fails with.
pub(crate) fn alloc(dev: &Device<'_>, udata: &Udata<'_>) -> Result<UContext> {
    let ucontext = try_alloc(dev, udata);
    dev.stats.alloc_ucontext_err.inc_on_error(&ucontext);
    ucontext
}

fn try_alloc(dev: &Device<'_>, udata: &Udata<'_>) -> Result<UContext> {
    let request = udata.read_known_request::<IbvAllocUcontextCmd>()?;
    let queues = &dev.features().queues;
    check_user_knows_limits(
        request.supported_caps,
        queues.max_tx_batch,
        queues.min_sq_depth,
    )
    .map_err(|refusal| dev.refuse(c"alloc_ucontext", refusal))?;

    let users = Users::new()?;
    let ucontext = UContext {
        // Read first: should a reset come in between, the UAR counts as one from before it.
        generation: dev.admin.generation(),
        uarn: dev.admin.exec(&AllocUar)?,
        users,
    };
    let ucontext = ucontext.accept(dev)?;
    let ucontext = ScopeGuard::new_with_data(ucontext, |ucontext| ucontext.end(dev));

    udata.respond(&IbvAllocUcontextResp {
        comp_mask: 0,
        cmds_supp_udata_mask: USER_CMDS_SUPP_UDATA_QUERY_DEVICE | USER_CMDS_SUPP_UDATA_CREATE_AH,
        sub_cqs_per_cq: queues.sub_cqs_per_cq,
        inline_buf_size: dev.inline_buf_size(),
        max_llq_size: queues.max_llq_size,
        max_tx_batch: queues.max_tx_batch,
        min_sq_wr: queues.min_sq_depth,
        inline_buf_size_ex: dev.inline_buf_size_ex(),
        reserved_b0: [0; 2],
    })?;
    Ok(ucontext.dismiss())
}

impl Object for UContext {
    fn name(&self) -> Name {
        Name {
            verb: "dealloc_ucontext",
            kind: "UAR",
            number: self.uarn.into(),
            generation: self.generation,
            handle: self.uarn.into(),
        }
    }

    fn is_in_use(&self) -> bool {
        self.users.any()
    }

    fn give_back(&self, dev: &Device<'_>) -> Result {
        dev.end(self.generation, &DeallocUar { uarn: self.uarn })
    }
}

/// Checks that user space knows each limit that the device has.
fn check_user_knows_limits(
    supported_caps: u32,
    max_tx_batch: u16,
    min_sq_depth: u16,
) -> Result<(), Refusal> {
    let limits = [
        (max_tx_batch, ALLOC_UCONTEXT_CMD_SUPP_CAPS_TX_BATCH),
        (min_sq_depth, ALLOC_UCONTEXT_CMD_SUPP_CAPS_MIN_SQ_WR),
    ];
    let needed = limits
        .iter()
        .filter(|(limit, _)| *limit != 0)
        .fold(0, |needed, (_, known)| needed | u64::from(*known));
    let needed = Rule::AllBitsOf(needed);
    check(EOPNOTSUPP, c"supported_caps", supported_caps, needed)
}

#[kernel::macros::kunit_tests(efa_ucontext)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_user_space_does_not_know_is_refused() {
        const BATCH: u32 = ALLOC_UCONTEXT_CMD_SUPP_CAPS_TX_BATCH;
        const MIN_WR: u32 = ALLOC_UCONTEXT_CMD_SUPP_CAPS_MIN_SQ_WR;
        for (caps, max_tx_batch, min_sq_depth, expected) in [
            (0, 0, 0, Ok(())),
            (0, 16, 0, Err(EOPNOTSUPP)),
            (0, 0, 16, Err(EOPNOTSUPP)),
            (BATCH, 16, 0, Ok(())),
            (BATCH, 16, 16, Err(EOPNOTSUPP)),
            (MIN_WR, 16, 16, Err(EOPNOTSUPP)),
            (BATCH | MIN_WR, 16, 16, Ok(())),
        ] {
            let result = check_user_knows_limits(caps, max_tx_batch, min_sq_depth);
            assert_eq!(result.map_err(|refusal| refusal.error), expected);
        }
    }
}
