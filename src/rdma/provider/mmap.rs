// SPDX-License-Identifier: GPL-2.0

//! Mapping parts of a device, and queues, into processes.

use super::Provider;
use kernel::prelude::*;

/// A device of which processes can map something: what its objects were given as
/// [`Mappings`](crate::mmap::Mappings).
pub trait UserMmap: Provider {
    /// Is told that a process could not map what it asked for, by the offset that should name it.
    fn mmap_failed(dev: &Self::Data<'_>, offset: u64, error: Error);
}
