// SPDX-License-Identifier: GPL-2.0

//! A cache with its device, and the threads that use it.

use super::{device::Device, ledger::count};
use crate::{
    attr::Gid,
    driver::ah_cache::{AhCache, AhRef, Domain, PdId},
    machine,
    prelude::*,
};
use loom::{sync::Arc, thread};
use pinned_init::InPlaceInit;
use std::{
    cell::Cell,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

pub const PD: PdId = PdId {
    generation: 1,
    number: 7,
};

/// Another protection domain.
pub const OTHER_PD: PdId = PdId { number: 8, ..PD };

/// The number of the first one after a reset.
pub const NEW_PD: PdId = PdId {
    generation: 2,
    ..PD
};

/// An address.
pub const PEER: Gid = Gid([1; 16]);

pub struct Bench {
    cache: Pin<Box<AhCache>>,
    domains: [Pin<Box<Domain>>; 3],
    pub device: Device,
    got: Cell<u32>,
}

// SAFETY: Loom runs one thread of a test at a time, all on one thread of the host.
unsafe impl Sync for Bench {}

impl Bench {
    pub fn get(&self, pd: PdId) -> Result<AhRef> {
        self.get_for(pd, &PEER)
    }

    pub fn get_for(&self, pd: PdId, gid: &Gid) -> Result<AhRef> {
        self.cache
            .get(&self.device, self.domain(pd), gid)
            .inspect(|_| count(&self.got))
    }

    pub fn put(&self, ah: AhRef) {
        self.put_of(PD, ah);
    }

    pub fn put_of(&self, pd: PdId, ah: AhRef) {
        self.cache.put(&self.device, self.domain(pd), ah);
    }

    /// Releases a protection domain however much it has.
    pub fn release_pd(&self, pd: PdId) -> Result {
        self.release(pd, usize::MAX)
    }

    pub fn release(&self, pd: PdId, max: usize) -> Result {
        self.cache.release_pd(&self.device, self.domain(pd), max)
    }

    fn domain(&self, pd: PdId) -> &Domain {
        let found = self.domains.iter().find(|domain| domain.id == pd);
        found.expect("the tests have few")
    }

    /// Gets an address handle, sends a message and puts it.
    pub fn use_once(&self, pd: PdId) -> Result {
        let ah = self.get(pd)?;
        self.device.send(pd, &PEER, &ah);
        self.put_of(pd, ah);
        Ok(())
    }

    /// Lets the device refuse to destroy so many address handles of [`PD`], and returns their
    /// numbers. The last one is tried again first.
    pub fn park(&self, count: u8) -> Vec<u16> {
        let fail = self.device.fail_destroy.replace(count.into());
        let numbers = (0..count)
            .map(|number| {
                let mut peer = PEER;
                peer.0[0] ^= number + 1;
                let ah = self.get_for(PD, &peer).expect("it is free");
                let number = ah.ah();
                self.put(ah);
                number
            })
            .collect();
        self.device.fail_destroy.set(fail);
        numbers
    }
}

/// Runs `work` on another thread.
pub fn spawn(bench: &Arc<Bench>, work: impl FnOnce(&Bench) + 'static) -> thread::JoinHandle<()> {
    let bench = bench.clone();
    thread::spawn(move || work(&bench))
}

/// How often in all orders something happened that does not happen in each.
#[derive(Default)]
pub struct Seen {
    pub hits: AtomicU32,
    pub joined: AtomicU32,
    pub restarted: AtomicU32,
    pub reused: AtomicU32,
}

impl Seen {
    fn add(&self, device: &Device) {
        let told = &device.told;
        self.hits.fetch_add(told.hits.get(), Relaxed);
        self.joined.fetch_add(told.joined.get(), Relaxed);
        self.restarted.fetch_add(told.restarted.get(), Relaxed);
        self.reused.fetch_add(told.reused.get(), Relaxed);
    }
}

/// Runs `test` in all orders in which its threads can meet. Then nothing may be left.
pub fn in_all_orders(test: impl Fn(&Arc<Bench>) + Sync + Send + 'static) -> &'static Seen {
    run(None, test)
}

/// The same where there are too many orders for each day: only those with at most so many switches
/// from a thread that could have gone on. The full size tries those with as many as `in_full` says.
pub fn in_orders_with(
    preemptions: usize,
    in_full: Option<usize>,
    test: impl Fn(&Arc<Bench>) + Sync + Send + 'static,
) -> &'static Seen {
    let is_full = std::env::var_os("EFA_TEST_SIZE").is_some_and(|size| size == "full");
    run(if is_full { in_full } else { Some(preemptions) }, test)
}

fn run(
    preemptions: Option<usize>,
    test: impl Fn(&Arc<Bench>) + Sync + Send + 'static,
) -> &'static Seen {
    let seen: &Seen = Box::leak(Box::default());
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(move || {
        machine::reset();
        let bench = Arc::new(Bench {
            cache: Box::try_pin_init(AhCache::new()).expect("there is memory"),
            domains: [PD, OTHER_PD, NEW_PD]
                .map(|id| Box::pin_init(Domain::new(id)).expect("there is memory")),
            device: Device::new(),
            got: Cell::new(0),
        });
        test(&bench);
        assert_eq!(bench.device.live(), 0, "AHs are left on the device");
        assert_eq!(machine::blocks(), 0, "entries are left in the cache");
        bench.device.check_ledger();
        assert_eq!(bench.device.told.got(), bench.got.get());
        seen.add(&bench.device);
        drop(bench);
        machine::end();
    });
    seen
}
