// SPDX-License-Identifier: GPL-2.0

//! Protection domains that could not be given back to the device.
//!
//! An error at the end of a protection domain must not reach user space, and a domain whose
//! address handles the device refused to destroy must not be deallocated, or its number would be
//! handed out with them. So it waits here: each later allocation or deallocation tries again, and
//! a device reset ends it.

use crate::ah_cache::PdId;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            ordering::Relaxed,
            Atomic, //
        },
        Mutex, //
    }, //
};

/// Room for one protection domain, allocated while an error can still be reported.
pub(crate) struct Slot(KBox<Node>);

struct Node {
    pd: PdId,
    next: Option<KBox<Node>>,
}

impl Slot {
    /// Makes room for `pd`, whose number may still be unknown.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(crate) fn new() -> Result<Self> {
        let pd = PdId {
            generation: 0,
            number: 0,
        };
        Ok(Self(KBox::new(Node { pd, next: None }, GFP_KERNEL)?))
    }
}

/// A stack of nodes.
#[derive(Default)]
struct Stack(Option<KBox<Node>>);

impl Stack {
    fn push(&mut self, mut node: KBox<Node>) {
        node.next = self.0.take();
        self.0 = Some(node);
    }

    fn pop(&mut self) -> Option<KBox<Node>> {
        let mut node = self.0.take()?;
        self.0 = node.next.take();
        Some(node)
    }

    fn contains(&self, pd: PdId) -> bool {
        core::iter::successors(self.0.as_deref(), |node| node.next.as_deref())
            .any(|node| node.pd == pd)
    }
}

impl Drop for Stack {
    /// Frees the nodes one by one: by default each would be freed inside its predecessor, on the
    /// kernel's small stack.
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// The domains that wait, in two stacks that make turns: those not tried yet, and those tried.
#[derive(Default)]
struct Waiting {
    untried: Stack,
    tried: Stack,
}

/// The quarantine of one device.
#[pin_data]
pub(crate) struct Quarantine {
    #[pin]
    waiting: Mutex<Waiting>,
    /// Domains that wait or are being tried; read without the lock to find nothing to do.
    len: Atomic<usize>,
}

impl Quarantine {
    /// Nothing is quarantined.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            waiting <- new_mutex!(Waiting::default(), "efa_quarantine"),
            len: Atomic::new(0),
        })
    }

    /// Quarantines `pd`. Never fails, and allocates nothing.
    pub(crate) fn insert(&self, slot: Slot, pd: PdId) {
        let mut node = slot.0;
        node.pd = pd;
        self.len.add(1, Relaxed);
        self.waiting.lock().untried.push(node);
    }

    /// Says whether `pd` is quarantined, and not being tried right now.
    pub(crate) fn contains(&self, pd: PdId) -> bool {
        if self.is_empty() {
            return false;
        }
        let waiting = self.waiting.lock();
        waiting.untried.contains(pd) || waiting.tried.contains(pd)
    }

    /// Tries to give protection domains back with `give_back`, until it fails once.
    ///
    /// The one that failed is tried again after all others had their turn.
    pub(crate) fn retry(&self, mut give_back: impl FnMut(PdId) -> Result) {
        while !self.is_empty() {
            let Some(node) = self.next() else {
                return;
            };
            if give_back(node.pd).is_err() {
                self.waiting.lock().tried.push(node);
                return;
            }
            self.len.fetch_sub(1, Relaxed);
        }
    }

    fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }

    fn next(&self) -> Option<KBox<Node>> {
        let mut waiting = self.waiting.lock();
        if waiting.untried.0.is_none() {
            waiting.untried = core::mem::take(&mut waiting.tried);
        }
        waiting.untried.pop()
    }
}

#[kernel::macros::kunit_tests(efa_quarantine)]
mod tests {
    use super::*;

    fn pd(number: u16) -> PdId {
        PdId {
            generation: 1,
            number,
        }
    }

    fn quarantine_of(numbers: &[u16]) -> Result<Pin<KBox<Quarantine>>> {
        let quarantine = KBox::pin_init(Quarantine::new(), GFP_KERNEL)?;
        for &number in numbers {
            quarantine.insert(Slot::new()?, pd(number));
        }
        Ok(quarantine)
    }

    #[test]
    fn an_empty_quarantine_tries_nothing() -> Result {
        let quarantine = quarantine_of(&[])?;
        let mut tries = 0;
        quarantine.retry(|_| {
            tries += 1;
            Ok(())
        });
        assert_eq!(tries, 0);
        Ok(())
    }

    #[test]
    fn what_was_given_back_leaves_and_the_rest_stays() -> Result {
        let quarantine = quarantine_of(&[1, 2])?;
        assert!(quarantine.contains(pd(1)));
        quarantine.retry(|pd| if pd.number == 1 { Err(EINVAL) } else { Ok(()) });
        assert!(quarantine.contains(pd(1)));
        assert!(!quarantine.contains(pd(2)));
        quarantine.retry(|_| Ok(()));
        assert!(!quarantine.contains(pd(1)));
        Ok(())
    }

    #[test]
    fn one_failure_ends_a_round_and_the_next_round_starts_with_another() -> Result {
        let quarantine = quarantine_of(&[1, 2, 3])?;
        let mut tried = KVec::with_capacity(4, GFP_KERNEL)?;
        for _ in 0..3 {
            quarantine.retry(|pd| {
                tried.push_within_capacity(pd.number)?;
                Err(EINVAL)
            });
        }
        assert_eq!(tried.len(), 3);
        for number in [1, 2, 3] {
            assert!(tried.contains(&number));
        }
        Ok(())
    }

    #[test]
    fn a_number_of_another_reset_generation_is_another_protection_domain() -> Result {
        let quarantine = quarantine_of(&[1])?;
        assert!(!quarantine.contains(PdId {
            generation: 2,
            number: 1,
        }));
        Ok(())
    }

    #[test]
    fn a_full_quarantine_is_dropped_without_recursion() -> Result {
        let quarantine = quarantine_of(&[])?;
        // Enough to overflow a stack of 16 KiB with the smallest of frames.
        for number in 0..2048 {
            quarantine.insert(Slot::new()?, pd(number));
        }
        Ok(())
    }
}
