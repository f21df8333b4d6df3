// SPDX-License-Identifier: GPL-2.0

//! The address handle cache on the host, run in every order in which its threads can meet.
//!
//! `src/ah_cache*`, `src/rdma/count.rs`, `src/rdma/small_mutex.rs` and `src/rdma/rhashtable*` are
//! compiled here unchanged.
//! This crate is the kernel to them: under the names that they import it has loom's atomics and
//! locks, RCU, memory that notices who touches it after it was freed, and the C hash table.

#![cfg(test)]

// For the sources it is the crates `kernel`, `pin_init` and `rdma`.
extern crate self as kernel;
extern crate self as pin_init;
extern crate self as rdma;

pub mod attr;
pub mod bindings;
pub mod error;
mod machine;
pub mod prelude;
pub mod small_mutex;
pub mod sync;
pub mod types;

pub use std::{ffi, fmt};

#[path = "../../../src"]
mod driver {
    pub mod ah_cache;

    pub mod rdma {
        pub mod count;
        pub mod rhashtable;
        pub mod small_mutex;
    }
}

pub use types::zeroed;

pub use driver::rdma::{count, rhashtable};

mod tests;
