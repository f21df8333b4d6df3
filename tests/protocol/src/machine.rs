// SPDX-License-Identifier: GPL-2.0

//! The machine that a test runs on: its memory, its locks, and who is in an RCU read section.
//!
//! Memory that was freed is kept until the end of the run, so that a later access is noticed.

use core::ffi::c_void;
use std::{cell::RefCell, collections::BTreeSet};

/// What was allocated.
struct Block {
    memory: *mut c_void,
    size: usize,
    freed: bool,
    /// Gives the memory back to the host.
    release: Release,
}

type Release = unsafe fn(*mut c_void);

/// Memory that waits for those who were in a read section when it was freed.
struct Deferred {
    address: usize,
    readers: BTreeSet<usize>,
}

#[derive(Default)]
struct Machine {
    blocks: Vec<Block>,
    readers: BTreeSet<usize>,
    sections: usize,
    deferred: Vec<Deferred>,
    out_of_memory: bool,
    locked: u32,
}

thread_local! {
    // Loom runs all threads of a test on one thread of the host.
    static MACHINE: RefCell<Machine> = RefCell::default();
}

/// Starts anew.
pub fn reset() {
    MACHINE.take();
}

/// Ends the run.
///
/// # Panics
///
/// Memory was not freed.
pub fn end() {
    let machine = MACHINE.take();
    let is_empty = machine.blocks.iter().all(|block| block.freed);
    assert!(is_empty, "memory is lost");
    for block in machine.blocks {
        // SAFETY: The test is over: nobody uses the memory any more.
        unsafe { (block.release)(block.memory) };
    }
}

/// The number of blocks that are not freed.
pub fn blocks() -> usize {
    MACHINE.with_borrow(|machine| machine.blocks.iter().filter(|block| !block.freed).count())
}

/// Lets the next allocation fail.
pub fn fail_next_allocation() {
    MACHINE.with_borrow_mut(|machine| machine.out_of_memory = true);
}

/// Whether there is no memory for this allocation.
pub fn is_out_of_memory() -> bool {
    MACHINE.with_borrow_mut(|machine| core::mem::take(&mut machine.out_of_memory))
}

/// Counts that a lock is taken.
pub fn lock() {
    MACHINE.with_borrow_mut(|machine| machine.locked += 1);
}

/// How often a lock was taken.
pub fn locked() -> u32 {
    MACHINE.with_borrow(|machine| machine.locked)
}

/// Remembers that memory was allocated.
pub fn allocated(memory: *mut c_void, size: usize, release: Release) {
    let block = Block {
        memory,
        size,
        freed: false,
        release,
    };
    MACHINE.with_borrow_mut(|machine| machine.blocks.push(block));
}

/// Checks that memory may be touched.
///
/// # Panics
///
/// It was freed.
pub fn touch<T>(object: &T) {
    let address = core::ptr::from_ref(object).addr();
    assert!(!is_freed(address), "used after it was freed");
}

/// Whether the memory at an address was freed.
pub fn is_freed(address: usize) -> bool {
    MACHINE.with_borrow(|machine| {
        machine.blocks.iter().any(|block| {
            let start = block.memory.addr();
            block.freed && (start..start + block.size).contains(&address)
        })
    })
}

/// Frees memory once those who are in a read section now have left it.
pub fn free_after_readers(address: usize) {
    MACHINE.with_borrow_mut(|machine| {
        let readers = machine.readers.clone();
        machine.deferred.push(Deferred { address, readers });
        machine.free_what_nobody_reads();
    });
}

/// Enters a read section; returns its number.
pub fn enter_section() -> usize {
    MACHINE.with_borrow_mut(|machine| {
        machine.sections += 1;
        machine.readers.insert(machine.sections);
        machine.sections
    })
}

/// Leaves a read section.
pub fn leave_section(section: usize) {
    MACHINE.with_borrow_mut(|machine| {
        machine.readers.remove(&section);
        for deferred in &mut machine.deferred {
            deferred.readers.remove(&section);
        }
        machine.free_what_nobody_reads();
    });
}

impl Machine {
    fn free_what_nobody_reads(&mut self) {
        let (free, deferred) = core::mem::take(&mut self.deferred)
            .into_iter()
            .partition(|deferred| deferred.readers.is_empty());
        self.deferred = deferred;
        let free: Vec<Deferred> = free;
        for Deferred { address, .. } in free {
            let block = self
                .blocks
                .iter_mut()
                .find(|block| block.memory.addr() == address)
                .expect("what was not allocated is freed");
            assert!(!block.freed, "freed twice");
            block.freed = true;
        }
    }
}
