// SPDX-License-Identifier: GPL-2.0

//! The cache against a scripted device.
//!
//! Each test names, after "Broken by", a one-line change that makes it fail; the same changes are in
//! `tests/mutations/ah_cache.toml`, where `make test-full` tries them.

use super::{AhCommands, Domain, Entry, Event, Keyed, Node, Observer, PdId};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            ordering::{Full, Relaxed},
            Atomic, //
        },
        Arc,
    },
    time::{delay::fsleep, Delta},
};
use rdma::{attr::Gid, rhashtable::Cursor};

/// How many different GIDs the tests use.
const PEERS: usize = 4;

/// A device that keeps the contract's books, and can be told to fail.
struct Device {
    generation: Atomic<u32>,
    created: Atomic<u32>,
    destroyed: Atomic<u32>,
    /// How many of the next commands fail.
    fail_create: Atomic<u32>,
    fail_destroy: Atomic<u32>,
    /// The live AH of each peer, 0 for none.
    live: [Atomic<u32>; PEERS],
    /// Second AHs for a peer, and destroys of what is not there.
    violations: Atomic<u32>,
    /// How long a command takes, in microseconds.
    latency: Atomic<u32>,
    /// Commands that came, also those that take their time now.
    begun: Atomic<u32>,
}

impl Device {
    fn new() -> Self {
        Device {
            generation: Atomic::new(1),
            created: Atomic::new(0),
            destroyed: Atomic::new(0),
            fail_create: Atomic::new(0),
            fail_destroy: Atomic::new(0),
            live: [const { Atomic::new(0) }; PEERS],
            violations: Atomic::new(0),
            latency: Atomic::new(0),
            begun: Atomic::new(0),
        }
    }

    fn slot(&self, gid: &Gid) -> Result<&Atomic<u32>> {
        self.live.get(usize::from(gid.0[15])).ok_or(EINVAL)
    }

    /// Takes one off a number of commands to fail.
    fn fails(budget: &Atomic<u32>) -> bool {
        let n = budget.load(Relaxed);
        n > 0 && budget.cmpxchg(n, n - 1, Relaxed).is_ok()
    }

    fn take_time(&self) {
        self.begun.add(1, Relaxed);
        match self.latency.load(Relaxed) {
            0 => {}
            us => fsleep(Delta::from_micros(us.into())),
        }
    }

    /// Commands that succeeded: CREATE_AH, DESTROY_AH.
    fn commands(&self) -> (u32, u32) {
        (self.created.load(Relaxed), self.destroyed.load(Relaxed))
    }
}

impl AhCommands for Device {
    fn is_current(&self, generation: u32) -> bool {
        generation == self.generation.load(Relaxed)
    }

    fn create_ah(&self, _pd: PdId, gid: &Gid) -> Result<u16> {
        self.take_time();
        if Self::fails(&self.fail_create) {
            return Err(EINVAL);
        }
        let ah = self.created.fetch_add(1, Full) + 1;
        if self.slot(gid)?.xchg(ah, Full) != 0 {
            self.violations.add(1, Relaxed);
        }
        Ok(ah as u16)
    }

    fn destroy_ah(&self, _pd: PdId, ah: u16) -> Result {
        self.take_time();
        if Self::fails(&self.fail_destroy) {
            return Err(EINVAL);
        }
        let ah = u32::from(ah);
        let freed = self
            .live
            .iter()
            .any(|slot| slot.cmpxchg(ah, 0, Full).is_ok());
        if !freed {
            self.violations.add(1, Relaxed);
        }
        self.destroyed.add(1, Relaxed);
        Ok(())
    }
}

impl Observer for Device {
    type Start = ();

    fn start(&self) {}

    fn observe(&self, _entry: &Node<Entry>, _event: Event<()>) {}
}

/// A cache and its device, shared with other threads.
#[pin_data]
struct Bench {
    #[pin]
    cache: super::AhCache,
    #[pin]
    pd: Domain,
    #[pin]
    other_pd: Domain,
    #[pin]
    new_pd: Domain,
    device: Device,
    running: Atomic<u32>,
    arrived: Atomic<u32>,
    failures: Atomic<u32>,
}

impl Bench {
    fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            try_pin_init!(Bench {
                cache <- super::AhCache::new(),
                pd <- Domain::new(PD),
                other_pd <- Domain::new(OTHER_PD),
                new_pd <- Domain::new(NEW_PD),
                device: Device::new(),
                running: Atomic::new(0),
                arrived: Atomic::new(0),
                failures: Atomic::new(0),
            }),
            GFP_KERNEL,
        )
    }

    fn domain(&self, pd: PdId) -> &Domain {
        match pd {
            OTHER_PD => &self.other_pd,
            NEW_PD => &self.new_pd,
            _ => &self.pd,
        }
    }

    fn get(&self, pd: PdId, peer: u8) -> Result<super::AhRef> {
        self.cache.get(&self.device, self.domain(pd), &gid(peer))
    }

    fn put(&self, ah: super::AhRef) {
        self.put_of(PD, ah);
    }

    fn put_of(&self, pd: PdId, ah: super::AhRef) {
        self.cache.put(&self.device, self.domain(pd), ah);
    }

    fn release(&self, pd: PdId, max: usize) -> Result {
        self.cache.release_pd(&self.device, self.domain(pd), max)
    }

    /// Releases a protection domain however much it has.
    fn release_pd(&self, pd: PdId) -> Result {
        self.release(pd, usize::MAX)
    }

    /// Whether the device still has this AH for `peer`, as its users rely on.
    fn is_live(&self, peer: u8, ah: &super::AhRef) -> bool {
        let slot = self.device.live.get(usize::from(peer));
        slot.is_some_and(|slot| slot.load(Relaxed) == ah.ah().into())
    }

    /// The number of entries in the cache.
    fn entries(&self) -> usize {
        self.cache.table.nodes()
    }

    /// Runs `work` on another thread. A failure is remembered for [`Bench::join`].
    fn spawn(self: &Arc<Self>, work: impl FnOnce(&Bench) -> Result + Send + 'static) -> Result {
        let bench = self.clone();
        self.running.add(1, Relaxed);
        kernel::workqueue::system_unbound().try_spawn(GFP_KERNEL, move || {
            if work(&bench).is_err() {
                bench.failures.add(1, Relaxed);
            }
            bench.running.fetch_sub(1, Full);
        })?;
        Ok(())
    }

    /// Runs `work` on another thread, and waits until that is in its first command.
    fn spawn_into_command(
        self: &Arc<Self>,
        work: impl FnOnce(&Bench) -> Result + Send + 'static,
    ) -> Result {
        let begun = self.device.begun.load(Relaxed);
        self.spawn(work)?;
        while self.device.begun.load(Relaxed) == begun {
            fsleep(Delta::from_micros(100));
        }
        Ok(())
    }

    /// Waits until this many threads are here.
    fn meet(&self, threads: u32) {
        self.arrived.add(1, Relaxed);
        while self.arrived.load(Relaxed) < threads {
            fsleep(Delta::from_micros(100));
        }
    }

    /// Waits for all threads; returns how many failed.
    fn join(&self) -> u32 {
        while self.running.load(Relaxed) != 0 {
            fsleep(Delta::from_millis(1));
        }
        self.failures.load(Relaxed)
    }
}

const PD: PdId = PdId {
    generation: 1,
    number: 7,
};

/// Another protection domain.
const OTHER_PD: PdId = PdId { number: 8, ..PD };

/// The number of the first one after a reset.
const NEW_PD: PdId = PdId {
    generation: 2,
    ..PD
};

fn gid(peer: u8) -> Gid {
    let mut gid = Gid([0; 16]);
    gid.0[0] = 0xfe;
    gid.0[15] = peer;
    gid
}

#[kernel::macros::kunit_tests(efa_ah_cache)]
mod cases {
    use super::*;

    /// Broken by: `join` that joins the entry it created instead of entering it.
    #[test]
    fn one_command_pair_serves_many_handles() -> Result {
        let bench = Bench::new()?;
        let first = bench.get(PD, 0)?;
        let second = bench.get(PD, 0)?;
        assert_eq!(first.ah(), second.ah());
        bench.put(first);
        assert_eq!(bench.device.commands(), (1, 0));
        bench.put(second);
        assert_eq!(bench.device.commands(), (1, 1));
        Ok(())
    }

    /// Broken by: `key` with 0 for `pd.number`.
    #[test]
    fn peers_and_protection_domains_are_apart() -> Result {
        let bench = Bench::new()?;
        let a = bench.get(PD, 0)?;
        let b = bench.get(PD, 1)?;
        let c = bench.get(OTHER_PD, 2)?;
        let d = bench.get(PD, 2)?;
        assert_eq!(bench.device.commands(), (4, 0));
        bench.put(a);
        assert_eq!(bench.device.commands(), (4, 1));
        bench.put(d);
        bench.put(b);
        bench.put_of(OTHER_PD, c);
        assert_eq!(bench.device.commands(), (4, 4));
        Ok(())
    }

    /// Broken by: `gid` with `skip(1)`.
    #[test]
    fn an_entry_tells_what_it_is_found_by() -> Result {
        let bench = Bench::new()?;
        let ah = bench.get(PD, 3)?;
        let (mut cursor, mut seen) = (Cursor::default(), 0);
        let mut is_right = true;
        while bench.cache.visit(&mut cursor, |entry, _, _| {
            is_right &= entry.pd() == PD && entry.gid() == gid(3);
            seen += 1;
        }) {}
        assert_eq!(seen, 1);
        assert!(is_right);
        bench.put(ah);
        Ok(())
    }

    /// Broken by: `join` without `bury` after a failed CREATE_AH.
    #[test]
    fn a_failed_create_leaves_nothing_and_a_retry_works() -> Result {
        let bench = Bench::new()?;
        bench.device.fail_create.store(1, Relaxed);
        assert!(bench.get(PD, 0).is_err_and(|e| e == EINVAL));
        assert_eq!(bench.device.commands(), (0, 0));
        assert_eq!(bench.entries(), 0);
        let ah = bench.get(PD, 0)?;
        bench.put(ah);
        assert_eq!(bench.device.commands(), (1, 1));
        Ok(())
    }

    /// Broken by: `destroy` that goes on after an error of DESTROY_AH.
    #[test]
    fn a_refused_destroy_parks_and_the_next_user_needs_no_command() -> Result {
        let bench = Bench::new()?;
        let ah = bench.get(PD, 0)?;
        bench.device.fail_destroy.store(1, Relaxed);
        bench.put(ah);
        let again = bench.get(PD, 0)?;
        assert_eq!(bench.device.commands(), (1, 0));
        bench.put(again);
        assert_eq!(bench.device.commands(), (1, 1));
        bench.release_pd(PD)?;
        assert_eq!(bench.device.commands(), (1, 1));
        Ok(())
    }

    /// Broken by: `leave` without the push to `parked`, `release_pd` without that after an error.
    #[test]
    fn freeing_the_pd_retries_until_the_device_agrees() -> Result {
        let bench = Bench::new()?;
        let ah = bench.get(PD, 0)?;
        bench.device.fail_destroy.store(2, Relaxed);
        bench.put(ah);
        assert!(bench.release_pd(PD).is_err());
        assert_eq!(bench.device.commands(), (1, 0));
        bench.release_pd(PD)?;
        assert_eq!(bench.device.commands(), (1, 1));
        Ok(())
    }

    /// Broken by: `release_pd` that keeps `parked` locked over its commands.
    #[test]
    fn a_handle_is_reused_while_another_is_tried_again() -> Result {
        let bench = Bench::new()?;
        let (first, second) = (bench.get(PD, 0)?, bench.get(PD, 1)?);
        bench.device.fail_destroy.store(2, Relaxed);
        bench.put(first);
        bench.put(second);
        bench.device.latency.store(500_000, Relaxed);
        // The second is tried first.
        bench.spawn_into_command(|bench| bench.release(PD, 1))?;
        let first = bench.get(PD, 0)?;
        assert_eq!(bench.device.commands(), (2, 0));
        assert_eq!(bench.join(), 0);
        assert_eq!(bench.device.commands(), (2, 1));
        bench.put(first);
        assert_eq!(bench.device.commands(), (2, 2));
        Ok(())
    }

    /// Broken by: `destroy` without the question `is_current`, `key` with 0 for the generation.
    #[test]
    fn a_reset_ends_what_came_before_it() -> Result {
        let bench = Bench::new()?;
        let old = bench.get(PD, 0)?;
        bench.device.generation.store(2, Relaxed);
        bench
            .device
            .live
            .iter()
            .for_each(|slot| slot.store(0, Relaxed));

        let new = bench.get(NEW_PD, 0)?;
        assert_eq!(bench.device.commands(), (2, 0));
        bench.put(old);
        assert_eq!(bench.device.commands(), (2, 0));
        bench.put_of(NEW_PD, new);
        assert_eq!(bench.device.commands(), (2, 1));
        Ok(())
    }

    /// Broken by: `join` that keeps `parked` locked over its command.
    #[test]
    fn peers_do_not_wait_for_each_other() -> Result {
        let bench = Bench::new()?;
        bench.device.latency.store(500_000, Relaxed);
        bench.spawn_into_command(|bench| bench.get(PD, 0).map(|ah| bench.put(ah)))?;
        bench.device.latency.store(0, Relaxed);
        let other = bench.get(PD, 1)?;
        assert_eq!(bench.device.commands(), (1, 0));
        assert_eq!(bench.join(), 0);
        bench.put(other);
        assert_eq!(bench.device.commands(), (2, 2));
        Ok(())
    }

    /// There may be 100,000 of them, and above 64 bytes the allocator takes 96.
    #[test]
    fn an_entry_has_64_bytes() {
        assert_eq!(size_of::<Node<Entry>>(), 64);
    }

    /// Broken by: `bury` that leaves the state as it was.
    #[test]
    fn a_create_during_a_destroy_waits_and_starts_anew() -> Result {
        let bench = Bench::new()?;
        let ah = bench.get(PD, 0)?;
        bench.device.latency.store(20_000, Relaxed);
        bench.spawn_into_command(move |bench| {
            bench.put(ah);
            Ok(())
        })?;
        let again = bench.get(PD, 0)?;
        assert_eq!(bench.join(), 0);
        assert_eq!(bench.device.commands(), (2, 1));
        bench.put(again);
        assert_eq!(bench.device.commands(), (2, 2));
        assert_eq!(bench.device.violations.load(Relaxed), 0);
        Ok(())
    }

    /// Broken by: `join` that returns an error when it finds the entry dead.
    #[test]
    fn who_waits_for_a_failing_create_tries_for_itself() -> Result {
        let bench = Bench::new()?;
        bench.device.latency.store(20_000, Relaxed);
        bench.device.fail_create.store(1, Relaxed);
        bench.spawn_into_command(|bench| match bench.get(PD, 0) {
            Ok(_) => Err(EEXIST),
            Err(_) => Ok(()),
        })?;
        let ah = bench.get(PD, 0)?;
        assert_eq!(bench.join(), 0);
        assert_eq!(bench.device.commands(), (1, 0));
        bench.put(ah);
        Ok(())
    }

    /// Broken by: `create` that leaves the state as it was.
    #[test]
    fn creates_at_once_end_on_one_device_handle() -> Result {
        let bench = Bench::new()?;
        bench.device.latency.store(50_000, Relaxed);
        for worker in 1..=8 {
            bench.spawn(move |bench| {
                bench.meet(8);
                let ah = bench.get(PD, 0)?;
                // They leave one by one, so that the last ones notice a destroy that came too early.
                fsleep(Delta::from_millis(worker * 20));
                let live = bench.is_live(0, &ah);
                bench.put(ah);
                live.then_some(()).ok_or(ESTALE)
            })?;
        }
        assert_eq!(bench.join(), 0);
        assert_eq!(bench.device.commands(), (1, 1));
        Ok(())
    }

    /// Broken by: `Count::dec_unless_one` that takes the last holder away.
    #[test]
    fn a_storm_never_shows_the_device_two_handles_for_one_key() -> Result {
        let bench = Bench::new()?;
        bench.device.latency.store(20, Relaxed);
        bench.device.fail_create.store(20, Relaxed);
        bench.device.fail_destroy.store(20, Relaxed);
        for worker in 0..8u8 {
            bench.spawn(move |bench| {
                for round in 0..200u8 {
                    let peer = worker.wrapping_mul(3).wrapping_add(round) % PEERS as u8;
                    // A scripted failure is not one of the cache.
                    if let Ok(ah) = bench.get(PD, peer) {
                        let live = bench.is_live(peer, &ah);
                        bench.put(ah);
                        if !live {
                            return Err(ESTALE);
                        }
                    }
                }
                Ok(())
            })?;
        }
        assert_eq!(bench.join(), 0);
        bench.release_pd(PD)?;
        let (created, destroyed) = bench.device.commands();
        assert!(created > 0);
        assert_eq!(created, destroyed);
        assert_eq!(bench.entries(), 0);
        assert_eq!(bench.device.violations.load(Relaxed), 0);
        Ok(())
    }
}
