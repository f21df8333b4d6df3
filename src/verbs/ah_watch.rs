// SPDX-License-Identifier: GPL-2.0

//! What the driver tells of its address handle cache: counters, tracepoints and the log.

use crate::{
    ah_cache::{
        Entry,
        Event,
        Keyed,
        Node,
        Observer, //
    },
    hw::admin::{
        ADMIN_CREATE_AH,
        ADMIN_DESTROY_AH, //
    },
    trace::{
        self,
        Hit, //
    }, //
    verbs::device::Device,
};
use kernel::{
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    }, //
};
use rdma::{
    percpu,
    ratelimited, //
};

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum What {
    Hits,
    Waits,
    Reuses,
    Misses,
    Creates,
    CreateFailures,
    Restarts,
    Destroys,
    DestroyFailures,
    Outlived,
    Retired,
}

/// The names for people, in the order of [`What`].
const NAMES: [&str; 11] = [
    "hits",
    "waits",
    "reuses",
    "misses",
    "creates",
    "create_failures",
    "restarts",
    "destroys",
    "destroy_failures",
    "outlived",
    "retired",
];

impl<S> Event<S> {
    fn what(&self) -> What {
        match self {
            Event::Hit => What::Hits,
            Event::Joined => What::Waits,
            Event::Reused => What::Reuses,
            Event::Miss => What::Misses,
            Event::Created(_) => What::Creates,
            Event::CreateFailed(..) => What::CreateFailures,
            Event::Restarted => What::Restarts,
            Event::Destroyed(_) => What::Destroys,
            Event::DestroyFailed(..) => What::DestroyFailures,
            Event::Outlived => What::Outlived,
            Event::Retired => What::Retired,
        }
    }
}

/// The counters of a cache.
pub(crate) struct AhCounters(percpu::Counters<{ NAMES.len() }>);

impl AhCounters {
    /// All at zero.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(percpu::Counters::new()?))
    }

    /// Each with its name.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        NAMES
            .into_iter()
            .enumerate()
            .map(|(index, name)| (name, self.0.sum(index)))
    }

    /// One of them.
    pub(crate) fn get(&self, what: What) -> u64 {
        // CAST: The number of a variant.
        self.0.sum(what as usize)
    }

    #[inline]
    fn count(&self, what: What) {
        // CAST: The number of a variant.
        self.0.inc(what as usize);
    }
}

impl Observer for Device<'_> {
    type Start = Option<Instant<Monotonic>>;

    #[inline]
    fn start(&self) -> Self::Start {
        trace::ah_commands_are_traced().then(Instant::now)
    }

    #[inline]
    fn observe(&self, entry: &Node<Entry>, event: Event<Self::Start>) {
        match event {
            // The hot path, which is nothing but this.
            Event::Hit => {
                self.ah_counters.count(What::Hits);
                self.trace_hit(entry, Hit::AtOnce);
            }
            event => self.tell(entry, event),
        }
    }
}

impl Device<'_> {
    #[cold]
    fn tell(&self, entry: &Node<Entry>, event: Event<Option<Instant<Monotonic>>>) {
        self.ah_counters.count(event.what());
        self.trace(entry, &event);
        match event {
            // Most often its process asked for an address that there is not.
            Event::CreateFailed(_, error) => ratelimited!(dev_info!(
                self.pdev,
                "create_ah: PD {}, GID {}: {error:?} ({})\n",
                entry.pd(),
                entry.gid(),
                explain(error)
            )),
            Event::DestroyFailed(_, error) => ratelimited!(dev_warn!(
                self.pdev,
                "destroy_ah: PD {}, GID {}, AH {}: {error:?} (kept for the next user; tried again when the PD is freed)\n",
                entry.pd(),
                entry.gid(),
                entry.ah()
            )),
            _ => {}
        }
    }

    #[inline]
    fn trace(&self, entry: &Node<Entry>, event: &Event<Option<Instant<Monotonic>>>) {
        let (dev, pd, gid) = (self.pdev.as_ref(), entry.pd().number, entry.gid());
        match *event {
            Event::Hit => self.trace_hit(entry, Hit::AtOnce),
            Event::Joined => self.trace_hit(entry, Hit::Waited),
            Event::Reused => self.trace_hit(entry, Hit::Parked),
            Event::Miss => trace::efa_ah_miss(dev, pd, &gid),
            Event::Created(start) => {
                trace::efa_ah_create(dev, pd, &gid, entry.ah(), entry.users(), start);
            }
            Event::Destroyed(start) => {
                trace::efa_ah_destroy(dev, pd, &gid, entry.ah(), entry.users(), start);
            }
            Event::CreateFailed(start, error) => {
                let (ah, errno) = (entry.ah(), error.to_errno());
                trace::efa_ah_failure(dev, pd, &gid, ah, ADMIN_CREATE_AH, errno, start);
            }
            Event::DestroyFailed(start, error) => {
                let (ah, errno) = (entry.ah(), error.to_errno());
                trace::efa_ah_failure(dev, pd, &gid, ah, ADMIN_DESTROY_AH, errno, start);
            }
            Event::Restarted | Event::Outlived | Event::Retired => {}
        }
    }

    /// Nothing of the entry is read unless somebody listens.
    #[inline]
    fn trace_hit(&self, entry: &Node<Entry>, how: Hit) {
        if trace::efa_ah_hit_enabled() {
            let (pd, ah, users) = (entry.pd().number, entry.ah(), entry.users());
            trace::efa_ah_hit(self.pdev.as_ref(), pd, &entry.gid(), ah, users, how as u8);
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
