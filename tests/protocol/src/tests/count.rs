// SPDX-License-Identifier: GPL-2.0

//! The count alone: what its holders see of each other.

use crate::count::Count;
use loom::{cell::UnsafeCell, sync::Arc, thread};

/// Something that its last holder takes down.
struct Held {
    count: Count,
    thing: UnsafeCell<u32>,
}

impl Held {
    fn read(&self) {
        // SAFETY: Loom sees to it that nobody writes.
        self.thing.with(|thing| assert_eq!(unsafe { *thing }, 1));
    }

    fn take_down(&self) {
        // SAFETY: Loom sees to it that nobody else reads or writes.
        self.thing.with_mut(|thing| unsafe { *thing = 0 });
    }
}

fn two_holders(leave: fn(&Held)) {
    loom::model(move || {
        let held = Arc::new(Held {
            count: Count::new(2),
            thing: UnsafeCell::new(1),
        });
        let other = held.clone();
        let thread = thread::spawn(move || leave(&other));
        leave(&held);
        thread.join().unwrap();
        assert_eq!(held.count.read(), 0);
    });
}

#[test]
fn the_last_holder_sees_what_others_did() {
    two_holders(|held| {
        held.read();
        if held.count.dec_and_test() {
            held.take_down();
        }
    });
}

#[test]
fn the_last_holder_sees_what_others_did_who_were_not_the_last() {
    two_holders(|held| {
        held.read();
        if !held.count.dec_unless_one() && held.count.dec_and_test() {
            held.take_down();
        }
    });
}

#[test]
fn a_new_holder_sees_what_was_published() {
    loom::model(|| {
        let held = Arc::new(Held {
            count: Count::new(0),
            thing: UnsafeCell::new(0),
        });
        let publisher = held.clone();
        let thread = thread::spawn(move || {
            // SAFETY: Loom sees to it that nobody else reads or writes.
            publisher.thing.with_mut(|thing| unsafe { *thing = 1 });
            assert!(publisher.count.inc());
        });
        if held.count.inc_unless_zero() {
            held.read();
            assert!(held.count.read() == 2);
        }
        thread.join().unwrap();
    });
}

#[test]
fn holders_who_come_and_go_at_once_are_all_counted() {
    loom::model(|| {
        let count = Arc::new(Count::new(1));
        let other = count.clone();
        let thread = thread::spawn(move || {
            assert!(other.inc_unless_zero());
            assert!(other.dec_unless_one());
        });
        assert!(count.inc_unless_zero());
        assert!(count.dec_unless_one());
        thread.join().unwrap();
        assert_eq!(count.read(), 1);
    });
}

#[test]
fn a_count_that_is_full_stays() {
    loom::model(|| {
        let count = Count::new(i32::MAX - 1);
        assert!(count.inc_unless_zero());
        assert!(count.inc_unless_zero());
        assert!(count.dec_unless_one());
        assert!(!count.dec_and_test());
        assert_eq!(count.read(), i32::MAX);
    });
}

#[test]
fn no_holder_comes_back_from_zero() {
    loom::model(|| {
        let count = Count::new(1);
        assert!(!count.dec_unless_one());
        assert!(count.dec_and_test());
        assert!(!count.inc_unless_zero());
        assert_eq!(count.read(), 0);
    });
}
