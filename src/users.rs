// SPDX-License-Identifier: GPL-2.0

//! Who still uses an object of the device.
//!
//! The RDMA core destroys objects in the right order, but the device may refuse, or a process may
//! still reach what is the object's: then an object stays on the device though the core has
//! forgotten it, and what it was made from (its protection domain, its completion queues, its
//! doorbell page) must stay there too.

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
pub(crate) struct Users(Arc<Counts>);

struct Counts {
    all: Atomic<usize>,
    /// Those that stay only because a process can still reach them.
    lingering: Atomic<usize>,
}

impl Users {
    /// An object that nobody uses.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn new() -> Result<Self> {
        let counts = Counts {
            all: Atomic::new(0),
            lingering: Atomic::new(0),
        };
        Ok(Self(Arc::new(counts, GFP_KERNEL_ACCOUNT)?))
    }

    /// Adds a user, for as long as the result lives.
    ///
    /// The caller makes sure that the object exists: it was given to the running callback.
    pub(crate) fn add(&self) -> Use {
        self.0.all.add(1, Relaxed);
        Use(self.0.clone())
    }

    /// How many users are only there because a process can still reach them.
    pub(crate) fn lingering(&self) -> usize {
        self.0.lingering.load(Relaxed)
    }

    /// Says whether somebody uses the object. Users are only added before its destroying callback.
    pub(crate) fn any(&self) -> bool {
        self.0.all.load(Acquire) != 0
    }
}

/// One use of an object of the device.
pub(crate) struct Use(Arc<Counts>);

impl Drop for Use {
    #[inline(never)]
    fn drop(&mut self) {
        // The device let go of the user before; whoever sees the count must see that too.
        self.0.all.fetch_sub(1, Release);
    }
}

/// A use by somebody who may have to stay only because a process can still reach it.
pub(crate) struct LingeringUse {
    used: Use,
    lingers: Atomic<bool>,
}

impl From<Use> for LingeringUse {
    /// It does not linger so far.
    fn from(used: Use) -> Self {
        Self {
            used,
            lingers: Atomic::new(false),
        }
    }
}

impl LingeringUse {
    /// Notes that the user is only there because a process can still reach it.
    pub(crate) fn linger(&self) {
        self.try_linger(usize::MAX);
    }

    /// The same, unless `limit` users of the object linger already. Says whether it does now.
    pub(crate) fn try_linger(&self, limit: usize) -> bool {
        if self.lingers.xchg(true, Relaxed) {
            return true;
        }
        if self.used.0.lingering.fetch_add(1, Relaxed) < limit {
            return true;
        }
        self.end_linger();
        false
    }

    /// Notes that no process can reach the user any more.
    pub(crate) fn end_linger(&self) {
        if self.lingers.xchg(false, Relaxed) {
            self.used.0.lingering.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for LingeringUse {
    #[inline(never)]
    fn drop(&mut self) {
        self.end_linger();
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

    #[test]
    fn a_user_lingers_once_and_until_it_goes() -> Result {
        let users = Users::new()?;
        let first = LingeringUse::from(users.add());
        let second = users.add();
        first.linger();
        first.linger();
        assert_eq!(users.lingering(), 1);
        drop(second);
        assert_eq!(users.lingering(), 1);
        drop(first);
        assert_eq!(users.lingering(), 0);
        assert!(!users.any());
        Ok(())
    }

    #[test]
    fn only_so_many_users_linger() -> Result {
        let users = Users::new()?;
        let (first, second) = (users.add(), users.add());
        let (first, second) = (LingeringUse::from(first), LingeringUse::from(second));
        assert!(first.try_linger(1) && first.try_linger(1));
        assert!(!second.try_linger(1));
        first.end_linger();
        assert!(second.try_linger(1));
        drop(first);
        assert_eq!(users.lingering(), 1);
        Ok(())
    }
}
