// SPDX-License-Identifier: GPL-2.0

//! Address handles.

use super::pd::Pd;
use crate::{
    ah_cache::AhRef,
    device::Device,
    uapi::IbvCreateAhResp, //
};
use kernel::{
    prelude::*,
    types::ScopeGuard, //
};
use rdma::{
    attr::AhAttr,
    ratelimited,
    udata::Udata, //
};

/// An address handle of a user context: a use of the device's address handle, which all handles of
/// one protection domain and GID share.
pub(crate) struct Ah(AhRef);

/// Creates an address handle.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the caller cannot sleep, or the request says something; it has no private part.
/// - `EINVAL`: there is no destination GID or it is `::`, or the device refuses it.
/// - `ENOMEM`: no memory, or the device has no address handle left.
/// - `EFAULT`: the response cannot be written. Nothing is left behind then.
/// - What the admin queue fails with.
pub(crate) fn create(dev: &Device<'_>, pd: &Pd, attr: &AhAttr, udata: &Udata<'_>) -> Result<Ah> {
    try_create(dev, pd, attr, udata).inspect_err(|_| dev.stats.create_ah_err.inc())
}

fn try_create(dev: &Device<'_>, pd: &Pd, attr: &AhAttr, udata: &Udata<'_>) -> Result<Ah> {
    if !attr.sleepable {
        return Err(EOPNOTSUPP);
    }
    udata.expect_no_request()?;
    let Some(gid) = attr.dest.filter(|gid| !gid.is_zero()) else {
        ratelimited!(dev_warn!(
            dev.pdev,
            "create_ah: PD {}: no destination GID; set is_global and grh.dgid\n",
            pd.id
        ));
        return Err(EINVAL);
    };

    let ah = dev.ah_cache.get(dev, pd.id, &gid)?;
    let ah = ScopeGuard::new_with_data(ah, |ah| dev.ah_cache.put(dev, ah));

    udata.respond(&IbvCreateAhResp {
        comp_mask: 0,
        efa_address_handle: ah.ah(),
        reserved_30: [0; 2],
    })?;
    Ok(Ah(ah.dismiss()))
}

/// Destroys an address handle. The last use of the device's destroys that.
pub(crate) fn destroy(dev: &Device<'_>, ah: Ah) {
    dev.ah_cache.put(dev, ah.0);
}
