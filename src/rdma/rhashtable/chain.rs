// SPDX-License-Identifier: GPL-2.0

//! A list of nodes that needs no memory of its own.

use super::node::{
    Node,
    NodeRef, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::sync::atomic::{
    ordering::Relaxed,
    Atomic, //
};

/// A node's place on a chain.
///
/// It orders nothing but itself: while a node is on a chain only who has that chain writes it.
///
/// # Invariants
///
/// It is null for a node that is on no chain. For the one at the bottom of a chain it is the node
/// itself, and for others the node below, to which it holds a reference.
pub(super) struct Link<T>(Atomic<*mut Node<T>>);

impl<T> Link<T> {
    /// That of a node that is on no chain.
    pub(super) fn free() -> Self {
        // INVARIANT: A null pointer says so.
        Link(Atomic::new(ptr::null_mut()))
    }

    /// Whether the node is on a chain.
    pub(super) fn is_chained(&self) -> bool {
        !self.0.load(Relaxed).is_null()
    }
}

/// A stack of references to nodes, linked through the nodes themselves.
///
/// For what must be remembered when something failed: pushing cannot fail for lack of memory.
/// A node is in at most one chain, at most once.
///
/// # Invariants
///
/// The links of the nodes on it lead from `top` to the bottom.
pub struct Chain<T> {
    top: Option<NodeRef<T>>,
}

impl<T> Chain<T> {
    /// An empty chain.
    pub const fn new() -> Self {
        Chain { top: None }
    }

    /// Says whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    /// Puts `node` on the chain, unless it is on a chain already: then the reference is dropped.
    pub fn push(&mut self, node: NodeRef<T>) {
        let below = self.top.as_ref().unwrap_or(&node).as_ptr();
        let free = ptr::null_mut();
        // INVARIANT: The node was on no chain, and is on this one now: its link is itself, or has the
        // reference that was `top`.
        if node.link.0.cmpxchg(free, below, Relaxed).is_err() {
            return;
        }
        if let Some(below) = self.top.replace(node) {
            below.leak();
        }
    }

    /// Takes the node off that was put on last.
    pub fn pop(&mut self) -> Option<NodeRef<T>> {
        let node = self.top.take()?;
        let below = node.link.0.load(Relaxed);
        if !ptr::eq(below, &*node) {
            // SAFETY: By the invariants the node was on this chain, so `below` is not null. It is not
            // the bottom, so its link has a reference to `below`, which is `top`'s from here on.
            self.top = Some(unsafe { NodeRef::from_raw(NonNull::new_unchecked(below)) });
        }
        // INVARIANT: The node is on no chain now.
        node.link.0.store(ptr::null_mut(), Relaxed);
        Some(node)
    }

    /// Takes `node` off the chain, if it is on this one. The others stay in their order.
    pub fn remove(&mut self, node: &NodeRef<T>) {
        let mut passed = Chain::new();
        while let Some(top) = self.pop() {
            if ptr::eq(&*top, &**node) {
                break;
            }
            passed.push(top);
        }
        while let Some(top) = passed.pop() {
            self.push(top);
        }
    }
}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Chain<T> {
    /// Drops the references one by one: by default each would be dropped inside its predecessor.
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
