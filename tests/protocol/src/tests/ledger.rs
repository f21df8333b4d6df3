// SPDX-License-Identifier: GPL-2.0

//! What the cache told of itself, to be compared with what really happened.

use super::bench::{OTHER_PD, PD, PEER};
use crate::{
    driver::ah_cache::{Entry, Event, Keyed, Node},
    prelude::*,
};
use std::cell::Cell;

#[derive(Default)]
pub struct Ledger {
    pub hits: Cell<u32>,
    pub misses: Cell<u32>,
    pub joined: Cell<u32>,
    pub restarted: Cell<u32>,
    pub reused: Cell<u32>,
    pub created: Cell<u32>,
    pub create_failed: Cell<u32>,
    pub destroyed: Cell<u32>,
    pub destroy_failed: Cell<u32>,
    pub outlived: Cell<u32>,
    pub retired: Cell<u32>,
}

pub fn count(count: &Cell<u32>) {
    count.set(count.get() + 1);
}

impl Ledger {
    /// Enters an event, and checks that it fits the entry.
    pub fn enter(&self, entry: &Node<Entry>, event: &Event<()>) {
        let pd = entry.pd();
        assert!([PD, OTHER_PD].contains(&pd) || pd.generation > PD.generation);
        assert_eq!(entry.gid().0[1..15], PEER.0[1..15]);
        let of = match event {
            Event::Hit => &self.hits,
            Event::Miss => &self.misses,
            Event::Joined => &self.joined,
            Event::Restarted => &self.restarted,
            Event::Reused => &self.reused,
            Event::Created(()) => &self.created,
            Event::CreateFailed((), _) => &self.create_failed,
            Event::Destroyed(()) => &self.destroyed,
            Event::DestroyFailed((), _) => &self.destroy_failed,
            Event::Outlived => &self.outlived,
            Event::Retired => &self.retired,
        };
        count(of);
        if let Event::CreateFailed((), error) | Event::DestroyFailed((), error) = event {
            assert!([EINVAL, EIO].contains(error), "not the device's error");
        }
        let has_users = matches!(
            event,
            Event::Hit | Event::Joined | Event::Reused | Event::Created(())
        );
        assert_eq!(entry.users() > 0, has_users, "users do not fit the event");
        let has_number =
            has_users || matches!(event, Event::Destroyed(()) | Event::DestroyFailed(..));
        assert!(entry.ah() > 0 || !has_number, "there is no AH number");
    }

    /// How many calls of `get` succeeded.
    pub fn got(&self) -> u32 {
        [&self.hits, &self.joined, &self.reused, &self.created]
            .map(Cell::get)
            .iter()
            .sum()
    }
}
