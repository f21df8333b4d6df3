// SPDX-License-Identifier: GPL-2.0

//! Uses of a node.

use super::node::{
    Node,
    NodeRef, //
};
use core::{
    mem::ManuallyDrop,
    ops::Deref,
    ptr::NonNull, //
};

/// A use of a node.
///
/// What its being used says about a node is for those who share it to agree on; a node without
/// users is a node like any other. A use holds the node's memory: from the first user to the last
/// all together have one reference, as the strong references of an `Arc` have one weak one. So
/// whoever becomes one user more, or one less, touches one count only.
///
/// A use that is dropped, and not given back, stays counted for good.
///
/// # Invariants
///
/// The pointee is a node, of whose `users` this is one. As long as there are any, they have one
/// reference to it.
#[must_use = "a use is given back with `leave`"]
pub struct User<T>(NonNull<Node<T>>);

// SAFETY: A `User` gives shared access to `T`, and the last one may free it, on any thread.
unsafe impl<T: Send + Sync> Send for User<T> {}

// SAFETY: A shared `User` gives a `NodeRef` on any thread, which is as sending one.
unsafe impl<T: Send + Sync> Sync for User<T> {}

impl<T> User<T> {
    /// Becomes one more user of a node, unless there is none.
    ///
    /// What the first user's thread wrote before it became one is visible after success.
    #[inline]
    pub fn join(node: &Node<T>) -> Option<Self> {
        // INVARIANT: It was counted just now. There were others, so they have a reference.
        node.users
            .inc_unless_zero()
            .then(|| Self(NonNull::from(node)))
    }

    /// Becomes a user of a node, and the first one where there is none.
    pub fn enter(node: &NodeRef<T>) -> Self {
        if node.users.inc() {
            // The users' reference. Until it is taken `node` holds the node for all of them, and
            // nobody drops it before this user leaves.
            node.clone().leak();
        }
        // INVARIANT: It was counted just now, and the users have a reference: from the first one.
        Self(NonNull::from(&**node))
    }

    /// Gives the use back, unless it is the last one: then it is returned.
    #[inline]
    pub fn leave_unless_last(self) -> Option<Self> {
        (!self.users.dec_unless_one()).then_some(self)
    }

    /// Gives the use back; returns whether it was the last one.
    ///
    /// What other users did before they left is visible to the last one.
    pub fn leave(self) -> bool {
        let is_last = self.users.dec_and_test();
        if is_last {
            // SAFETY: By the type invariant the users had a reference, which is nobody's now: no
            // user is left, and who comes next brings another one.
            drop(unsafe { NodeRef::from_raw(self.0) });
        }
        is_last
    }

    /// A reference to the node, which holds it beyond the use.
    pub fn node_ref(&self) -> NodeRef<T> {
        // SAFETY: By the type invariant the users, of whom this is one, have a reference. It is
        // only lent here, and so not dropped.
        let users_ref = ManuallyDrop::new(unsafe { NodeRef::from_raw(self.0) });
        NodeRef::clone(&users_ref)
    }
}

impl<T> Deref for User<T> {
    type Target = Node<T>;

    #[inline]
    fn deref(&self) -> &Node<T> {
        // SAFETY: By the type invariant the users, of whom this is one, have a reference.
        unsafe { self.0.as_ref() }
    }
}
