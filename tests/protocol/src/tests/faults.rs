// SPDX-License-Identifier: GPL-2.0

//! One thread: what comes after what.

use super::bench::{in_all_orders, NEW_PD, OTHER_PD, PD, PEER};
use crate::{
    machine,
    prelude::*, //
};

#[test]
fn a_second_user_needs_no_command_and_no_lock() {
    in_all_orders(|bench| {
        let first = bench.get(PD).unwrap();
        let locked = machine::locked();
        let second = bench.get(PD).unwrap();
        assert_eq!(first.ah(), second.ah());
        assert_eq!(bench.device.told.hits.get(), 1);
        bench.put(first);
        assert_eq!(machine::locked(), locked, "a lock was taken");
        assert_eq!(bench.device.commands(), (1, 0));
        bench.put(second);
        assert_eq!(bench.device.commands(), (1, 1));
    });
}

#[test]
fn peers_are_apart() {
    in_all_orders(|bench| {
        let mut other = PEER;
        for byte in [0, 15] {
            other.0[byte] ^= 1;
            let ah = bench.get(PD).unwrap();
            let other_ah = bench.get_for(PD, &other).unwrap();
            assert_ne!(ah.ah(), other_ah.ah());
            bench.put(other_ah);
            bench.put(ah);
            other = PEER;
        }
        assert_eq!(bench.device.commands(), (4, 4));
    });
}

#[test]
fn a_failed_create_can_be_tried_again() {
    in_all_orders(|bench| {
        bench.device.fail_create.set(1);
        assert_eq!(bench.use_once(PD), Err(EINVAL));
        assert_eq!(machine::blocks(), 0);
        bench.use_once(PD).unwrap();
    });
}

#[test]
fn a_parked_handle_is_reused_without_a_command() {
    in_all_orders(|bench| {
        bench.device.fail_destroy.set(1);
        bench.use_once(PD).unwrap();
        assert_eq!(bench.device.told.destroy_failed.get(), 1);
        let ah = bench.get(PD).unwrap();
        assert_eq!(bench.device.told.reused.get(), 1);
        assert_eq!(bench.device.commands(), (1, 0));
        bench.put(ah);
        assert_eq!(bench.device.commands(), (1, 1));
        assert_eq!(machine::blocks(), 0, "it is kept for its PD's end");
        bench.release_pd(PD).unwrap();
        assert_eq!(bench.device.told.retired.get(), 0);
    });
}

#[test]
fn freeing_a_pd_retries_until_the_device_agrees() {
    in_all_orders(|bench| {
        bench.device.fail_destroy.set(2);
        bench.use_once(PD).unwrap();
        assert_eq!(bench.release_pd(PD), Err(EINVAL));
        assert_eq!(bench.device.told.retired.get(), 0);
        bench.release_pd(PD).unwrap();
        assert_eq!(bench.device.told.retired.get(), 1);
        assert_eq!(bench.device.commands(), (1, 1));
    });
}

#[test]
fn freeing_a_pd_leaves_what_others_parked() {
    in_all_orders(|bench| {
        bench.device.fail_destroy.set(2);
        bench.use_once(PD).unwrap();
        bench.use_once(OTHER_PD).unwrap();
        bench.release_pd(PD).unwrap();
        assert_eq!(bench.device.commands(), (2, 1));
        bench.release_pd(OTHER_PD).unwrap();
        assert_eq!(bench.device.commands(), (2, 2));
    });
}

#[test]
fn freeing_a_pd_stops_at_the_first_refusal() {
    in_all_orders(|bench| {
        bench.park(3);
        bench.device.fail_destroy.set(1);
        assert_eq!(bench.release_pd(PD), Err(EINVAL));
        assert_eq!(bench.device.commands(), (3, 0));
        bench.release_pd(PD).unwrap();
        assert_eq!(bench.device.commands(), (3, 3));
    });
}

#[test]
fn freeing_a_pd_goes_on_where_it_had_to_stop() {
    in_all_orders(|bench| {
        bench.park(3);
        assert_eq!(bench.release(PD, 2), Err(EAGAIN));
        assert_eq!(bench.device.commands(), (3, 2));
        assert_eq!(bench.release(PD, 1), Ok(()));
        assert_eq!(bench.device.commands(), (3, 3));
    });
}

#[test]
fn a_handle_that_the_device_keeps_holds_up_no_other() {
    in_all_orders(|bench| {
        let parked = bench.park(3);
        bench.device.kept.set(parked[2]);
        assert_eq!(bench.release_pd(PD), Err(EINVAL));
        assert_eq!(bench.device.commands(), (3, 0));
        assert_eq!(bench.release(PD, 2), Err(EAGAIN));
        assert_eq!(bench.device.commands(), (3, 2));
        assert_eq!(bench.release_pd(PD), Err(EINVAL));
        bench.device.kept.set(0);
        bench.release_pd(PD).unwrap();
    });
}

#[test]
fn a_handle_that_was_tried_again_is_not_forgotten() {
    in_all_orders(|bench| {
        bench.park(1);
        bench.device.fail_destroy.set(2);
        assert_eq!(bench.release_pd(PD), Err(EINVAL));
        // Another one, which is tried first.
        bench.use_once(PD).unwrap();
        assert_eq!(bench.release(PD, 1), Err(EAGAIN));
        bench.release_pd(PD).unwrap();
        assert_eq!(bench.device.commands(), (2, 2));
    });
}

#[test]
fn a_parked_handle_that_was_tried_again_is_reused_as_well() {
    in_all_orders(|bench| {
        bench.device.fail_destroy.set(2);
        bench.use_once(PD).unwrap();
        assert_eq!(bench.release_pd(PD), Err(EINVAL));
        bench.use_once(PD).unwrap();
        assert_eq!(bench.device.told.reused.get(), 1);
        assert_eq!(machine::blocks(), 0, "it is kept for its PD's end");
    });
}

#[test]
fn a_reset_ends_what_came_before_it() {
    in_all_orders(|bench| {
        let old = bench.get(PD).unwrap();
        bench.device.reset();
        let new = bench.get(NEW_PD).unwrap();
        bench.put(old);
        assert_eq!(bench.device.told.outlived.get(), 1);
        assert_eq!(bench.device.commands(), (2, 0));
        bench.put_of(NEW_PD, new);
        assert_eq!(bench.device.commands(), (2, 1));
    });
}

#[test]
fn without_memory_nothing_is_created() {
    in_all_orders(|bench| {
        machine::fail_next_allocation();
        assert_eq!(bench.use_once(PD), Err(ENOMEM));
        bench.use_once(PD).unwrap();
    });
}
