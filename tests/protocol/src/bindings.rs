// SPDX-License-Identifier: GPL-2.0

//! The C functions of the hash table: what `rhashtable` promises, in its simplest form.
//!
//! A bucket holds one key. Lookups read it without a lock, and changes are made under its lock, as
//! in the real one.

#![allow(
    non_camel_case_types,
    clippy::missing_safety_doc,
    reason = "names and contracts are those of the C functions"
)]

use crate::{error::ENOENT, machine};
use core::{cell::Cell, ffi::c_void, ptr};
use loom::sync::{
    atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
    Mutex,
};

pub const RDMA_RHT_KEY_WORDS: u32 = 6;
const BUCKETS: usize = 3;

type Key = [u32; RDMA_RHT_KEY_WORDS as usize];

#[derive(Default)]
pub struct rdma_rht_node {
    pub key: Key,
    pub link: (),
}

#[derive(Default)]
struct Bucket {
    /// Not shared memory of the program under test, but part of the hash function.
    key: Cell<Option<Key>>,
    node: AtomicPtr<rdma_rht_node>,
    lock: Mutex<()>,
}

#[derive(Default)]
pub struct rhashtable {
    buckets: [Bucket; BUCKETS],
}

impl rhashtable {
    fn bucket(&self, key: &Key) -> &Bucket {
        self.buckets
            .iter()
            .find(|bucket| bucket.key.get().is_none_or(|own| own == *key))
            .inspect(|bucket| bucket.key.set(Some(*key)))
            .expect("a test has at most one key for each bucket")
    }
}

pub unsafe fn rdma_shim_rht_init(table: *mut rhashtable) -> i32 {
    // SAFETY: By the contract `table` is valid for writes.
    unsafe { table.write(rhashtable::default()) };
    0
}

pub unsafe fn rdma_shim_rht_lookup(table: *mut rhashtable, key: *const u32) -> *mut rdma_rht_node {
    // SAFETY: By the contract `table` is initialised, and `key` is a key.
    let (table, key) = unsafe { (&*table, &*key.cast::<Key>()) };
    let bucket = table.bucket(key);
    let node = bucket.node.load(Acquire);
    if !machine::is_freed(node.addr()) {
        return node;
    }
    // A load may be late, but this read section began after the memory was freed, and RCU promises
    // that what came before that is seen then. An exchange is never late.
    match bucket.node.compare_exchange(node, node, Acquire, Acquire) {
        Ok(node) | Err(node) => node,
    }
}

pub unsafe fn rdma_shim_rht_lookup_or_insert(
    table: *mut rhashtable,
    node: *mut rdma_rht_node,
) -> *mut rdma_rht_node {
    // SAFETY: By the contract `table` is initialised, and `node` is valid.
    let (table, key) = unsafe { (&*table, &(*node).key) };
    let bucket = table.bucket(key);
    let _lock = bucket.lock.lock();
    let present = bucket.node.load(Relaxed);
    if present.is_null() {
        bucket.node.store(node, Release);
    }
    present
}

pub unsafe fn rdma_shim_rht_remove(table: *mut rhashtable, node: *mut rdma_rht_node) -> i32 {
    // SAFETY: By the contract `table` is initialised, and `node` is valid.
    let (table, key) = unsafe { (&*table, &(*node).key) };
    let bucket = table.bucket(key);
    let _lock = bucket.lock.lock();
    if !ptr::eq(bucket.node.load(Relaxed), node) {
        return ENOENT.to_errno();
    }
    bucket.node.store(ptr::null_mut(), Release);
    0
}

pub unsafe fn rdma_shim_rht_len(table: *mut rhashtable) -> u32 {
    // SAFETY: By the contract `table` is initialised.
    let buckets = unsafe { &(*table).buckets }.iter();
    buckets
        .map(|bucket| u32::from(!bucket.node.load(Relaxed).is_null()))
        .sum()
}

pub unsafe fn rdma_shim_rht_free(node: *mut rdma_rht_node) {
    machine::free_after_readers(node.addr());
}

pub unsafe fn rhashtable_free_and_destroy(
    table: *mut rhashtable,
    release: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    argument: *mut c_void,
) {
    // SAFETY: By the contract `table` is initialised, and not used any more.
    let table = unsafe { table.read() };
    for bucket in &table.buckets {
        let node = bucket.node.load(Relaxed);
        if let Some(release) = release.filter(|_| !node.is_null()) {
            // SAFETY: By the contract it may be called for what is in the table.
            unsafe { release(node.cast(), argument) };
        }
    }
}
