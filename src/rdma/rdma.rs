// SPDX-License-Identifier: GPL-2.0

//! Safe abstractions over the kernel's RDMA core.
//!
//! All unsafe code of the module lives in this crate, and it knows nothing of
//! any particular device: another RDMA driver could be written on it. The
//! generated bindings never leave it.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod alloc;
pub mod attr;
mod bindings;
mod callbacks;
pub mod count;
pub mod cq;
pub mod debugfs;
pub mod deferred;
pub mod destroy;
pub mod device;
pub mod dma;
pub mod host;
pub mod irq;
#[cfg(CONFIG_KUNIT = "y")]
mod layout;
pub mod mmap;
mod object;
pub mod pci;
pub mod pci_driver;
pub mod percpu;
pub mod provider;
pub mod qp;
pub mod queue_memory;
pub mod ratelimit;
pub mod reach;
pub mod rhashtable;
pub mod small_mutex;
pub mod stats;
pub mod sync;
pub mod tracepoint;
pub mod udata;
pub mod umem;
pub mod uverbs;
pub mod wire;

/// The prefix of this crate's log lines, as the module's root has it.
#[doc(hidden)]
pub(crate) const __LOG_PREFIX: &[u8] = b"efa\0";
