// SPDX-License-Identifier: GPL-2.0

//! The address handle cache.
//!
//! Newer devices refuse a second CREATE_AH for one (protection domain, remote GID), while
//! applications create the same address handle again and again. So all address handles of one
//! (PD, GID) share one entry here, and with it one address handle of the device.
//!
//! How is in [`protocol`]; what it asks of the device and tells of itself is here. Both name
//! nothing but what a program of the host can give them as well, so that the same source is also
//! tried there, in every order in which threads can meet.

#[cfg(CONFIG_RUST = "y")]
mod listing;
mod protocol;

pub(crate) use self::protocol::{AhCache, AhRef, Domain, Entry};
pub(crate) use rdma::rhashtable::Node;

use kernel::{
    fmt,
    prelude::*, //
};
use rdma::{
    attr::Gid,
    rhashtable::Key, //
};

/// A protection domain of the device.
///
/// Its number alone is not enough: after a device reset the numbers start anew.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PdId {
    /// The reset generation in which the device handed the number out.
    pub(crate) generation: u32,
    /// The number of the protection domain in device commands.
    pub(crate) number: u16,
}

impl fmt::Display for PdId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

/// The device commands that the cache needs.
pub(crate) trait AhCommands: Observer {
    /// Whether objects of this reset generation are still alive on the device.
    fn is_current(&self, generation: u32) -> bool;

    /// Sends CREATE_AH; returns the address handle number.
    fn create_ah(&self, pd: PdId, gid: &Gid) -> Result<u16>;

    /// Sends DESTROY_AH.
    fn destroy_ah(&self, pd: PdId, ah: u16) -> Result;
}

/// Somebody who is told what happens in the cache.
pub(crate) trait Observer {
    /// When a command was sent; `()` for an observer that measures no time.
    type Start;

    /// Called before a command is sent.
    fn start(&self) -> Self::Start;

    /// Called when something happened to `entry`: also for each hit, and for others than hits
    /// with the entry's mutex held.
    fn observe(&self, entry: &Node<Entry>, event: Event<Self::Start>);
}

/// Something that happened in the cache.
///
/// An [`AhCache::get`] that succeeds ends with `Hit`, `Joined`, `Reused` or `Created`.
pub(crate) enum Event<S> {
    /// The caller became one more user, without the mutex.
    Hit,
    /// There is no AH for the key: CREATE_AH is sent next.
    Miss,
    /// Another thread created the AH while the caller waited for the mutex.
    Joined,
    /// The entry died while the caller waited for the mutex: it looks the key up again.
    Restarted,
    /// A parked AH has a user again; no command was sent.
    Reused,
    /// CREATE_AH succeeded; the caller is the first user.
    Created(S),
    /// CREATE_AH failed; the entry is gone.
    CreateFailed(S, Error),
    /// DESTROY_AH succeeded, after the last user left or as the PD is freed; the entry is gone.
    Destroyed(S),
    /// DESTROY_AH failed; the entry is parked.
    DestroyFailed(S, Error),
    /// A device reset had ended the AH before its last user left; the entry is gone.
    Outlived,
    /// What was just destroyed or outlived had been parked, and its PD is being freed.
    Retired,
}

/// The key of a (PD, GID) in one reset generation.
fn key(pd: PdId, gid: &Gid) -> Key {
    let mut key = [pd.generation, pd.number.into(), 0, 0, 0, 0];
    for (word, bytes) in key.iter_mut().skip(2).zip(gid.0.chunks_exact(4)) {
        // As they lie in memory, which is one load for each word.
        if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
            *word = u32::from_ne_bytes(bytes);
        }
    }
    key
}

/// What the key of an entry says. An entry has it only once: there may be 100,000 of them.
pub(crate) trait Keyed {
    /// The protection domain of its users.
    fn pd(&self) -> PdId;

    /// The remote address.
    fn gid(&self) -> Gid;
}

impl Keyed for Node<Entry> {
    fn pd(&self) -> PdId {
        let [generation, number, ..] = *self.key();
        PdId {
            generation,
            // CAST: `key` made it from a `u16`.
            number: number as u16,
        }
    }

    fn gid(&self) -> Gid {
        let mut gid = Gid([0; 16]);
        for (bytes, word) in gid.0.chunks_exact_mut(4).zip(self.key().iter().skip(2)) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        gid
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod tests;
