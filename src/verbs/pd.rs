// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use crate::{
    admin::commands::{
        AllocPd,
        DeallocPd, //
    },
    ah_cache::PdId,
    device::Device,
    quarantine::Slot,
    uapi::IbvAllocPdResp, //
};
use kernel::{
    prelude::*,
    types::ScopeGuard, //
};
use rdma::{
    ratelimited,
    udata::Udata, //
};

/// A protection domain of a user context.
pub(crate) struct Pd {
    /// What the device knows it by.
    pub(super) id: PdId,
    /// Where it goes if the device refuses to take it back.
    slot: Slot,
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
    try_alloc(dev, udata).inspect_err(|_| dev.stats.alloc_pd_err.inc())
}

fn try_alloc(dev: &Device<'_>, udata: &Udata<'_>) -> Result<Pd> {
    udata.expect_no_request()?;
    retry_quarantine(dev);

    let slot = Slot::new()?;
    // Read first: should a reset come in between, the number counts as one from before it, and is
    // never given back in place of somebody else's.
    let generation = dev.admin.generation();
    let id = PdId {
        generation,
        number: dev.admin.exec(&AllocPd)?,
    };
    if dev.quarantine.contains(id) {
        ratelimited!(dev_err!(
            dev.pdev,
            "alloc_pd: the device handed out PD {id}, which it has not taken back yet\n"
        ));
        return Err(EIO);
    }
    let pd = ScopeGuard::new_with_data(Pd { id, slot }, |pd| give_back(dev, pd));

    udata.respond(&IbvAllocPdResp {
        comp_mask: 0,
        pdn: id.number,
        reserved_30: [0; 2],
    })?;
    Ok(pd.dismiss())
}

/// Frees a protection domain. Its address handles are gone, but for those that the device refused
/// to destroy.
pub(crate) fn dealloc(dev: &Device<'_>, pd: Pd) {
    retry_quarantine(dev);
    give_back(dev, pd);
}

/// Gives a protection domain back to the device, now or later.
fn give_back(dev: &Device<'_>, pd: Pd) {
    if let Err(error) = try_give_back(dev, pd.id) {
        ratelimited!(dev_warn!(
            dev.pdev,
            "dealloc_pd: PD {} was not taken back ({error:?}); it stays out of use until a later \
             try succeeds or the device is reset\n",
            pd.id
        ));
        dev.quarantine.insert(pd.slot, pd.id);
    }
}

/// Destroys what the cache still has of a protection domain, then deallocates it.
///
/// In this order: a number that is handed out again must come without address handles.
fn try_give_back(dev: &Device<'_>, id: PdId) -> Result {
    dev.ah_cache.release_pd(dev, id)?;
    if dev.is_current(id.generation) {
        dev.admin.exec(&DeallocPd { pdn: id.number })?;
    }
    Ok(())
}

fn retry_quarantine(dev: &Device<'_>) {
    dev.quarantine.retry(|id| try_give_back(dev, id));
}
