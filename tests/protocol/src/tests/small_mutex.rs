// SPDX-License-Identifier: GPL-2.0

//! The small mutex alone.

use crate::{
    driver::rdma::small_mutex::{SmallMutex, WaitPlace},
    prelude::*,
    sync::atomic::{ordering::Relaxed, Atomic},
};
use loom::{cell::UnsafeCell, sync::Arc, thread};
use pinned_init::InPlaceInit;

/// Two mutexes with a place to wait at each. Loom sees who reaches the numbers at once.
struct Bench {
    mutexes: [SmallMutex<UnsafeCell<u32>>; 2],
    places: [Pin<Box<WaitPlace>>; 2],
    done: Atomic<bool>,
}

// SAFETY: Loom runs one thread of a test at a time, all on one thread of the host.
unsafe impl Sync for Bench {}
// SAFETY: As above.
unsafe impl Send for Bench {}

impl Bench {
    fn new() -> Arc<Self> {
        Arc::new(Bench {
            mutexes: [0, 0].map(|number| SmallMutex::new(UnsafeCell::new(number))),
            places: [(), ()].map(|()| Box::pin_init(WaitPlace::new()).expect("there is memory")),
            done: Atomic::new(false),
        })
    }

    /// Adds one to the number of a mutex.
    fn count(&self, mutex: usize, place: usize) {
        let number = self.mutexes[mutex].lock(&self.places[place]);
        // SAFETY: Loom sees to it that nobody else reads or writes.
        number.with_mut(|number| unsafe { *number += 1 });
    }

    fn number(&self, mutex: usize, place: usize) -> u32 {
        let number = self.mutexes[mutex].lock(&self.places[place]);
        // SAFETY: Loom sees to it that nobody writes.
        number.with(|number| unsafe { *number })
    }
}

#[test]
fn who_locks_is_alone() {
    loom::model(|| {
        let bench = Bench::new();
        let other = bench.clone();
        let thread = thread::spawn(move || other.count(0, 0));
        bench.count(0, 0);
        thread.join().unwrap();
        assert_eq!(bench.number(0, 0), 2);
    });
}

#[test]
fn mutexes_of_one_place_are_apart() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let bench = Bench::new();
        let threads = [0, 1].map(|mutex| {
            let bench = bench.clone();
            thread::spawn(move || bench.count(mutex, 0))
        });
        bench.count(0, 0);
        bench.count(1, 0);
        threads.map(|thread| thread.join().unwrap());
        assert_eq!([bench.number(0, 0), bench.number(1, 0)], [2, 2]);
    });
}

/// Wherever it would have waited: what is safe must not rest on that.
#[test]
fn who_locks_sees_what_was_done_before() {
    loom::model(|| {
        let bench = Bench::new();
        let other = bench.clone();
        let thread = thread::spawn(move || {
            other.count(0, 0);
            other.done.store(true, Relaxed);
        });
        if bench.done.load(Relaxed) {
            assert_eq!(bench.number(0, 1), 1);
        }
        thread.join().unwrap();
    });
}
