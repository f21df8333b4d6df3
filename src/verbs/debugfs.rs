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
use rdma::{
    debugfs::{
        AnyFile,
        File,
        Once, //
    },
    rhashtable::Cursor, //
};

/// All of them.
pub(crate) const FILES: &[AnyFile<Efa>] = &[
    AnyFile::of::<AhTable>(),
    AnyFile::of::<AhCounters>(),
    AnyFile::of::<AdminCounters>(),
    AnyFile::of::<Quarantine>(),
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
enum AhTable {}

/// Where a reader of the table is.
#[derive(Clone, Copy, Zeroable)]
struct AhPlace {
    header: Once,
    cursor: Cursor,
}

impl File<Efa> for AhTable {
    const NAME: &'static CStr = c"ah_cache";
    type Place = AhPlace;

    fn write(dev: &Device<'_>, place: &mut AhPlace, out: &mut dyn fmt::Write) -> bool {
        if place.header.is_first() {
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
}

/// What happened in the address handle cache.
enum AhCounters {}

impl File<Efa> for AhCounters {
    const NAME: &'static CStr = c"ah_counters";
    type Place = Once;

    fn write(dev: &Device<'_>, place: &mut Once, out: &mut dyn fmt::Write) -> bool {
        if !place.is_first() {
            return false;
        }
        line(out, fmt!("entries {}", dev.ah_cache.len()));
        line(out, fmt!("buckets {}", dev.ah_cache.buckets()));
        numbers(out, dev.ah_counters.all());
        true
    }
}

/// What happened on the admin queue and the event queues.
enum AdminCounters {}

impl File<Efa> for AdminCounters {
    const NAME: &'static CStr = c"admin";
    type Place = Once;

    fn write(dev: &Device<'_>, place: &mut Once, out: &mut dyn fmt::Write) -> bool {
        if !place.is_first() {
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
}

/// What the device refused to take back, or cannot be given back yet.
enum Quarantine {}

/// Where a reader of the quarantine is.
#[derive(Clone, Copy, Zeroable)]
struct QuarantinePlace {
    header: Once,
    /// Objects before it.
    skip: usize,
}

/// Objects in a piece. For each piece the objects before it are passed with the lock held.
const QUARANTINE_PIECE: usize = 64;

impl File<Efa> for Quarantine {
    const NAME: &'static CStr = c"quarantine";
    type Place = QuarantinePlace;

    fn write(dev: &Device<'_>, place: &mut QuarantinePlace, out: &mut dyn fmt::Write) -> bool {
        if place.header.is_first() {
            line(out, fmt!("object  number"));
            return true;
        }
        let mut any = false;
        dev.quarantine.list(place.skip, QUARANTINE_PIECE, |object| {
            any = true;
            line(out, fmt!("{object}"));
        });
        place.skip = place.skip.saturating_add(QUARANTINE_PIECE);
        any
    }
}
