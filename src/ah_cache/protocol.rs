// SPDX-License-Identifier: GPL-2.0

//! The order of steps by which users of one (PD, GID) share one address handle of the device.
//!
//! Two counts, since a use of an address handle and a reference to an entry's memory are different
//! things. There are users only while the device's AH is valid and used; they are counted without
//! a lock. The memory is counted by the hash table's nodes, and all users have one reference to it
//! together, so that a hit, and the end of it, is one change of one count.
//!
//! ```text
//!                    CREATE_AH ok                    last user leaves, DESTROY_AH ok
//!           Empty ------------------> Live(users > 0) ------------------------> Dead
//!             |                        |         ^                               ^
//!             | CREATE_AH failed       | DESTROY | next user                     |
//!             |                        | failed  | (no command)                  |
//!             |                        v         |     PD freed, DESTROY_AH ok   |
//!             |                      Live(users == 0, parked) -------------------+
//!             +------------------------------------------------------------------+
//! ```
//!
//! Rules that the order of steps rests on:
//!
//! - The entry's mutex is held over each command for its key, so that the device never sees two
//!   at once. There may be 100,000 entries, and hardly ever is one locked: it is a small mutex, and
//!   who has to wait does so at the protection domain.
//! - The first user comes, and the last one leaves, only under the mutex. A hit needs no mutex: it
//!   adds a user where there is one.
//! - An entry is `Dead`, and out of the table, before its mutex is released. Whoever waited for
//!   the mutex then starts again, and finds or inserts another entry.
//! - An entry that has an AH and no users is parked with its protection domain, but while it is tried
//!   again since the domain is freed. That list is locked with an entry's mutex held, never the other
//!   way round, and over no command.
//!
//! # Which order of memory accesses it rests on
//!
//! What the locks order needs no argument. Without a lock there are four:
//!
//! 1. *A hit sees the AH.* The number is written, and CREATE_AH is complete, before
//!    [`User::enter`] adds the first user with release; a hit adds itself with acquire. It may read
//!    the count from another hit instead of from the first user: a chain of read-modify-writes
//!    hands the release on (`rmw-sequence` in the kernel's model, a release sequence in C11's).
//! 2. *DESTROY_AH comes after each use.* Who leaves does so with release, and the last one with a
//!    full barrier, again over a chain of read-modify-writes. So nothing that a user did with its AH
//!    comes after the command.
//! 3. *A lookup sees a whole entry.* The table links a node with `rcu_assign_pointer()`, and a
//!    lookup depends on the pointer that it read.
//! 4. *Memory is not freed under who looks at it.* A lookup becomes a user, or takes a reference, in
//!    the RCU read section in which it found the node, and fails at zero. The table's reference is
//!    dropped after the node was unlinked, and the memory given back a grace period after the last
//!    reference: a read section either began before that, and is waited for, or sees the node
//!    unlinked. The users' reference is taken before the first user can leave, and dropped by the
//!    last one, which comes after the end of each other use (2).
//!
//! `tests/protocol` runs this file, the count and the table's nodes on the host: in all orders in
//! which two threads can meet, in those of three threads with two preemptions (with fewer of both in
//! the short size), and with each value that C11 lets a load read, as loom knows it. Where the
//! kernel's memory model differs, the test has the weaker rule, or nothing here depends on it:
//!
//! - `Full` is taken for acquire and release only; a failed exchange orders nothing.
//! - Loom knows no dependencies: for a lookup's it has an acquire load. All that a lookup reads of
//!   a node it reads through that pointer, until the count's acquire.
//! - Loom never lets a store pass a load before it, which the kernel's model allows. What is decided
//!   here from a relaxed load is tried with an exchange, or looked at again under the mutex.
//! - Nothing needs two threads to see stores to two variables in one order: each pair above is a
//!   release and an acquire of one variable.

use super::{
    key,
    AhCommands,
    Event,
    Keyed,
    PdId, //
};
use core::mem;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{ordering::Relaxed, Atomic},
        Mutex, //
    },
};
use rdma::{
    attr::Gid,
    rhashtable::{Chain, NodeRef, Table, User},
    small_mutex::{SmallMutex, WaitPlace}, //
};

/// What an entry's key stands for on the device. Guarded by the entry's mutex.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is no AH yet.
    Empty,
    /// There is one, with the number in [`Entry::ah`].
    Live,
    /// There is none any more; the entry is not in the table.
    Dead,
}

/// All address handles of one (PD, GID), which are its users.
pub(crate) struct Entry {
    /// Written under the mutex before there is a user; readable for users.
    ah: Atomic<u32>,
    state: SmallMutex<State>,
}

impl Entry {
    fn new() -> Self {
        Self {
            ah: Atomic::new(0),
            state: SmallMutex::new(State::Empty),
        }
    }

    /// The device's AH number; 0 before there is one.
    pub(crate) fn ah(&self) -> u16 {
        // CAST: Only `AhCache::join` writes it, from a `u16`.
        self.ah.load(Relaxed) as u16
    }
}

/// A use of the device's AH, to be given back with [`AhCache::put`].
pub(crate) struct AhRef(User<Entry>);

impl AhRef {
    /// The device's AH number.
    pub(crate) fn ah(&self) -> u16 {
        self.0.ah()
    }
}

/// A protection domain, with what the device refused to destroy of it.
#[pin_data]
pub(crate) struct Domain {
    /// What the device knows it by.
    pub(crate) id: PdId,
    #[pin]
    parked: Mutex<Parked>,
    /// Where threads wait for its entries.
    #[pin]
    waiting: WaitPlace,
}

impl Domain {
    /// A domain of which the cache has nothing yet.
    pub(crate) fn new(id: PdId) -> impl PinInit<Self> {
        let parked = Parked {
            untried: Chain::new(),
            tried: Chain::new(),
        };
        pin_init!(Self {
            id,
            parked <- new_mutex!(parked, "efa_ah_cache_parked"),
            waiting <- WaitPlace::new(),
        })
    }
}

/// Entries of one protection domain that have an AH and no users: those that were not tried again
/// yet, and those that were. They take turns, so that one that the device keeps holds up no other.
struct Parked {
    untried: Chain<Entry>,
    tried: Chain<Entry>,
}

impl Parked {
    /// Takes the one that is to be tried next.
    fn pop(&mut self) -> Option<NodeRef<Entry>> {
        if let Some(entry) = self.untried.pop() {
            return Some(entry);
        }
        mem::swap(&mut self.untried, &mut self.tried);
        self.untried.pop()
    }

    fn remove(&mut self, entry: &NodeRef<Entry>) {
        self.untried.remove(entry);
        self.tried.remove(entry);
    }

    fn is_empty(&self) -> bool {
        self.untried.is_empty() && self.tried.is_empty()
    }
}

/// The cache of one device.
#[pin_data]
pub(crate) struct AhCache {
    #[pin]
    pub(super) table: Table<Entry>,
}

impl AhCache {
    /// Creates an empty cache.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            table <- Table::new(),
        })
    }

    /// Makes the caller a user of the device's AH for (`pd`, `gid`), creating it if need be.
    ///
    /// # Errors
    ///
    /// - `ENOMEM` when an entry cannot be allocated.
    /// - What CREATE_AH fails with; nothing is left behind then.
    #[inline]
    pub(crate) fn get(&self, cmds: &impl AhCommands, pd: &Domain, gid: &Gid) -> Result<AhRef> {
        let key = key(pd.id, gid);
        loop {
            if let Some(user) = self.table.join(&key) {
                cmds.observe(&user, Event::Hit);
                return Ok(AhRef(user));
            }
            let entry = self.table.get_or_insert(&key, Entry::new())?;
            if let Some(user) = self.join(cmds, pd, &entry)? {
                return Ok(AhRef(user));
            }
        }
    }

    /// Makes the caller a user of an entry that had none when it looked.
    ///
    /// Returns `None` when the entry died meanwhile.
    #[cold]
    fn join(
        &self,
        cmds: &impl AhCommands,
        pd: &Domain,
        entry: &NodeRef<Entry>,
    ) -> Result<Option<User<Entry>>> {
        let mut state = entry.state.lock(&pd.waiting);
        let event = match *state {
            State::Dead => {
                cmds.observe(entry, Event::Restarted);
                return Ok(None);
            }
            State::Live => match User::join(entry) {
                Some(user) => {
                    cmds.observe(entry, Event::Joined);
                    return Ok(Some(user));
                }
                // Nobody uses the AH: it is parked.
                None => {
                    pd.parked.lock().remove(entry);
                    Event::Reused
                }
            },
            State::Empty => Event::Created(self.create(cmds, entry, &mut state)?),
        };
        let user = User::enter(entry);
        cmds.observe(entry, event);
        Ok(Some(user))
    }

    /// Creates the AH of an entry that has none. Returns when the command was sent.
    fn create<C: AhCommands>(
        &self,
        cmds: &C,
        entry: &NodeRef<Entry>,
        state: &mut State,
    ) -> Result<C::Start> {
        cmds.observe(entry, Event::Miss);
        let start = cmds.start();
        match cmds.create_ah(entry.pd(), &entry.gid()) {
            Ok(ah) => {
                entry.ah.store(ah.into(), Relaxed);
                *state = State::Live;
                Ok(start)
            }
            Err(e) => {
                self.bury(entry, state);
                cmds.observe(entry, Event::CreateFailed(start, e));
                Err(e)
            }
        }
    }

    /// Ends a use, which was got for `pd`. The last one destroys the device's AH.
    ///
    /// This cannot fail: an AH that the device refuses to destroy is parked until the next
    /// [`AhCache::get`] for its key, or until [`AhCache::release_pd`].
    #[inline]
    pub(crate) fn put(&self, cmds: &impl AhCommands, pd: &Domain, ah: AhRef) {
        if let Some(user) = ah.0.leave_unless_last() {
            self.leave(cmds, pd, user);
        }
    }

    /// Ends a use that was the last one when its user looked.
    #[cold]
    fn leave(&self, cmds: &impl AhCommands, pd: &Domain, user: User<Entry>) {
        let entry = user.node_ref();
        let mut state = entry.state.lock(&pd.waiting);
        if !user.leave() || self.destroy(cmds, &entry, &mut state).is_ok() {
            return;
        }
        // Under the mutex, so that the next user finds it there.
        pd.parked.lock().untried.push(entry.clone());
    }

    /// Destroys what is left of a protection domain without users, before it is freed: up to `max`
    /// entries, and none after one that the device refuses.
    ///
    /// # Errors
    ///
    /// The device still has an AH of this PD, so DEALLOC_PD must not be sent. Calling again goes on.
    ///
    /// - `EAGAIN`: `max` entries were destroyed, and there are more.
    /// - What DESTROY_AH fails with.
    pub(crate) fn release_pd(&self, cmds: &impl AhCommands, pd: &Domain, max: usize) -> Result {
        for _ in 0..max {
            let Some(entry) = pd.parked.lock().pop() else {
                return Ok(());
            };
            if let Err(e) = self.retire(cmds, pd, &entry) {
                pd.parked.lock().tried.push(entry);
                return Err(e);
            }
        }
        if pd.parked.lock().is_empty() {
            Ok(())
        } else {
            Err(EAGAIN)
        }
    }

    /// Destroys the AH of an entry that was parked.
    fn retire(&self, cmds: &impl AhCommands, pd: &Domain, entry: &NodeRef<Entry>) -> Result {
        let mut state = entry.state.lock(&pd.waiting);
        match *state {
            // It was used again after it was parked.
            State::Live if entry.users() > 0 => Err(EBUSY),
            State::Live => self
                .destroy(cmds, entry, &mut state)
                .inspect(|()| cmds.observe(entry, Event::Retired)),
            State::Empty | State::Dead => Ok(()),
        }
    }

    /// Destroys the AH of an entry without users.
    fn destroy(&self, cmds: &impl AhCommands, entry: &NodeRef<Entry>, state: &mut State) -> Result {
        // A reset has destroyed it already, and its number may be somebody else's by now.
        if !cmds.is_current(entry.pd().generation) {
            self.bury(entry, state);
            cmds.observe(entry, Event::Outlived);
            return Ok(());
        }
        let start = cmds.start();
        match cmds.destroy_ah(entry.pd(), entry.ah()) {
            Ok(()) => {
                self.bury(entry, state);
                cmds.observe(entry, Event::Destroyed(start));
                Ok(())
            }
            Err(e) => {
                cmds.observe(entry, Event::DestroyFailed(start, e));
                Err(e)
            }
        }
    }

    /// Takes a locked entry without users and without an AH out of the table.
    fn bury(&self, entry: &NodeRef<Entry>, state: &mut State) {
        *state = State::Dead;
        self.table.remove(entry);
    }
}
