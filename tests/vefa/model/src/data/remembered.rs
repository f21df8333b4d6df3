// SPDX-License-Identifier: GPL-2.0
//! What became of the requests of other devices, so that one that comes again
//! is answered again, and not carried out again.

use std::collections::{HashMap, VecDeque};

use crate::data::packet::Part;
use crate::gid::Gid;
use crate::names::WorkStatus;

/// Most requests that are remembered; the oldest are forgotten.
const CAPACITY: usize = 16_384;

/// Sender, its QP, the receiving QP, and the part of the sender's message.
type Key = (Gid, u16, u16, Part);

/// Outcomes of past requests.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    outcomes: HashMap<Key, Result<(), WorkStatus>>,
    order: VecDeque<Key>,
}

impl Remembered {
    pub fn get(&self, key: &Key) -> Option<Result<(), WorkStatus>> {
        self.outcomes.get(key).copied()
    }

    pub fn insert(&mut self, key: Key, outcome: Result<(), WorkStatus>) {
        if self.outcomes.insert(key, outcome).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > CAPACITY {
            if let Some(oldest) = self.order.pop_front() {
                self.outcomes.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_requests_are_remembered() {
        let key = |message| (Gid([1; 16]), 2, 3, Part { message, index: 0 });
        let mut remembered = Remembered::default();
        for message in 0..=CAPACITY as u64 {
            remembered.insert(key(message), Ok(()));
        }
        assert_eq!(remembered.get(&key(0)), None);
        assert_eq!(remembered.get(&key(1)), Some(Ok(())));
        assert_eq!(remembered.outcomes.len(), CAPACITY);
    }
}
