// SPDX-License-Identifier: GPL-2.0

//! A resizable hash table of reference-counted nodes, with lookups that take no lock.
//!
//! C header: [`include/linux/rhashtable.h`](srctree/include/linux/rhashtable.h)
//!
//! The table holds one reference to each node in it. A node's memory is given back only
//! after an RCU grace period, so that a concurrent lookup never reads freed memory.
//!
//! A node also has users, whose number says something to those who share it: see [`User`].
//!
//! Keys may come from processes that mean harm. Each table hashes with a random seed of its own, so
//! that nobody can know which keys share a bucket, and draws another one when a chain grows too
//! long. It grows and shrinks with what is in it. Threads that change it wait for one another only
//! if they are at the same bucket.
//!
//! Not implemented: keys of other sizes than [`KEY_WORDS`] (the C inlines want constant
//! parameters).

mod chain;
mod node;
mod user;
#[cfg(CONFIG_RUST = "y")]
mod walk;

pub use self::{
    chain::Chain,
    node::{Node, NodeRef},
    user::User, //
};
// Not where the table is tried on the host, which has no buckets to walk over.
#[cfg(CONFIG_RUST = "y")]
pub use self::walk::Cursor;

use crate::bindings;
use core::{
    marker::PhantomData,
    ptr::{self, NonNull}, //
};
use kernel::{
    error::{from_err_ptr, to_result},
    ffi::c_void,
    prelude::*,
    sync::rcu,
    types::Opaque, //
};

/// The number of 32-bit words in a key.
pub const KEY_WORDS: usize = bindings::RDMA_RHT_KEY_WORDS as usize;

/// A key: compared and hashed as bytes, so that all of them count, padding included.
pub type Key = [u32; KEY_WORDS];

/// A hash table of nodes with a `T` each, at most one for a key.
///
/// # Invariants
///
/// - `table` is an initialised `struct rhashtable`.
/// - Everything in it is the header of a `Node<T>`, to which the table holds one reference.
#[pin_data(PinnedDrop)]
pub struct Table<T> {
    #[pin]
    table: Opaque<bindings::rhashtable>,
    _nodes: PhantomData<NodeRef<T>>,
}

// SAFETY: The table hands out and drops references to `T` on any thread, and the C table may be
// used from any thread.
unsafe impl<T: Send + Sync> Send for Table<T> {}

// SAFETY: All methods are calls into rhashtable, which does its own locking; they hand out shared
// references to `T`.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

impl<T> Table<T> {
    /// Creates an empty table.
    ///
    /// # Errors
    ///
    /// `ENOMEM` when the first bucket table cannot be allocated.
    pub fn new() -> impl PinInit<Self, Error> {
        // INVARIANT: `rdma_shim_rht_init()` initialises the table, which is empty then.
        try_pin_init!(Self {
            table <- Opaque::try_ffi_init(|slot| {
                // SAFETY: `slot` is valid, pinned memory for a `struct rhashtable`.
                to_result(unsafe { bindings::rdma_shim_rht_init(slot) })
            }),
            _nodes: PhantomData,
        })
    }

    /// Looks `key` up and takes a reference to its node.
    ///
    /// `None` where there is no node, or where the last reference to it is just going away.
    pub fn get(&self, key: &Key) -> Option<NodeRef<T>> {
        self.look_up(key, Node::try_ref)
    }

    /// Looks `key` up and becomes one more user of its node.
    ///
    /// `None` where there is no node, or nobody uses it.
    #[inline]
    pub fn join(&self, key: &Key) -> Option<User<T>> {
        self.look_up(key, User::join)
    }

    /// Looks `key` up and calls `take` for its node, in the same RCU read section.
    #[inline]
    fn look_up<R>(&self, key: &Key, take: impl FnOnce(&Node<T>) -> Option<R>) -> Option<R> {
        let _guard = rcu::read_lock();
        // SAFETY:
        // - By the type invariant the table is initialised.
        // - `key` has the table's key length.
        // - The RCU read lock is held.
        let found = unsafe { bindings::rdma_shim_rht_lookup(self.table.get(), key.as_ptr()) };

        // SAFETY: By the type invariant what the table yields is the header of a `Node<T>`; its
        // memory cannot be freed before the RCU read lock is left.
        take(unsafe { NonNull::new(found)?.cast().as_ref() })
    }

    /// Inserts a new node with `init` for `key`, unless there is one: then that one is returned.
    ///
    /// # Errors
    ///
    /// `ENOMEM` when the node or a bucket table cannot be allocated, `E2BIG` when the table is full.
    pub fn get_or_insert(&self, key: &Key, init: impl PinInit<T>) -> Result<NodeRef<T>> {
        let new = Node::alloc(key, init)?;
        loop {
            // Taken before the node can be found, since whoever finds it may remove it at once.
            let table_ref = new.clone();
            let _guard = rcu::read_lock();
            // SAFETY:
            // - By the type invariant the table is initialised.
            // - `new` is a fresh node: it is in no table, and only this loop could insert it.
            let found = from_err_ptr(unsafe {
                bindings::rdma_shim_rht_lookup_or_insert(self.table.get(), new.header())
            })?;

            let Some(found) = NonNull::new(found) else {
                // INVARIANT: The node went in: `table_ref` is the table's.
                table_ref.leak();
                return Ok(new);
            };

            // SAFETY: By the type invariant what the table yields is the header of a `Node<T>`; its
            // memory cannot be freed before the RCU read lock is left.
            if let Some(present) = Node::try_ref(unsafe { found.cast().as_ref() }) {
                return Ok(present);
            }
            // The node found has no holder any more, so the table's reference is gone too, and
            // with it, before, the node's place in the table: the next look will not find it.
        }
    }

    /// Takes `node` out of the table and drops the table's reference to it.
    ///
    /// Returns whether it was in this table.
    pub fn remove(&self, node: &NodeRef<T>) -> bool {
        // SAFETY:
        // - By the type invariant the table is initialised.
        // - `node` is alive; rhashtable compares links, so a node that is elsewhere is not found.
        // - If it was in the table, the table held a reference by the type invariant, which is
        //   nobody's now.
        unsafe {
            let removed = bindings::rdma_shim_rht_remove(self.table.get(), node.header());
            if removed != 0 {
                return false;
            }
            drop(NodeRef::<T>::from_header(node.header()));
        }
        true
    }

    /// The number of nodes in the table, which may have changed by the time it is looked at.
    pub fn nodes(&self) -> usize {
        // SAFETY: By the type invariant the table is initialised.
        let nodes = unsafe { bindings::rdma_shim_rht_len(self.table.get()) };
        // CAST: A `u32` fits a `usize`: the module is for 64-bit machines only (Kconfig).
        nodes as usize
    }

    /// The number of buckets, which follows the number of nodes with some delay.
    #[cfg(CONFIG_RUST = "y")]
    pub fn buckets(&self) -> u32 {
        self.oldest_bucket_table(&rcu::read_lock())
            .map_or(0, |table| table.size())
    }

    /// The bucket of a key, until the table is resized.
    #[cfg(CONFIG_KUNIT = "y")]
    fn bucket(&self, key: &Key) -> u32 {
        // SAFETY: By the type invariant the table is initialised; `key` has its key length.
        unsafe { bindings::rdma_shim_rht_bucket(self.table.get(), key.as_ptr()) }
    }

    /// Drops the table's reference to a node, at the end of the table.
    ///
    /// # Safety
    ///
    /// `node` is what a table of `T` held, and the table does not use it any more.
    unsafe extern "C" fn release(node: *mut c_void, _arg: *mut c_void) {
        // SAFETY: By the precondition `node` is the header of a `Node<T>`, and the table's
        // reference to it is nobody's now.
        drop(unsafe { NodeRef::<T>::from_header(node.cast()) });
    }
}

#[pinned_drop]
impl<T> PinnedDrop for Table<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY:
        // - By the type invariant the table is initialised, and `&mut self` says that nobody else
        //   uses it; lookups end before they return, so there is no RCU reader of the table left.
        // - `release` fits what is in the table, by the type invariant.
        unsafe {
            bindings::rhashtable_free_and_destroy(
                self.table.get(),
                Some(Self::release),
                ptr::null_mut(),
            )
        };
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod tests;
