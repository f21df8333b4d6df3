// SPDX-License-Identifier: GPL-2.0

//! The files of a device in debugfs. What is in them is in `Documentation/debugging.md`.

use crate::{
    ah_cache::Keyed,
    verbs::{
        device::Device,
        Efa, //
    }, //
};
use kernel::{
    fmt,
    prelude::*, //
};
use rdma::debugfs::{
    File,
    Place, //
};

/// All of them.
pub(crate) const FILES: &[File<Efa>] = &[
    File {
        name: c"ah_cache",
        write: ah_table,
    },
    File {
        name: c"ah_counters",
        write: ah_counters,
    },
    File {
        name: c"admin",
        write: admin_counters,
    },
    File {
        name: c"quarantine",
        write: quarantine,
    },
];

/// A write to a file cannot fail: what does not fit is written again.
fn line(out: &mut dyn fmt::Write, line: fmt::Arguments<'_>) {
    let _ = out.write_fmt(line);
    let _ = out.write_str("\n");
}

/// Numbers with their names.
fn numbers<'a>(out: &mut dyn fmt::Write, numbers: impl Iterator<Item = (&'a str, u64)>) {
    for (name, number) in numbers {
        line(out, fmt!("{name} {number}"));
    }
}

/// The entries of the address handle cache.
fn ah_table(dev: &Device<'_>, place: &mut Place, out: &mut dyn fmt::Write) -> bool {
    if place.pieces == 0 {
        line(
            out,
            fmt!("   pd  gid                                         ah       users  state"),
        );
        return true;
    }
    dev.ah_cache
        .visit(&mut place.cursor, |entry, users, condition| {
            let (pd, gid, ah) = (entry.pd().number, entry.gid(), entry.ah());
            let state = condition.name();
            line(out, fmt!("{pd:>5}  {gid}  {ah:>5}  {users:>10}  {state}"));
        })
}

/// What happened in the address handle cache.
fn ah_counters(dev: &Device<'_>, place: &mut Place, out: &mut dyn fmt::Write) -> bool {
    if place.pieces != 0 {
        return false;
    }
    line(out, fmt!("entries {}", dev.ah_cache.len()));
    line(out, fmt!("buckets {}", dev.ah_cache.buckets()));
    numbers(out, dev.ah_counters.all());
    true
}

/// What happened on the admin queue and the event queues.
fn admin_counters(dev: &Device<'_>, place: &mut Place, out: &mut dyn fmt::Write) -> bool {
    if place.pieces != 0 {
        return false;
    }
    let state = if dev.admin.is_open() {
        "open"
    } else {
        "closed"
    };
    line(out, fmt!("queue {state}"));
    line(out, fmt!("reset_generation {}", dev.admin.generation()));
    numbers(out, dev.admin.stats().all());
    true
}

/// Objects in a piece. For each piece the objects before it are passed with the lock held.
const QUARANTINE_PIECE: usize = 64;

/// What the device refused to take back, or cannot be given back yet.
fn quarantine(dev: &Device<'_>, place: &mut Place, out: &mut dyn fmt::Write) -> bool {
    let Some(piece) = place.pieces.checked_sub(1) else {
        line(out, fmt!("object  number"));
        return true;
    };
    let skip = piece.saturating_mul(QUARANTINE_PIECE);
    let mut any = false;
    dev.quarantine.list(skip, QUARANTINE_PIECE, |object| {
        any = true;
        line(out, fmt!("{object}"));
    });
    any
}
