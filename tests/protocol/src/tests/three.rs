// SPDX-License-Identifier: GPL-2.0

//! Three threads. All orders of them are too many: a thread that could go on is stopped once, in the
//! full size twice.

use super::bench::{in_orders_with, spawn, OTHER_PD, PD};

#[test]
fn users_who_come_and_go_at_once_share_a_valid_handle() {
    in_orders_with(1, Some(2), |bench| {
        let one = spawn(bench, |bench| bench.use_once(PD).unwrap());
        let two = spawn(bench, |bench| bench.use_once(PD).unwrap());
        bench.use_once(PD).unwrap();
        one.join().unwrap();
        two.join().unwrap();
    });
}

#[test]
fn a_failing_create_and_a_refused_destroy_leave_nothing() {
    in_orders_with(1, Some(2), |bench| {
        bench.device.fail_create.set(1);
        bench.device.fail_destroy.set(1);
        let one = spawn(bench, |bench| _ = bench.use_once(PD));
        let two = spawn(bench, |bench| _ = bench.use_once(PD));
        let _ = bench.use_once(PD);
        one.join().unwrap();
        two.join().unwrap();
        bench.release_pd(PD).unwrap();
        assert_eq!(bench.device.told.create_failed.get(), 1);
        assert_eq!(bench.device.told.got(), 2);
    });
}

#[test]
fn a_pd_is_freed_while_others_park_and_leave() {
    in_orders_with(1, Some(2), |bench| {
        bench.device.fail_destroy.set(2);
        bench.use_once(PD).unwrap();
        let one = spawn(bench, |bench| bench.release_pd(PD).unwrap_or_default());
        let two = spawn(bench, |bench| bench.use_once(OTHER_PD).unwrap());
        bench.use_once(OTHER_PD).unwrap();
        one.join().unwrap();
        two.join().unwrap();
        bench.release_pd(OTHER_PD).unwrap();
        bench.release_pd(PD).unwrap();
    });
}
