// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use super::{
    refused::{
        Name,
        Object,
        Returnable, //
    },
    request::expect_none, //
};
use crate::{
    admin::commands::{
        AllocPd,
        DeallocPd, //
    },
    ah_cache::{
        Domain,
        PdId, //
    },
    uapi::IbvAllocPdResp,
    users::Users, //
    verbs::device::Device,
};
use kernel::{
    prelude::*,
    types::ScopeGuard, //
};
use rdma::udata::Udata;

/// How many address handles that the device refused to destroy it is asked again to, at once. Those
/// of a protection domain are no burden to who frees it, however many there are.
const AHS_AT_ONCE: usize = 8;

/// A protection domain of a user context.
pub(crate) struct Pd {
    /// What the device knows it by, and the cache.
    pub(super) domain: Pin<KBox<Domain>>,
    /// Queue pairs and memory regions that the device has in it. Address handles are the cache's.
    pub(super) users: Users,
}

/// Allocates a protection domain.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the request says something; it has no private part.
/// - `ENOMEM`: no memory, or the device has no protection domain left.
/// - `EFAULT`: the response cannot be written. The protection domain is given back.
/// - `EIO`: the device handed out a protection domain that it refused to take back before.
/// - What the admin queue fails with.
pub(crate) fn alloc(dev: &Device<'_>, udata: &Udata<'_>) -> Result<Pd> {
    let pd = try_alloc(dev, udata);
    dev.stats.alloc_pd_err.inc_on_error(&pd);
    pd
}

fn try_alloc(dev: &Device<'_>, udata: &Udata<'_>) -> Result<Pd> {
    expect_none(udata).map_err(|refusal| dev.refuse(c"alloc_pd", refusal))?;
    let users = Users::new()?;
    let domain = KBox::new_uninit(GFP_KERNEL_ACCOUNT)?;
    // Read first: should a reset come in between, the number counts as one from before it, and is
    // never given back in place of somebody else's.
    let generation = dev.admin.generation();
    let id = PdId {
        generation,
        number: dev.admin.exec(&AllocPd)?,
    };
    let Ok(domain) = domain.write_pin_init(Domain::new(id));
    let pd = Pd { domain, users }.accept(dev)?;
    let pd = ScopeGuard::new_with_data(pd, |pd| pd.end(dev));

    udata.respond(&IbvAllocPdResp {
        comp_mask: 0,
        pdn: id.number,
        reserved_30: [0; 2],
    })?;
    Ok(pd.dismiss())
}

impl Object for Pd {
    fn name(&self) -> Name {
        Name {
            verb: "dealloc_pd",
            kind: "PD",
            number: self.domain.id.number.into(),
            generation: self.domain.id.generation,
            handle: self.domain.id.number.into(),
        }
    }

    fn is_in_use(&self) -> bool {
        self.users.any()
    }

    /// Destroys what the cache still has of the protection domain, then deallocates it.
    ///
    /// In this order: a number that is handed out again must come without address handles.
    fn give_back(&self, dev: &Device<'_>) -> Result {
        dev.ah_cache.release_pd(dev, &self.domain, AHS_AT_ONCE)?;
        dev.end(
            self.domain.id.generation,
            &DeallocPd {
                pdn: self.domain.id.number,
            },
        )
    }
}
