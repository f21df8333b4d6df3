// SPDX-License-Identifier: GPL-2.0

//! Address handles.

use super::{
    pd::Pd,
    request::{
        check,
        expect_none,
        Refusal,
        Rule, //
    }, //
};
use crate::{
    ah_cache::AhRef,
    uapi::IbvCreateAhResp, //
    verbs::device::Device,
};
use kernel::{
    prelude::*,
    types::ScopeGuard, //
};
use rdma::{
    attr::{AhAttr, Gid},
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
/// - `EINVAL`: there is no global route, and so no destination GID, or the device refuses it.
/// - `ENOMEM`: no memory, or the device has no address handle left.
/// - `EFAULT`: the response cannot be written. Nothing is left behind then.
/// - What the admin queue fails with.
pub(crate) fn create(
    dev: &Device<'_>,
    pd: &Pd,
    attr: &AhAttr<'_>,
    udata: &Udata<'_>,
) -> Result<Ah> {
    let ah = try_create(dev, pd, attr, udata);
    dev.stats.create_ah_err.inc_on_error(&ah);
    ah
}

fn try_create(dev: &Device<'_>, pd: &Pd, attr: &AhAttr<'_>, udata: &Udata<'_>) -> Result<Ah> {
    let gid = expect_none(udata)
        .and_then(|()| destination(attr))
        .map_err(|refusal| dev.refuse(c"create_ah", refusal))?;
    let ah = dev.ah_cache.get(dev, &pd.domain, gid)?;
    let ah = ScopeGuard::new_with_data(ah, |ah| dev.ah_cache.put(dev, &pd.domain, ah));

    udata.respond(&IbvCreateAhResp {
        comp_mask: 0,
        efa_address_handle: ah.ah(),
        reserved_30: [0; 2],
    })?;
    Ok(Ah(ah.dismiss()))
}

/// Whom the address handle is for. Whether the device can reach that address is its own to judge.
fn destination<'a>(attr: &AhAttr<'a>) -> Result<&'a Gid, Refusal> {
    let so = Rule::Exactly(1);
    // CREATE_AH is waited for.
    check(EOPNOTSUPP, c"sleepable", attr.sleepable, so)?;
    attr.dest
        .ok_or_else(|| Refusal::new(EINVAL, c"is_global", false, so))
}

/// Destroys an address handle. The last use of the device's destroys that.
pub(crate) fn destroy(dev: &Device<'_>, pd: &Pd, ah: Ah) {
    dev.ah_cache.put(dev, &pd.domain, ah.0);
}

#[kernel::macros::kunit_tests(efa_ah)]
mod tests {
    use super::*;

    const PEER: Gid = Gid([0xfe; 16]);

    fn attr(dest: Option<&Gid>, sleepable: bool) -> AhAttr<'_> {
        AhAttr { dest, sleepable }
    }

    #[test]
    fn who_cannot_sleep_gets_no_address_handle() {
        assert!(destination(&attr(Some(&PEER), false)).is_err_and(|e| e.error == EOPNOTSUPP));
        assert!(destination(&attr(None, false)).is_err_and(|e| e.error == EOPNOTSUPP));
    }

    #[test]
    fn without_a_route_there_is_no_destination() {
        assert!(destination(&attr(None, true)).is_err_and(|e| e.error == EINVAL));
    }

    #[test]
    fn any_gid_of_a_route_is_left_to_the_device() {
        for gid in [PEER, Gid([0; 16]), Gid([0xff; 16])] {
            assert!(destination(&attr(Some(&gid), true)).is_ok_and(|dest| dest.0 == gid.0));
        }
    }
}
