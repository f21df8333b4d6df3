// SPDX-License-Identifier: GPL-2.0

//! A walk over all nodes of a table that holds no lock, and nothing at all between its steps.
//!
//! The C walker stays registered with the table from its first step to its last. A reader of a file
//! may never come back, and may outlive the table: so a walk is nothing but a place here.

use super::{
    node::{
        Node,
        NodeRef, //
    },
    Table, //
};
use crate::bindings;
use core::{
    iter,
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::sync::rcu;
use pin_init::Zeroable;

/// Nodes of a bucket that are visited at once. Few buckets have more: chains are kept short.
const AT_ONCE: usize = 16;

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
    /// `f` holds a reference to the node and no lock, so it may sleep. Nodes that come or go
    /// meanwhile may be seen or not, and all may be seen twice while the table grows or shrinks.
    pub fn visit(&self, cursor: &mut Cursor, f: impl FnMut(&Node<T>)) -> bool {
        self.visit_by::<AT_ONCE>(cursor, f)
    }

    /// The same with references to at most `N` nodes at once.
    fn visit_by<const N: usize>(&self, cursor: &mut Cursor, mut f: impl FnMut(&Node<T>)) -> bool {
        let start = *cursor;
        let mut last = None;
        loop {
            *cursor = start;
            let Some((nodes, are_all)) = self.nodes_after::<N>(cursor, last.as_ref()) else {
                return false;
            };
            for node in nodes.iter().flatten() {
                f(node);
            }
            if are_all {
                return true;
            }
            last = nodes.into_iter().flatten().last();
        }
    }

    /// The `N` nodes behind `last` in the next bucket that has any, or from its start where `last` is
    /// not there any more, and whether these are all. The cursor is behind that bucket then.
    fn nodes_after<const N: usize>(
        &self,
        cursor: &mut Cursor,
        last: Option<&NodeRef<T>>,
    ) -> Option<([Option<NodeRef<T>>; N], bool)> {
        let guard = rcu::read_lock();
        let bucket = self.next_bucket(cursor, &guard)?;
        let is_last = |node: &Node<T>| last.is_some_and(|last| core::ptr::eq(&**last, node));
        // One way along the chain: others take nodes out of it meanwhile.
        let mut rest = bucket.nodes();
        if !rest.any(is_last) {
            rest = bucket.nodes();
        }

        let mut nodes = [const { None }; N];
        for (place, node) in nodes.iter_mut().zip(&mut rest) {
            // None where the last reference to it is just going away.
            *place = node.try_ref();
        }
        Some((nodes, rest.next().is_none()))
    }

    /// The next bucket that has a node. The cursor is behind that bucket then.
    fn next_bucket<'rcu>(
        &'rcu self,
        cursor: &mut Cursor,
        guard: &'rcu rcu::Guard,
    ) -> Option<Bucket<'rcu, T>> {
        let mut table = self.bucket_table_of(cursor, guard);
        while let Some(current) = table {
            if cursor.seed != current.seed() {
                *cursor = Cursor {
                    seed: current.seed(),
                    bucket: 0,
                };
            }
            while let Some(bucket) = current.bucket(cursor.bucket) {
                cursor.bucket = cursor.bucket.wrapping_add(1);
                if bucket.first.is_some() {
                    return Some(bucket);
                }
            }
            table = current.future();
        }
        None
    }

    /// The bucket table in which a cursor is; the oldest one where that does not exist.
    fn bucket_table_of<'rcu>(
        &'rcu self,
        cursor: &Cursor,
        guard: &'rcu rcu::Guard,
    ) -> Option<BucketTable<'rcu, T>> {
        let oldest = self.oldest_bucket_table(guard);
        iter::successors(oldest, BucketTable::future)
            .find(|table| table.seed() == cursor.seed)
            .or(oldest)
    }

    /// The bucket table that the nodes are in, or from which they are being moved.
    pub(super) fn oldest_bucket_table<'rcu>(
        &'rcu self,
        _guard: &'rcu rcu::Guard,
    ) -> Option<BucketTable<'rcu, T>> {
        // SAFETY: By the type invariant the table is initialised; the RCU read lock is held.
        let raw = NonNull::new(unsafe { bindings::rdma_shim_rht_table(self.table.get()) })?;
        // INVARIANT: It was found while the RCU read lock is held, as it is during `'rcu`.
        Some(BucketTable { of: self, raw })
    }
}

/// A bucket table that was found.
///
/// # Invariants
///
/// `raw` is one of `of`, and the RCU read lock is held during `'rcu`, before which it was found. So
/// it is valid.
pub(super) struct BucketTable<'rcu, T> {
    of: &'rcu Table<T>,
    raw: NonNull<bindings::bucket_table>,
}

impl<T> Clone for BucketTable<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BucketTable<'_, T> {}

impl<'rcu, T> BucketTable<'rcu, T> {
    /// What it hashes with.
    fn seed(&self) -> u32 {
        // SAFETY: By the type invariants it is valid; the field does not change.
        unsafe { (*self.raw.as_ptr()).hash_rnd }
    }

    /// The number of buckets.
    pub(super) fn size(&self) -> u32 {
        // SAFETY: By the type invariants it is valid; the field does not change.
        unsafe { (*self.raw.as_ptr()).size }
    }

    /// The bucket table to which its nodes are being moved.
    fn future(&self) -> Option<Self> {
        // SAFETY: Both are valid, by the type invariants, and the RCU read lock is held.
        let raw = NonNull::new(unsafe {
            bindings::rdma_shim_rht_future_table(self.of.table.get(), self.raw.as_ptr())
        })?;
        // INVARIANT: It was found just now.
        Some(Self { of: self.of, raw })
    }

    /// A bucket, unless there are fewer.
    fn bucket(&self, number: u32) -> Option<Bucket<'rcu, T>> {
        if number >= self.size() {
            return None;
        }
        // SAFETY: By the type invariants the table is valid; there is a bucket of that number.
        let first = unsafe { bindings::rdma_shim_rht_first(self.raw.as_ptr(), number) };
        // INVARIANT: It was found just now.
        Some(Bucket {
            first: NonNull::new(first),
            _nodes: PhantomData,
        })
    }
}

/// A bucket that was found.
///
/// # Invariants
///
/// `first` is none, or a node of a table of `T`, found before `'rcu`, during which the RCU read
/// lock is held.
struct Bucket<'rcu, T> {
    first: Option<NonNull<bindings::rdma_rht_node>>,
    _nodes: PhantomData<&'rcu Node<T>>,
}

impl<'rcu, T> Bucket<'rcu, T> {
    /// The nodes in it.
    fn nodes(&self) -> impl Iterator<Item = &'rcu Node<T>> {
        iter::successors(self.first, |node| {
            // SAFETY: By the type invariants the node was found in the bucket, and the RCU read
            // lock is held since.
            NonNull::new(unsafe { bindings::rdma_shim_rht_next(node.as_ptr()) })
        })
        // SAFETY: By the invariants of `Table` it is the header of a `Node<T>`; its memory cannot
        // be freed before the RCU read lock is left.
        .map(|node| unsafe { node.cast().as_ref() })
    }
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
    fn a_walk_may_sleep_and_take_out_what_it_sees() -> Result {
        let (table, mut marks) = (table_of(1000)?, marks(1000)?);
        let mut cursor = Cursor::default();
        while table.visit(&mut cursor, |node| {
            mark(&mut marks, node);
            kernel::time::delay::fsleep(kernel::time::Delta::from_micros(1));
            if let Some(node) = table.get(node.key()) {
                table.remove(&node);
            }
        }) {}
        assert!(marks.iter().all(|&seen| seen >= 1));
        assert_eq!(table.nodes(), 0);
        Ok(())
    }

    #[test]
    fn a_bucket_with_more_nodes_than_are_visited_at_once_is_seen_whole() -> Result {
        // So many nodes share buckets.
        let (table, mut marks) = (table_of(1000)?, marks(1000)?);
        let mut cursor = Cursor::default();
        while table.visit_by::<1>(&mut cursor, |node| mark(&mut marks, node)) {}
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
