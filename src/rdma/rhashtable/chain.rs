// SPDX-License-Identifier: GPL-2.0

//! A list of nodes that needs no memory of its own.

use super::{Node, NodeRef};
use core::ptr::NonNull;
use kernel::sync::atomic::ordering::{Acquire, Release};

/// A stack of references to nodes, linked through the nodes themselves.
///
/// For what must be remembered when something failed: pushing cannot fail for lack of memory.
/// A node is in at most one chain, at most once.
///
/// # Invariants
///
/// `head` and the `next` of each node in the chain are references given away by
/// [`NodeRef::leak`], of nodes whose `chained` this chain has set.
pub struct Chain<T> {
    head: Option<NonNull<Node<T>>>,
}

// SAFETY: A chain is a collection of `NodeRef<T>`, which are `Send`.
unsafe impl<T: Send + Sync> Send for Chain<T> {}

impl<T> Chain<T> {
    /// An empty chain.
    pub const fn new() -> Self {
        // INVARIANT: There is no node in it.
        Chain { head: None }
    }

    /// Puts `node` on the chain, unless it is on a chain already: then the reference is dropped.
    pub fn push(&mut self, node: NodeRef<T>) {
        if node.node().chained.xchg(true, Acquire) {
            return;
        }
        // SAFETY: `chained` was clear and is set by us, so `next` belongs to this chain by the
        // invariants of `Node`; `&mut self` makes this the only access.
        unsafe { *node.node().next.get() = self.head };
        // INVARIANT: The reference is given away, the node's `chained` is ours.
        self.head = Some(node.leak());
    }

    /// Takes the node off that was put on last.
    pub fn pop(&mut self) -> Option<NodeRef<T>> {
        // SAFETY: By the type invariant `head` is a reference given away, of which we take over.
        let node = unsafe { NodeRef::from_raw(self.head?) };
        // SAFETY: By the type invariant the node is on this chain, so `next` belongs to it;
        // `&mut self` makes this the only access.
        self.head = unsafe { (*node.node().next.get()).take() };
        node.node().chained.store(false, Release);
        Some(node)
    }
}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Chain<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
