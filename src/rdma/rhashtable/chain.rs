// SPDX-License-Identifier: GPL-2.0

//! A list of nodes that needs no memory of its own.

use super::NodeRef;
use core::{mem, ptr};

/// A node's place on a chain.
pub(super) enum Link<T> {
    /// It is on none.
    Free,
    /// It is on one, above this node.
    Above(Option<NodeRef<T>>),
}

/// A stack of references to nodes, linked through the nodes themselves.
///
/// For what must be remembered when something failed: pushing cannot fail for lack of memory.
/// A node is in at most one chain, at most once.
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
        let mut link = node.link.lock();
        if matches!(*link, Link::Above(_)) {
            return;
        }
        *link = Link::Above(self.top.take());
        drop(link);
        self.top = Some(node);
    }

    /// Takes the node off that was put on last.
    pub fn pop(&mut self) -> Option<NodeRef<T>> {
        let node = self.top.take()?;
        let link = mem::replace(&mut *node.link.lock(), Link::Free);
        if let Link::Above(below) = link {
            self.top = below;
        }
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
