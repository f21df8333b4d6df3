// SPDX-License-Identifier: GPL-2.0
//! A queue in guest memory, as its base and capability registers describe it.

use vefa_spec::entries::MemAddr;

use crate::rules::{Breach, Rule};

/// A ring of entries, and how far the device has come in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ring {
    base: u64,
    depth: u16,
    entry_size: u16,
    /// Entries the device has produced or consumed since the ring was set up.
    pub index: u32,
}

impl Ring {
    /// A ring at its start.
    ///
    /// # Errors
    /// A breach where depth or entry size are not what the device can use.
    pub fn new(
        what: &str,
        base: u64,
        depth: u32,
        size: u32,
        expected: u16,
    ) -> Result<Self, Breach> {
        let Some(depth) = u16::try_from(depth).ok().filter(|d| d.is_power_of_two()) else {
            let text = format!("{what}: depth {depth} is not a power of two");
            return Err(Breach::new(Rule::QueueDepth, text));
        };
        if size != u32::from(expected) {
            let text = format!("{what}: entry size {size} instead of {expected}");
            return Err(Breach::new(Rule::QueueEntrySize, text));
        }
        Ok(Self {
            base,
            depth,
            entry_size: expected,
            index: 0,
        })
    }

    pub fn base(&self) -> u64 {
        self.base
    }

    pub fn depth(&self) -> u16 {
        self.depth
    }

    pub fn entry_size(&self) -> u16 {
        self.entry_size
    }

    /// Address of the current entry.
    pub fn address(&self) -> u64 {
        let slot = self.index % u32::from(self.depth);
        self.base
            .wrapping_add(u64::from(slot) * u64::from(self.entry_size))
    }

    /// Phase bit of the current entry: 1 in the first lap, then alternating.
    pub fn phase(&self) -> u8 {
        let lap = self.index / u32::from(self.depth);
        u8::from(lap % 2 == 0)
    }

    pub fn advance(&mut self) {
        self.index = self.index.wrapping_add(1);
    }
}

/// The two halves of a bus address as one number.
pub(crate) fn address(halves: MemAddr) -> u64 {
    (u64::from(halves.mem_addr_high) << 32) | u64::from(halves.mem_addr_low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_wrap_and_flip_their_phase_each_lap() {
        let mut ring = Ring::new("ring", 0x1000, 4, 64, 64).unwrap();
        let laps: Vec<_> = (0..9)
            .map(|_| {
                let at = (ring.address(), ring.phase());
                ring.advance();
                at
            })
            .collect();
        assert_eq!(laps[0], (0x1000, 1));
        assert_eq!(laps[3], (0x10c0, 1));
        assert_eq!(laps[4], (0x1000, 0));
        assert_eq!(laps[8], (0x1000, 1));
    }

    #[test]
    fn rings_keep_slot_and_phase_when_the_index_wraps() {
        let mut ring = Ring::new("ring", 0, 32768, 64, 64).unwrap();
        ring.index = u32::MAX;
        assert_eq!(ring.phase(), 0);
        ring.advance();
        assert_eq!((ring.address(), ring.phase()), (0, 1));
    }
}
