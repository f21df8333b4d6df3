// SPDX-License-Identifier: GPL-2.0

//! Callbacks of ports and their tables.

use super::{
    arguments::Called,
    errno,
    Callbacks, //
};
use crate::{
    bindings,
    provider::Provider, //
};
use core::mem::ManuallyDrop;
use kernel::prelude::*;

/// A question of the core's that the driver answers, about what `Key` names.
pub(super) trait Question<P: Provider> {
    /// What the question is about.
    type Key;

    /// What the core has filled in.
    type Answer;

    /// Fills the answer in.
    ///
    /// # Errors
    ///
    /// What the driver fails with; the answer is not looked at then.
    fn answer(dev: &P::Data<'_>, about: Self::Key, out: &mut Self::Answer) -> Result;
}

/// A port, by its number.
pub(super) struct Port(u32);

/// A place in a table of a port: an index in the core's type of it.
pub(super) struct Place<Index>(Port, Index);

/// `query_port`
pub(super) enum State {}

impl<P: Provider> Question<P> for State {
    type Key = Port;
    type Answer = bindings::ib_port_attr;

    fn answer(dev: &P::Data<'_>, Port(port): Port, out: &mut Self::Answer) -> Result {
        P::query_port(dev, port).map(|attr| attr.store(out))
    }
}

/// `query_port_speed`
pub(super) enum Speed {}

impl<P: Provider> Question<P> for Speed {
    type Key = Port;
    type Answer = u64;

    fn answer(dev: &P::Data<'_>, Port(port): Port, out: &mut u64) -> Result {
        P::query_port_speed(dev, port).map(|speed| *out = speed)
    }
}

/// `get_port_immutable`
pub(super) enum Immutable {}

impl<P: Provider> Question<P> for Immutable {
    type Key = Port;
    type Answer = bindings::ib_port_immutable;

    fn answer(dev: &P::Data<'_>, Port(port): Port, out: &mut Self::Answer) -> Result {
        P::port_immutable(dev, port).map(|port| port.store(out))
    }
}

/// `query_gid`
pub(super) enum Gid {}

impl<P: Provider> Question<P> for Gid {
    type Key = Place<c_int>;
    type Answer = bindings::ib_gid;

    fn answer(
        dev: &P::Data<'_>,
        Place(Port(port), index): Place<c_int>,
        out: &mut Self::Answer,
    ) -> Result {
        P::query_gid(dev, port, index.try_into()?).map(|gid| out.raw = ManuallyDrop::new(gid.0))
    }
}

/// `query_pkey`
pub(super) enum Pkey {}

impl<P: Provider> Question<P> for Pkey {
    type Key = Place<u16>;
    type Answer = u16;

    fn answer(dev: &P::Data<'_>, Place(Port(port), index): Place<u16>, out: &mut u16) -> Result {
        P::query_pkey(dev, port, index).map(|pkey| *out = pkey)
    }
}

impl<P: Provider> Callbacks<P> {
    /// The callback that asks `Q` about a port.
    pub(super) unsafe extern "C" fn ask_port<Q: Question<P, Key = Port>>(
        ibdev: *mut bindings::ib_device,
        port: u32,
        out: *mut Q::Answer,
    ) -> c_int {
        // SAFETY: This is a callback of `ibdev`, and `out`, which it has to fill in, is valid and
        // ours.
        let (device, out) = unsafe { (Called::<P>::new(ibdev), &mut *out) };
        errno(device.with(|dev| Q::answer(dev, Port(port), out)))
    }

    /// The callback that asks `Q` about a place in a table of a port.
    pub(super) unsafe extern "C" fn ask_table<Index, Q: Question<P, Key = Place<Index>>>(
        ibdev: *mut bindings::ib_device,
        port: u32,
        index: Index,
        out: *mut Q::Answer,
    ) -> c_int {
        // SAFETY: As in `ask_port`.
        let (device, out) = unsafe { (Called::<P>::new(ibdev), &mut *out) };
        errno(device.with(|dev| Q::answer(dev, Place(Port(port), index), out)))
    }

    pub(super) unsafe extern "C" fn get_link_layer(
        ibdev: *mut bindings::ib_device,
        port: u32,
    ) -> bindings::rdma_link_layer {
        // SAFETY: This is a callback of `ibdev`.
        let device = unsafe { Called::<P>::new(ibdev) };
        device.with(|dev| P::link_layer(dev, port).as_raw())
    }
}
