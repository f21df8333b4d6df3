// SPDX-License-Identifier: GPL-2.0

//! Mapping parts of a device, and queues, into processes.

use super::Provider;

/// A device of which processes can map something: what its objects were given as
/// [`Mappings`](crate::mmap::Mappings).
pub trait UserMmap: Provider {
    /// Is told that a process could not map what it asked for.
    fn mmap_failed(dev: &Self::Data<'_>);
}
