// SPDX-License-Identifier: GPL-2.0

//! Two threads with one key, in all orders.
//!
//! Where both run from an empty cache to an empty cache there are many: but in the full size those
//! with at most [`PREEMPTIONS`] switches from a thread that could have gone on are tried.

use super::bench::{in_all_orders, in_orders_with, spawn, PD};
use crate::{machine, prelude::*};
use std::sync::atomic::Ordering::Relaxed;

const PREEMPTIONS: usize = 4;

#[test]
fn users_who_come_and_go_at_once_share_a_valid_handle() {
    let seen = in_orders_with(PREEMPTIONS, None, |bench| {
        let other = spawn(bench, |bench| bench.use_once(PD).unwrap());
        bench.use_once(PD).unwrap();
        other.join().unwrap();
        assert_eq!(bench.device.told.reused.get(), 0);
    });
    assert!(seen.hits.load(Relaxed) > 0);
    assert!(seen.joined.load(Relaxed) > 0);
    assert!(seen.restarted.load(Relaxed) > 0);
}

#[test]
fn a_handle_in_use_is_not_destroyed_under_who_joins() {
    in_all_orders(|bench| {
        let ah = bench.get(PD).unwrap();
        let other = spawn(bench, |bench| bench.use_once(PD).unwrap());
        bench.put(ah);
        other.join().unwrap();
    });
}

#[test]
fn a_failing_create_fails_for_one_and_leaves_nothing() {
    in_all_orders(|bench| {
        bench.device.fail_create.set(1);
        let other = spawn(bench, |bench| _ = bench.use_once(PD));
        let _ = bench.use_once(PD);
        other.join().unwrap();
        // Who was told of no failure got a handle of its own.
        assert_eq!(bench.device.told.create_failed.get(), 1);
        assert_eq!(bench.device.told.got(), 1);
        assert_eq!(bench.device.commands(), (1, 1));
    });
}

#[test]
fn a_refused_destroy_is_made_up_for_when_the_pd_is_freed() {
    let seen = in_orders_with(PREEMPTIONS, None, |bench| {
        bench.device.fail_destroy.set(1);
        let other = spawn(bench, |bench| bench.use_once(PD).unwrap());
        bench.use_once(PD).unwrap();
        other.join().unwrap();
        // What has no AH any more is not kept for its PD's end.
        assert_eq!(machine::blocks(), bench.device.live());
        bench.release_pd(PD).unwrap();
    });
    assert!(seen.reused.load(Relaxed) > 0);
}

#[test]
fn a_parked_handle_that_is_reused_is_not_destroyed_with_its_pd() {
    let seen = in_all_orders(|bench| {
        bench.device.fail_destroy.set(1);
        bench.use_once(PD).unwrap();
        let other = spawn(bench, |bench| bench.use_once(PD).unwrap());
        let freed = bench.release_pd(PD);
        other.join().unwrap();
        assert!(matches!(freed, Ok(()) | Err(EBUSY)));
        bench.release_pd(PD).unwrap();
    });
    assert!(seen.reused.load(Relaxed) > 0);
}

#[test]
fn an_entry_that_two_threads_park_is_retired_once() {
    in_all_orders(|bench| {
        bench.device.fail_destroy.set(2);
        let ah = bench.get(PD).unwrap();
        let other = spawn(bench, |bench| bench.use_once(PD).unwrap());
        bench.put(ah);
        other.join().unwrap();
        bench.device.fail_destroy.set(0);
        bench.release_pd(PD).unwrap();
        assert_eq!(bench.device.commands(), (1, 1));
    });
}

#[test]
fn a_reset_while_the_last_user_leaves_ends_the_handle_once() {
    in_all_orders(|bench| {
        let ah = bench.get(PD).unwrap();
        let other = spawn(bench, |bench| bench.device.reset());
        bench.put(ah);
        other.join().unwrap();
        // Parked, if the reset came between the question and the command.
        bench.release_pd(PD).unwrap();
        let told = &bench.device.told;
        assert_eq!(told.destroyed.get() + told.outlived.get(), 1);
    });
}
