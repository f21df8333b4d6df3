// SPDX-License-Identifier: GPL-2.0

//! What is in the cache, for people who look.

use super::{
    AhCache,
    Entry,
    Node, //
};
use rdma::rhashtable::Cursor;

/// What an entry without users is, or is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// It has users, and an AH.
    Live,
    /// It has an AH and no users: the device refused to destroy it.
    Parked,
    /// A command for it is running.
    Busy,
}

impl Condition {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Parked => "parked",
            Self::Busy => "busy",
        }
    }

    fn of(users: i32, is_chained: bool) -> Self {
        match (users, is_chained) {
            // It may have got one while its PD is being freed.
            (1.., _) => Self::Live,
            (_, true) => Self::Parked,
            (_, false) => Self::Busy,
        }
    }
}

impl AhCache {
    /// The number of entries, which may have changed by the time it is looked at.
    pub(crate) fn len(&self) -> usize {
        self.table.nodes()
    }

    /// The number of buckets that they are in, which follows theirs with some delay.
    pub(crate) fn buckets(&self) -> u32 {
        self.table.buckets()
    }

    /// Calls `f` for the next few entries, and says whether there were any; see
    /// [`Table::visit`](rdma::rhashtable::Table::visit).
    pub(crate) fn visit(
        &self,
        cursor: &mut Cursor,
        mut f: impl FnMut(&Node<Entry>, i32, Condition),
    ) -> bool {
        self.table.visit(cursor, |entry| {
            let users = entry.users();
            f(entry, users, Condition::of(users, entry.is_chained()));
        })
    }
}

#[kernel::macros::kunit_tests(efa_ah_cache_listing)]
mod tests {
    use super::*;

    #[test]
    fn users_make_an_entry_live_wherever_it_is() {
        for (users, is_chained, condition) in [
            (1, false, Condition::Live),
            (i32::MAX, true, Condition::Live),
            (0, true, Condition::Parked),
            (0, false, Condition::Busy),
        ] {
            assert_eq!(Condition::of(users, is_chained), condition);
        }
    }
}
