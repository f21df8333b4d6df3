// SPDX-License-Identifier: GPL-2.0

//! A device that breaks the test off when its contract is broken.

use super::ledger::{count, Ledger};
use crate::{
    attr::Gid,
    driver::ah_cache::{AhCommands, AhRef, Entry, Event, Node, Observer, PdId},
    prelude::*,
};
use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use std::cell::{Cell, RefCell};

/// How many address handles a test may create.
const HANDLES: usize = 8;

/// Generation and number of a PD, and a GID.
type Key = (u32, u16, Gid);

/// What the device remembers of an address handle.
///
/// Commands write it and messages read it, with nothing of the device's own to order them: that is
/// the cache's business, and loom breaks the test off where two of them are not ordered.
type Handle = UnsafeCell<Option<Key>>;

/// The device. What is in a `Cell` is its own and is no memory of the program under test.
pub struct Device {
    /// What the driver knows of the device's generation.
    known_generation: AtomicU32,
    generation: Cell<u32>,
    handles: [Handle; HANDLES],
    live: RefCell<Vec<(Key, u16)>>,
    /// How many of the next commands fail.
    pub fail_create: Cell<u32>,
    pub fail_destroy: Cell<u32>,
    /// The AH that is never destroyed, 0 for none.
    pub kept: Cell<u16>,
    pub created: Cell<u32>,
    pub destroyed: Cell<u32>,
    pub refused: Cell<u32>,
    /// What the cache told.
    pub told: Ledger,
}

// SAFETY: Loom runs one thread of a test at a time, all on one thread of the host.
unsafe impl Sync for Device {}

impl Device {
    pub fn new() -> Self {
        Device {
            known_generation: AtomicU32::new(1),
            generation: Cell::new(1),
            handles: Default::default(),
            live: RefCell::default(),
            fail_create: Cell::new(0),
            fail_destroy: Cell::new(0),
            kept: Cell::new(0),
            created: Cell::new(0),
            destroyed: Cell::new(0),
            refused: Cell::new(0),
            told: Ledger::default(),
        }
    }

    /// Sends a message with an address handle.
    pub fn send(&self, pd: PdId, gid: &Gid, ah: &AhRef) {
        let handle = &self.handles[usize::from(ah.ah())];
        // SAFETY: Loom sees to it that nobody writes.
        handle.with(|handle| assert_eq!(unsafe { *handle }, Some(key(pd, gid))));
    }

    /// Forgets all address handles. From now on commands of the time before it fail, as those of
    /// a closed queue do.
    pub fn reset(&self) {
        self.generation.set(self.generation.get() + 1);
        self.live.borrow_mut().clear();
        self.known_generation.store(self.generation.get(), Relaxed);
    }

    /// How many address handles there are.
    pub fn live(&self) -> usize {
        self.live.borrow().len()
    }

    /// How many commands succeeded: CREATE_AH, DESTROY_AH.
    pub fn commands(&self) -> (u32, u32) {
        (self.created.get(), self.destroyed.get())
    }

    /// Compares what the cache told with what the device did.
    pub fn check_ledger(&self) {
        let told = &self.told;
        assert_eq!(told.created.get(), self.created.get());
        assert_eq!(told.destroyed.get(), self.destroyed.get());
        let failed = told.create_failed.get() + told.destroy_failed.get();
        assert_eq!(failed, self.refused.get());
        let missed = told.created.get() + told.create_failed.get();
        assert_eq!(told.misses.get(), missed);
    }

    /// Takes a command: fails if it is told to.
    fn take(&self, budget: &Cell<u32>, generation: u32) -> Result {
        if generation != self.generation.get() {
            count(&self.refused);
            return Err(EIO);
        }
        if budget.get() > 0 {
            budget.set(budget.get() - 1);
            count(&self.refused);
            return Err(EINVAL);
        }
        Ok(())
    }

    fn write(&self, ah: u16, key: Option<Key>) {
        // SAFETY: Loom sees to it that nobody else reads or writes.
        self.handles[usize::from(ah)].with_mut(|handle| unsafe { *handle = key });
    }
}

fn key(pd: PdId, gid: &Gid) -> Key {
    (pd.generation, pd.number, *gid)
}

impl AhCommands for Device {
    fn is_current(&self, generation: u32) -> bool {
        self.known_generation.load(Relaxed) == generation
    }

    fn create_ah(&self, pd: PdId, gid: &Gid) -> Result<u16> {
        self.take(&self.fail_create, pd.generation)?;
        let key = key(pd, gid);
        let mut live = self.live.borrow_mut();
        let is_free = live.iter().all(|(other, _)| *other != key);
        assert!(is_free, "a second AH for a key");
        count(&self.created);
        // None has the number 0, so that one that was not written yet is noticed.
        let ah = u16::try_from(self.created.get()).expect("there are few");
        live.push((key, ah));
        drop(live);
        self.write(ah, Some(key));
        Ok(ah)
    }

    fn destroy_ah(&self, pd: PdId, ah: u16) -> Result {
        self.take(&self.fail_destroy, pd.generation)?;
        if ah == self.kept.get() {
            count(&self.refused);
            return Err(EINVAL);
        }
        let mut live = self.live.borrow_mut();
        let found = live
            .iter()
            .position(|((_, number, _), other)| (*number, *other) == (pd.number, ah));
        live.swap_remove(found.expect("DESTROY_AH of what is not there"));
        drop(live);
        count(&self.destroyed);
        self.write(ah, None);
        Ok(())
    }
}

impl Observer for Device {
    type Start = ();

    fn start(&self) {}

    fn observe(&self, entry: &Node<Entry>, event: Event<()>) {
        self.told.enter(entry, &event);
    }
}
