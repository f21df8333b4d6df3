// SPDX-License-Identifier: GPL-2.0

//! A walk over all nodes of a table that holds no lock, and nothing at all between its steps.
//!
//! The C walker stays registered with the table from its first step to its last. A reader of a file
//! may never come back, and may outlive the table: so a walk is nothing but a place here.

use super::{
    node::Node,
    Table, //
};
use crate::bindings;
use core::{iter, ptr::NonNull};
use kernel::sync::rcu;
use pin_init::Zeroable;

/// A place in a walk over a table: before its start where it is all zeroes.
///
/// A table that grows or shrinks moves its nodes, bucket by bucket, to a new bucket table. So the
/// place names the bucket table, by its seed; where that is gone the walk starts again in what has
/// all nodes now. A node that is in the table throughout is seen, at least once.
#[derive(Clone, Copy, Default, Zeroable)]
pub struct Cursor {
    seed: u32,
    bucket: u32,
}

impl<T> Table<T> {
    /// Calls `f` for each node of the next bucket that has any, and says whether there was one.
    ///
    /// `f` must not sleep. Nodes that come or go meanwhile may be seen or not, and all may be seen
    /// twice while the table grows or shrinks.
    pub fn visit(&self, cursor: &mut Cursor, mut f: impl FnMut(&Node<T>)) -> bool {
        let _guard = rcu::read_lock();
        let Some(first) = self.next_bucket(cursor) else {
            return false;
        };
        // SAFETY: The node was found in a bucket, and the RCU read lock is held since.
        let chain = iter::successors(Some(first), |node| unsafe { next_node(*node) });
        for node in chain {
            // SAFETY: By the invariants of `Table` it is the header of a `Node<T>`; its memory
            // cannot be freed before the RCU read lock is left, and is only read.
            f(unsafe { node.cast().as_ref() });
        }
        true
    }

    /// The first node of the next bucket that has any. The cursor is behind that bucket then.
    ///
    /// The caller holds the RCU read lock.
    fn next_bucket(&self, cursor: &mut Cursor) -> Option<NonNull<bindings::rdma_rht_node>> {
        let mut table = self.bucket_table_of(cursor);
        while let Some(current) = table {
            // SAFETY: A bucket table that was found is valid as long as the RCU read lock is held.
            let (seed, size) = unsafe { ((*current.as_ptr()).hash_rnd, (*current.as_ptr()).size) };
            if cursor.seed != seed {
                *cursor = Cursor { seed, bucket: 0 };
            }
            while cursor.bucket < size {
                // SAFETY: As above; there is a bucket of that number.
                let first =
                    unsafe { bindings::rdma_shim_rht_first(current.as_ptr(), cursor.bucket) };
                cursor.bucket = cursor.bucket.wrapping_add(1);
                if let Some(first) = NonNull::new(first) {
                    return Some(first);
                }
            }
            table = self.future_table(current);
        }
        None
    }

    /// The bucket table in which a cursor is; the oldest one where that does not exist.
    ///
    /// The caller holds the RCU read lock.
    fn bucket_table_of(&self, cursor: &Cursor) -> Option<NonNull<bindings::bucket_table>> {
        // SAFETY: By the type invariant the table is initialised; the RCU read lock is held.
        let oldest = NonNull::new(unsafe { bindings::rdma_shim_rht_table(self.table.get()) });
        iter::successors(oldest, |table| self.future_table(*table))
            // SAFETY: A bucket table that was found is valid as long as the lock is held.
            .find(|table| unsafe { (*table.as_ptr()).hash_rnd } == cursor.seed)
            .or(oldest)
    }

    /// The bucket table to which the nodes of `table` are being moved.
    ///
    /// The caller holds the RCU read lock since `table` was found.
    fn future_table(
        &self,
        table: NonNull<bindings::bucket_table>,
    ) -> Option<NonNull<bindings::bucket_table>> {
        // SAFETY: Both are valid, by the type invariant and what the caller does.
        NonNull::new(unsafe {
            bindings::rdma_shim_rht_future_table(self.table.get(), table.as_ptr())
        })
    }
}

/// The node behind another in its bucket.
///
/// # Safety
///
/// The RCU read lock is held since `node` was found in a table.
unsafe fn next_node(
    node: NonNull<bindings::rdma_rht_node>,
) -> Option<NonNull<bindings::rdma_rht_node>> {
    // SAFETY: By the precondition the node is valid.
    NonNull::new(unsafe { bindings::rdma_shim_rht_next(node.as_ptr()) })
}

#[kernel::macros::kunit_tests(rdma_rhashtable_walk)]
mod tests {
    use super::{super::KEY_WORDS, *};
    use kernel::prelude::*;

    fn table_of(count: u32) -> Result<Pin<KBox<Table<u32>>>> {
        let table = KBox::pin_init(Table::new(), GFP_KERNEL)?;
        for i in 0..count {
            table.get_or_insert(&[i; KEY_WORDS], i)?;
        }
        Ok(table)
    }

    fn marks(count: u32) -> Result<KVec<u32>> {
        Ok(KVec::from_elem(0, count as usize, GFP_KERNEL)?)
    }

    fn mark(marks: &mut KVec<u32>, node: &Node<u32>) {
        if let Some(mark) = marks.get_mut(**node as usize) {
            *mark += 1;
        }
    }

    #[test]
    fn a_walk_sees_every_node_once() -> Result {
        for count in [0, 1, 1000] {
            let (table, mut marks) = (table_of(count)?, marks(count)?);
            // Growing happens in the background, and the walk goes on through it.
            let mut cursor = Cursor::default();
            while table.visit(&mut cursor, |node| mark(&mut marks, node)) {}
            assert!(marks.iter().all(|&seen| seen >= 1));
            assert!(!table.visit(&mut cursor, |node| mark(&mut marks, node)));
        }
        Ok(())
    }

    #[test]
    fn a_walk_of_a_table_that_grows_misses_nothing_that_was_there() -> Result {
        let (table, mut marks) = (table_of(100)?, marks(100)?);
        let mut cursor = Cursor::default();
        assert!(table.visit(&mut cursor, |node| mark(&mut marks, node)));
        for i in 100..5000 {
            table.get_or_insert(&[i; KEY_WORDS], i)?;
        }
        while table.visit(&mut cursor, |node| mark(&mut marks, node)) {}
        assert!(marks.iter().all(|&seen| seen >= 1));
        Ok(())
    }

    #[test]
    fn a_walk_tells_which_nodes_are_chained() -> Result {
        let table = table_of(1)?;
        let chained = || {
            let mut chained = None;
            table.visit(&mut Cursor::default(), |node| {
                chained = Some(node.is_chained())
            });
            chained
        };
        assert_eq!(chained(), Some(false));
        let mut chain = super::super::Chain::new();
        chain.push(table.get(&[0; KEY_WORDS]).ok_or(EINVAL)?);
        assert_eq!(chained(), Some(true));
        drop(chain.pop());
        assert_eq!(chained(), Some(false));
        Ok(())
    }
}
