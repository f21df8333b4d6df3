// SPDX-License-Identifier: GPL-2.0

//! What the driver tells of its address handle cache.

use crate::{
    ah_cache::{
        Entry,
        Event,
        Observer, //
    },
    device::Device, //
};
use kernel::prelude::*;
use rdma::ratelimited;

impl Observer for Device<'_> {
    type Start = ();

    #[inline]
    fn start(&self) {}

    #[inline]
    fn observe(&self, entry: &Entry, event: Event<()>) {
        match event {
            Event::CreateFailed((), error) => ratelimited!(dev_err!(
                self.pdev,
                "create_ah: PD {}, GID {}: {error:?} ({})\n",
                entry.pd(),
                entry.gid(),
                explain(error)
            )),
            Event::DestroyFailed((), error) => ratelimited!(dev_warn!(
                self.pdev,
                "destroy_ah: PD {}, GID {}, AH {}: {error:?} (kept for the next user; tried again when the PD is freed)\n",
                entry.pd(),
                entry.gid(),
                entry.ah()
            )),
            _ => {}
        }
    }
}

/// What a person can do about a CREATE_AH that failed.
fn explain(error: Error) -> &'static str {
    if error == EINVAL {
        "the device refuses this address: is it the GID of an EFA device that can be reached?"
    } else if error == ENOMEM {
        "the device is out of address handles: destroy some"
    } else {
        "the device did not execute the command: see the messages of its admin queue"
    }
}
