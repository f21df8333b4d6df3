// SPDX-License-Identifier: GPL-2.0

//! Which commands the device has, and what came back: the rules without the hardware.
//!
//! A command occupies a slot from its submission until its submitter collects the completion. The
//! command's id is the slot in its low bits and, above them, the low bits of the number of
//! commands so far: a completion of an older command of the same slot has another id, for 128
//! commands.

use crate::hw::admin::{
    AdminAcqEntry,
    ADMIN_ACQ_COMMON_DESC_COMMAND_ID_MASK,
    ADMIN_AQ_COMMON_DESC_COMMAND_ID_MASK, //
};
use zerocopy::FromZeros;

/// The number of slots: commands that the device can have at once.
pub(crate) const DEPTH: u16 = 32;

/// Bits of a command id that name the slot.
const SLOT_BITS: u32 = DEPTH.trailing_zeros();

/// The id of the command number `issued` in `slot`.
fn command_id(slot: u16, issued: u16) -> u16 {
    (issued << SLOT_BITS | slot & (DEPTH - 1)) & ADMIN_AQ_COMMON_DESC_COMMAND_ID_MASK
}

#[derive(Clone, Copy)]
enum Slot {
    Free,
    /// The device has the command of this id.
    Outstanding(u16),
    /// The device completed it, nobody collected the entry so far.
    Completed,
}

/// The commands that are not collected.
pub(crate) struct Slots {
    slots: [Slot; DEPTH as usize],
    /// What completed the command of each slot, last.
    entries: [AdminAcqEntry; DEPTH as usize],
    /// Commands so far, modulo 2^16.
    issued: u16,
}

/// A slot and the id of the command in it.
#[derive(Clone, Copy)]
pub(crate) struct Issued {
    pub(crate) slot: usize,
    pub(crate) id: u16,
}

impl Slots {
    /// All slots free.
    ///
    /// The count begins at 1: an entry that the device has not written yet has id 0, and no
    /// command of the first pass over the ring has that.
    pub(crate) fn new() -> Self {
        Self {
            slots: [Slot::Free; DEPTH as usize],
            entries: [AdminAcqEntry::new_zeroed(); DEPTH as usize],
            issued: 1,
        }
    }

    /// Takes a free slot for a new command; `None` where there is none.
    pub(crate) fn issue(&mut self) -> Option<Issued> {
        let (number, slot) = (0..DEPTH)
            .zip(&mut self.slots)
            .find(|(_, slot)| matches!(slot, Slot::Free))?;
        let id = command_id(number, self.issued);
        *slot = Slot::Outstanding(id);
        self.issued = self.issued.wrapping_add(1);
        Some(Issued {
            slot: number.into(),
            id,
        })
    }

    /// Matches a completion to its command; returns the slot, or `None` where the device does not
    /// have a command of that id (any more).
    pub(crate) fn complete(&mut self, entry: &AdminAcqEntry) -> Option<usize> {
        let id = entry.acq_common_descriptor.command & ADMIN_ACQ_COMMON_DESC_COMMAND_ID_MASK;
        let number = usize::from(id & (DEPTH - 1));
        let slot = self.slots.get_mut(number)?;
        match *slot {
            Slot::Outstanding(outstanding) if outstanding == id => {
                *slot = Slot::Completed;
                *self.entries.get_mut(number)? = *entry;
                Some(number)
            }
            _ => None,
        }
    }

    /// Takes the completion out of a slot, which is free then; `None` where there is none yet.
    pub(crate) fn collect(&mut self, number: usize) -> Option<AdminAcqEntry> {
        let slot = self.slots.get_mut(number)?;
        match *slot {
            Slot::Completed => {
                *slot = Slot::Free;
                self.entries.get(number).copied()
            }
            _ => None,
        }
    }
}

#[kernel::macros::kunit_tests(efa_admin_slots)]
mod tests {
    use super::*;

    fn completion(id: u16) -> AdminAcqEntry {
        let mut entry = AdminAcqEntry::new_zeroed();
        entry.acq_common_descriptor.command = id;
        entry
    }

    #[test]
    fn a_command_id_is_the_slot_with_the_count_above() {
        assert_eq!(command_id(0, 0), 0);
        assert_eq!(command_id(31, 0), 31);
        assert_eq!(command_id(3, 1), 0x23);
        assert_eq!(command_id(31, 127), 0xfff);
        assert_eq!(command_id(31, 128), 31);
        assert_eq!(command_id(7, u16::MAX), 0xfe7);
    }

    #[test]
    fn an_entry_of_zeroes_completes_nothing_in_the_first_pass() {
        let mut slots = Slots::new();
        for _ in 0..DEPTH {
            assert!(slots.issue().is_some());
            assert!(slots.complete(&completion(0)).is_none());
        }
    }

    #[test]
    fn the_depth_bounds_the_commands_at_once() -> Result<(), kernel::error::Error> {
        let mut slots = Slots::new();
        let mut last = None;
        for _ in 0..DEPTH {
            last = slots.issue();
            assert!(last.is_some());
        }
        assert!(slots.issue().is_none());

        let last = last.ok_or(kernel::error::code::EINVAL)?;
        assert_eq!(slots.complete(&completion(last.id)), Some(last.slot));
        assert!(slots.issue().is_none());
        assert!(slots.collect(last.slot).is_some());
        assert!(slots.issue().is_some());
        Ok(())
    }

    #[test]
    fn a_slot_is_never_reused_with_the_same_id_at_once() -> Result<(), kernel::error::Error> {
        let mut slots = Slots::new();
        let mut previous = None;
        for _ in 0..300 {
            let issued = slots.issue().ok_or(kernel::error::code::EINVAL)?;
            assert_eq!(issued.slot, 0);
            assert!(previous != Some(issued.id));
            previous = Some(issued.id);
            assert_eq!(slots.complete(&completion(issued.id)), Some(0));
            assert!(slots.collect(0).is_some());
        }
        Ok(())
    }

    #[test]
    fn a_completion_counts_once() -> Result<(), kernel::error::Error> {
        let mut slots = Slots::new();
        let issued = slots.issue().ok_or(kernel::error::code::EINVAL)?;
        assert!(slots.complete(&completion(issued.id)).is_some());
        assert!(slots.complete(&completion(issued.id)).is_none());
        assert!(slots.collect(issued.slot).is_some());
        assert!(slots.complete(&completion(issued.id)).is_none());
        assert!(slots.collect(issued.slot).is_none());
        Ok(())
    }

    #[test]
    fn an_unknown_id_disturbs_nothing() -> Result<(), kernel::error::Error> {
        let mut slots = Slots::new();
        let issued = slots.issue().ok_or(kernel::error::code::EINVAL)?;
        // Same slot, other count; and a slot without a command.
        assert!(slots
            .complete(&completion(issued.id ^ 1 << SLOT_BITS))
            .is_none());
        assert!(slots.complete(&completion(issued.id ^ 1)).is_none());
        // Reserved bits above the id do not count.
        assert_eq!(
            slots.complete(&completion(issued.id | 0xf000)),
            Some(issued.slot)
        );
        Ok(())
    }
}
