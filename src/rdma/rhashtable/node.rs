// SPDX-License-Identifier: GPL-2.0

//! The nodes of a [`Table`](super::Table) and references to them.

use super::{
    chain::Link,
    Key, //
};
use crate::{bindings, count::Count};
use core::{mem, ops::Deref, ptr::NonNull};
use kernel::{
    prelude::*,
    types::Opaque, //
};

/// What a table holds: a `T` and what is needed to find, count and chain it.
///
/// It is never dropped: its memory goes back by `kfree_rcu()`. So `T` must not need a drop, which
/// [`Node::alloc`] checks at build time. The link does not need one either: a node that is freed
/// is on no chain, which would hold a reference.
///
/// # Invariants
///
/// - The node was allocated by `kmalloc()`, with `header` at offset 0.
/// - `references` counts the [`NodeRef`]s, the tables and the [`Chain`](super::Chain)s that hold
///   the node, and its users as one; at zero the memory is given to `kfree_rcu()`, once.
/// - `users` counts the [`User`](super::User)s.
/// - A node is only ever seen through a shared reference to one that [`Node::alloc`] made.
#[repr(C)]
#[pin_data]
pub struct Node<T> {
    header: Opaque<bindings::rdma_rht_node>,
    references: Count,
    pub(super) users: Count,
    pub(super) link: Link<T>,
    #[pin]
    value: T,
}

impl<T> Node<T> {
    /// Allocates a node that is in no table.
    ///
    /// # Errors
    ///
    /// `ENOMEM` when there is no memory for it.
    pub(super) fn alloc(key: &Key, init: impl PinInit<T>) -> Result<NodeRef<T>> {
        const {
            assert!(
                !mem::needs_drop::<T>(),
                "a node's value is freed without drop"
            )
        };
        const { assert!(mem::offset_of!(Self, header) == 0) };

        let header = bindings::rdma_rht_node {
            key: *key,
            ..pin_init::zeroed()
        };
        // INVARIANT: A `KBox` is memory from `kmalloc()`; the one reference is the one returned.
        let node = KBox::pin_init(
            pin_init!(Self {
                header: Opaque::new(header),
                references: Count::new(1),
                users: Count::new(0),
                link: Link::free(),
                value <- init,
            }),
            GFP_KERNEL_ACCOUNT,
        )?;

        // SAFETY: The node stays where it is until it is freed: only shared references to it are
        // made from here on. `KBox::into_raw` never returns a null pointer. The node's one reference
        // is ours.
        Ok(unsafe {
            let node = KBox::into_raw(Pin::into_inner_unchecked(node));
            NodeRef::from_raw(NonNull::new_unchecked(node))
        })
    }

    /// Takes a reference to the node, unless its last one is gone.
    pub(super) fn try_ref(&self) -> Option<NodeRef<T>> {
        if !self.references.inc_unless_zero() {
            return None;
        }
        // SAFETY: The reference just taken is nobody else's.
        Some(unsafe { NodeRef::from_raw(NonNull::from(self)) })
    }

    /// What it is found by.
    pub fn key(&self) -> &Key {
        // SAFETY: The header is valid, and its key is only written before there is a node.
        unsafe { &(*self.header.get()).key }
    }

    /// The number of users, which may have changed by the time it is looked at.
    pub fn users(&self) -> i32 {
        self.users.read()
    }

    /// Whether it is on a [`Chain`](super::Chain), which may have changed by the time it is looked
    /// at.
    pub fn is_chained(&self) -> bool {
        self.link.is_chained()
    }
}

impl<T> Deref for Node<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

/// A counted reference to a node of a table.
///
/// # Invariants
///
/// The pointee is a valid node, of whose `references` this is one.
pub struct NodeRef<T>(NonNull<Node<T>>);

// SAFETY: A `NodeRef` gives shared access to `T`, and the last one frees it, on any thread.
unsafe impl<T: Send + Sync> Send for NodeRef<T> {}

// SAFETY: A shared `NodeRef` can be cloned on any thread, which is as sending one.
unsafe impl<T: Send + Sync> Sync for NodeRef<T> {}

impl<T> NodeRef<T> {
    /// Takes over a reference.
    ///
    /// # Safety
    ///
    /// `node` is valid, and the caller has a reference to it, which it gives up.
    pub(super) unsafe fn from_raw(node: NonNull<Node<T>>) -> Self {
        // INVARIANT: By the precondition.
        NodeRef(node)
    }

    /// Takes over a reference to the node with this header.
    ///
    /// # Safety
    ///
    /// `header` is that of a valid `Node<T>`, and the caller has a reference to it, which it
    /// gives up.
    pub(super) unsafe fn from_header(header: *mut bindings::rdma_rht_node) -> Self {
        // SAFETY: By the precondition `header` is valid, so not null; it is at offset 0.
        unsafe { Self::from_raw(NonNull::new_unchecked(header.cast())) }
    }

    /// Gives the reference away, to be taken over by [`NodeRef::from_raw`] later.
    pub(super) fn leak(self) -> NonNull<Node<T>> {
        mem::ManuallyDrop::new(self).0
    }

    /// Where the node is.
    pub(super) fn as_ptr(&self) -> *mut Node<T> {
        self.0.as_ptr()
    }

    /// The C part of the node.
    pub(super) fn header(&self) -> *mut bindings::rdma_rht_node {
        self.header.get()
    }
}

impl<T> Clone for NodeRef<T> {
    fn clone(&self) -> Self {
        self.references.inc();
        NodeRef(self.0)
    }
}

impl<T> Deref for NodeRef<T> {
    type Target = Node<T>;

    #[inline]
    fn deref(&self) -> &Node<T> {
        // SAFETY: By the type invariant the node is valid as long as `self` is.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for NodeRef<T> {
    fn drop(&mut self) {
        if self.references.dec_and_test() {
            // SAFETY:
            // - By the invariants of `Node` it came from `kmalloc()`, with the header at its
            //   start, and is given back only here, by whoever takes the last reference away.
            // - It is in no table: a table in which it was would hold a reference. Readers that
            //   found it before it was taken out are waited for by `kfree_rcu()`.
            unsafe { bindings::rdma_shim_rht_free(self.header()) };
        }
    }
}
