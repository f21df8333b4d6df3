// SPDX-License-Identifier: GPL-2.0

//! Who still uses an object of the device.
//!
//! The RDMA core destroys objects in the right order, but the device may refuse: then an object
//! stays on the device though the core has forgotten it, and what it was made from (its
//! protection domain, its completion queues, its doorbell page) must stay there too.

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            ordering::{Acquire, Relaxed, Release},
            Atomic, //
        },
        Arc, //
    }, //
};

/// The users of one object of the device.
pub(crate) struct Users(Arc<Atomic<usize>>);

impl Users {
    /// An object that nobody uses.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(Arc::new(Atomic::new(0), GFP_KERNEL)?))
    }

    /// Adds a user, for as long as the result lives.
    ///
    /// The caller makes sure that the object exists: it was given to the running callback.
    pub(crate) fn add(&self) -> Use {
        self.0.add(1, Relaxed);
        Use(self.0.clone())
    }

    /// Says whether somebody uses the object. Users are only added before its destroying callback.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Acquire) != 0
    }
}

/// One use of an object of the device.
pub(crate) struct Use(Arc<Atomic<usize>>);

impl Drop for Use {
    fn drop(&mut self) {
        // The device let go of the user before; whoever sees the count must see that too.
        self.0.fetch_sub(1, Release);
    }
}

#[kernel::macros::kunit_tests(efa_users)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_used_until_its_last_user_goes() -> Result {
        let users = Users::new()?;
        assert!(!users.any());
        let first = users.add();
        let second = users.add();
        drop(first);
        assert!(users.any());
        drop(second);
        assert!(!users.any());
        Ok(())
    }
}
