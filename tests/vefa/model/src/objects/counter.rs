// SPDX-License-Identifier: GPL-2.0
//! Event counters (completion counters): numbers in host memory that count
//! events of the QPs they are attached to.

use std::collections::BTreeMap;

use super::numbers::next_free;

/// Never 0, so that a driver that sends a handle it never got is found.
const HANDLES: std::ops::RangeInclusive<u32> = 1..=u32::MAX;

/// A live event counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventCounter {
    pub uar: u16,
    /// Bus address of its 8 bytes.
    pub address: u64,
    pub value: u64,
}

impl EventCounter {
    /// Counts `more`; after `max` comes 0.
    pub fn add(&mut self, more: u64, max: u64) {
        self.value = match max.checked_add(1) {
            Some(period) => {
                let sum = u128::from(self.value) + u128::from(more);
                (sum % u128::from(period)) as u64
            }
            None => self.value.wrapping_add(more),
        };
    }
}

/// A counter that counts a QP's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The counter's handle.
    pub counter: u32,
    /// EVENT_COUNTER_ATTACH_QP_EVENTS_* bits.
    pub events: u32,
}

/// All live event counters, by handle.
#[derive(Debug, Default)]
pub(crate) struct EventCounters {
    live: BTreeMap<u32, EventCounter>,
    last: u32,
}

impl EventCounters {
    /// A new counter: its handle; `None` at the limit.
    pub fn create(&mut self, max: u32, counter: EventCounter) -> Option<u32> {
        if self.live.len() as u64 >= u64::from(max) {
            return None;
        }
        let handle = next_free(HANDLES, self.last, |handle| {
            !self.live.contains_key(&handle)
        })?;
        self.live.insert(handle, counter);
        self.last = handle;
        Some(handle)
    }

    pub fn destroy(&mut self, handle: u32) -> Option<EventCounter> {
        self.live.remove(&handle)
    }

    pub fn get_mut(&mut self, handle: u32) -> Option<&mut EventCounter> {
        self.live.get_mut(&handle)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &EventCounter)> {
        self.live.iter().map(|(handle, counter)| (*handle, counter))
    }

    /// Destroys all; handles go on where they were.
    pub fn clear(&mut self) {
        self.live.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_to_zero_after_their_largest_value() {
        let mut counter = EventCounter {
            uar: 0,
            address: 0,
            value: 9,
        };
        counter.add(1, 10);
        assert_eq!(counter.value, 10);
        counter.add(1, 10);
        assert_eq!(counter.value, 0);
        counter.value = u64::MAX;
        counter.add(3, u64::MAX);
        assert_eq!(counter.value, 2);
    }
}
