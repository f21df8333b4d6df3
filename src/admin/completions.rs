// SPDX-License-Identifier: GPL-2.0

//! Which entries of the admin completion queue are believed: the rules without the hardware.
//!
//! An entry is new when its phase bit says so. It is accepted when its checksum is right (from
//! API version 0.2) and the device has a command of its id. Any other entry is bad: it is
//! reported and passed over, so that the entries after it are seen, and it completes no command.
//! Not even a plausible id in an entry with a bad checksum counts: what happened to the command
//! is not known then, and it times out unless its own completion follows.
//!
//! A bad entry may be one that the device is still writing, phase bit first. So it is looked at
//! again, until the device has written the entry after it, or until [`GRACE_MS`] have passed; only
//! then it is bad for good. An entry with a right checksum is complete, so its verdict is final at
//! once.
//!
//! The ring has an entry for each command that the device can have, and the device does not wait
//! for its reader: one that writes more entries than it has commands overwrites what was not
//! read, and the commands concerned time out.

use super::{
    crc::crc16,
    ring::Cursor,
    slots::{
        Slots,
        DEPTH, //
    }, //
};
use crate::hw::admin::AdminAcqEntry;

/// How long the device may take to finish an entry whose phase bit is set, in milliseconds.
const GRACE_MS: i64 = 10;

/// The ring of completion entries, wherever it is.
pub(crate) trait Entries {
    /// The phase bit of an entry. Reads before it are not ordered, [`Entries::read`] after it is.
    fn phase(&self, index: usize) -> bool;

    /// A whole entry.
    fn read(&self, index: usize) -> AdminAcqEntry;
}

/// Why an entry is bad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Its checksum should be this one.
    Checksum(u16),
    /// The device has no command of its id: unknown, or completed before.
    Id,
}

/// What became of an entry.
#[derive(Clone, Copy)]
pub(crate) enum Event<'a> {
    /// The command in this slot is complete.
    Accepted(usize),
    /// The entry at this place was passed over.
    Rejected(u32, Fault, &'a AdminAcqEntry),
}

/// The consumer of the completion queue.
pub(crate) struct Completions {
    cursor: Cursor,
    checked: bool,
    /// Since when the entry at the cursor is bad, in milliseconds.
    bad_since_ms: Option<i64>,
}

impl Completions {
    /// A consumer at the start of the ring. `checked`: entries have a checksum.
    pub(crate) const fn new(checked: bool) -> Self {
        Self {
            cursor: Cursor::new(DEPTH),
            checked,
            bad_since_ms: None,
        }
    }

    /// Entries passed so far.
    pub(crate) fn count(&self) -> u32 {
        self.cursor.count()
    }

    /// Goes over the new entries, at most one ring full. The time matters only for a bad one.
    pub(crate) fn poll(
        &mut self,
        entries: &impl Entries,
        slots: &mut Slots,
        now_ms: impl Fn() -> i64,
        mut report: impl FnMut(Event<'_>),
    ) {
        for _ in 0..DEPTH {
            let index = self.cursor.index();
            if entries.phase(index) != self.cursor.phase() {
                return;
            }
            let mut entry = entries.read(index);
            match self.examine(&mut entry, slots) {
                Ok(slot) => report(Event::Accepted(slot)),
                Err(fault) => {
                    if !self.is_final(fault, entries, &now_ms) {
                        return;
                    }
                    report(Event::Rejected(self.cursor.count(), fault, &entry));
                }
            }
            self.bad_since_ms = None;
            self.cursor.advance();
        }
    }

    fn examine(&self, entry: &mut AdminAcqEntry, slots: &mut Slots) -> Result<usize, Fault> {
        if self.checked {
            let expected = checksum(entry);
            if expected != entry.acq_common_descriptor.checksum {
                return Err(Fault::Checksum(expected));
            }
        }
        slots.complete(entry).ok_or(Fault::Id)
    }

    /// Whether the bad entry at the cursor stays as it is.
    fn is_final(&mut self, fault: Fault, entries: &impl Entries, now_ms: impl Fn() -> i64) -> bool {
        if self.checked && fault == Fault::Id {
            return true;
        }
        let next = self.cursor.next();
        if entries.phase(next.index()) == next.phase() {
            return true;
        }
        let now_ms = now_ms();
        let since = *self.bad_since_ms.get_or_insert(now_ms);
        now_ms.saturating_sub(since) >= GRACE_MS
    }
}

/// The checksum that an entry should have. The entry is as before when this returns.
fn checksum(entry: &mut AdminAcqEntry) -> u16 {
    let told = core::mem::take(&mut entry.acq_common_descriptor.checksum);
    let expected = crc16(entry, size_of::<AdminAcqEntry>());
    entry.acq_common_descriptor.checksum = told;
    expected
}

#[kernel::macros::kunit_tests(efa_admin_completions)]
mod tests {
    use super::*;
    use crate::{
        admin::slots::Issued,
        hw::admin::ADMIN_ACQ_COMMON_DESC_PHASE_MASK, //
    };
    use kernel::prelude::*;
    use zerocopy::FromZeros;

    /// A ring in plain memory, and the device that writes it.
    struct Device {
        entries: [AdminAcqEntry; DEPTH as usize],
        cursor: Cursor,
    }

    impl Entries for Device {
        fn phase(&self, index: usize) -> bool {
            self.read(index).acq_common_descriptor.flags & ADMIN_ACQ_COMMON_DESC_PHASE_MASK != 0
        }

        fn read(&self, index: usize) -> AdminAcqEntry {
            self.entries
                .get(index)
                .copied()
                .unwrap_or(AdminAcqEntry::new_zeroed())
        }
    }

    impl Device {
        fn new() -> Self {
            Self {
                entries: [AdminAcqEntry::new_zeroed(); DEPTH as usize],
                cursor: Cursor::new(DEPTH),
            }
        }

        fn put(&mut self, entry: AdminAcqEntry) {
            if let Some(place) = self.entries.get_mut(self.cursor.index()) {
                *place = entry;
            }
        }

        fn entry(&self, id: u16) -> AdminAcqEntry {
            let mut entry = AdminAcqEntry::new_zeroed();
            entry.acq_common_descriptor.command = id;
            entry.acq_common_descriptor.flags = self.cursor.phase().into();
            entry.acq_common_descriptor.checksum = checksum(&mut entry);
            entry
        }

        fn complete(&mut self, id: u16) {
            self.put(self.entry(id));
            self.cursor.advance();
        }

        fn complete_corrupted(&mut self, id: u16) {
            let mut entry = self.entry(id);
            entry.acq_common_descriptor.checksum ^= 0x8000;
            self.put(entry);
            self.cursor.advance();
        }

        /// Sets the phase bit and leaves the rest of the entry for later.
        fn begin(&mut self) {
            let mut entry = self.read(self.cursor.index());
            entry.acq_common_descriptor.flags = self.cursor.phase().into();
            self.put(entry);
        }
    }

    struct Bench {
        device: Device,
        slots: Slots,
        completions: Completions,
        accepted: usize,
        rejected: usize,
    }

    impl Bench {
        fn new(checked: bool) -> Result<KBox<Self>> {
            Ok(KBox::new(
                Self {
                    device: Device::new(),
                    slots: Slots::new(),
                    completions: Completions::new(checked),
                    accepted: 0,
                    rejected: 0,
                },
                GFP_KERNEL,
            )?)
        }

        fn issue(&mut self) -> Result<Issued> {
            self.slots.issue().ok_or(EINVAL)
        }

        fn poll(&mut self, now_ms: i64) {
            let (accepted, rejected) = (&mut self.accepted, &mut self.rejected);
            self.completions.poll(
                &self.device,
                &mut self.slots,
                || now_ms,
                |event| match event {
                    Event::Accepted(_) => *accepted += 1,
                    Event::Rejected(..) => *rejected += 1,
                },
            );
        }
    }

    #[test]
    fn completions_are_accepted_over_several_passes() -> Result {
        let mut bench = Bench::new(true)?;
        for round in 1..=100 {
            let issued = bench.issue()?;
            bench.device.complete(issued.id);
            bench.poll(0);
            assert_eq!(bench.accepted, round);
            assert!(bench.slots.collect(issued.slot).is_some());
        }
        assert_eq!(bench.rejected, 0);
        Ok(())
    }

    #[test]
    fn a_wrong_id_is_passed_over_and_the_right_one_accepted() -> Result {
        let mut bench = Bench::new(true)?;
        let issued = bench.issue()?;
        bench.device.complete(issued.id ^ 0x800);
        bench.poll(0);
        assert_eq!((bench.accepted, bench.rejected), (0, 1));
        bench.device.complete(issued.id);
        bench.poll(0);
        assert_eq!((bench.accepted, bench.rejected), (1, 1));
        Ok(())
    }

    #[test]
    fn a_repeated_id_is_passed_over() -> Result {
        let mut bench = Bench::new(true)?;
        let first = bench.issue()?;
        let second = bench.issue()?;
        bench.device.complete(first.id);
        bench.device.complete(first.id);
        bench.device.complete(second.id);
        bench.poll(0);
        assert_eq!((bench.accepted, bench.rejected), (2, 1));
        Ok(())
    }

    #[test]
    fn a_bad_checksum_completes_nothing_and_the_right_entry_is_accepted() -> Result {
        let mut bench = Bench::new(true)?;
        let issued = bench.issue()?;
        bench.device.complete_corrupted(issued.id);
        bench.poll(0);
        assert_eq!((bench.accepted, bench.rejected), (0, 0));
        bench.device.complete(issued.id);
        bench.poll(1);
        assert_eq!((bench.accepted, bench.rejected), (1, 1));
        Ok(())
    }

    #[test]
    fn a_bad_checksum_is_final_after_a_while() -> Result {
        let mut bench = Bench::new(true)?;
        let issued = bench.issue()?;
        bench.device.complete_corrupted(issued.id);
        bench.poll(0);
        bench.poll(GRACE_MS - 1);
        assert_eq!(bench.rejected, 0);
        bench.poll(GRACE_MS);
        assert_eq!((bench.accepted, bench.rejected), (0, 1));
        bench.device.complete(issued.id);
        bench.poll(GRACE_MS);
        assert_eq!(bench.accepted, 1);
        Ok(())
    }

    #[test]
    fn an_early_phase_bit_waits_for_the_rest() -> Result {
        for checked in [true, false] {
            let mut bench = Bench::new(checked)?;
            // Something old is in the entry, not only zeroes.
            for _ in 0..DEPTH {
                let issued = bench.issue()?;
                bench.device.complete(issued.id);
                bench.poll(0);
                assert!(bench.slots.collect(issued.slot).is_some());
            }
            let accepted = bench.accepted;
            let issued = bench.issue()?;
            bench.device.begin();
            bench.poll(1);
            assert_eq!((bench.accepted, bench.rejected), (accepted, 0));
            bench.device.complete(issued.id);
            bench.poll(2);
            assert_eq!((bench.accepted, bench.rejected), (accepted + 1, 0));
        }
        Ok(())
    }

    #[test]
    fn checksums_do_not_count_before_version_0_2() -> Result {
        let mut bench = Bench::new(false)?;
        let issued = bench.issue()?;
        bench.device.complete_corrupted(issued.id);
        bench.poll(0);
        assert_eq!((bench.accepted, bench.rejected), (1, 0));
        Ok(())
    }

    #[test]
    fn one_poll_ends_though_the_ring_is_full_of_nonsense() -> Result {
        let mut bench = Bench::new(true)?;
        let issued = bench.issue()?;
        for _ in 0..DEPTH {
            bench.device.complete(issued.id ^ 1);
        }
        bench.poll(0);
        assert_eq!(bench.rejected, usize::from(DEPTH));
        bench.device.complete(issued.id);
        bench.poll(0);
        assert_eq!(bench.accepted, 1);
        Ok(())
    }
}
