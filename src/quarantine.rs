// SPDX-License-Identifier: GPL-2.0

//! Objects that the device refused to take back, or cannot be given back yet.
//!
//! An error at the end of an object must not reach the RDMA core where a context is being closed,
//! and the object's number and memory must not be used again while the device still has it. So it
//! waits here: the device is asked again later (`retries`), and its reset ends it.

use crate::retries::Outcome;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            ordering::Relaxed,
            Atomic, //
        },
        Mutex, //
    },
    time::{
        Delta,
        Instant,
        Monotonic, //
    }, //
};
use rdma::alloc::box_without_fail;

/// How many objects the device is asked for in one [`Quarantine::retry`].
const TRIES_PER_RUN: usize = 8;

/// After this time none is asked for any more.
const RUN_TIME: Delta = Delta::from_millis(500);

struct Node<T> {
    object: T,
    next: Option<KBox<Node<T>>>,
}

/// What came of the attempt to give an object back to the device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The device let go of it.
    Done,
    /// The device let go of some of it, and refused nothing.
    Partly,
    /// Others that the device still has are made from it, so it was not asked.
    InUse,
    /// The device refused.
    Refused,
}

/// A stack of nodes.
struct Stack<T>(Option<KBox<Node<T>>>);

impl<T> Stack<T> {
    fn push(&mut self, mut node: KBox<Node<T>>) {
        node.next = self.0.take();
        self.0 = Some(node);
    }

    #[inline(never)]
    fn pop(&mut self) -> Option<KBox<Node<T>>> {
        let mut node = self.0.take()?;
        self.0 = node.next.take();
        Some(node)
    }

    /// Takes the first node out that has such an object.
    fn take(&mut self, is_it: impl Fn(&T) -> bool) -> Option<KBox<Node<T>>> {
        let mut passed = Stack(None);
        let mut found = None;
        while let Some(node) = self.pop() {
            if is_it(&node.object) {
                found = Some(node);
                break;
            }
            passed.push(node);
        }
        while let Some(node) = passed.pop() {
            self.push(node);
        }
        found
    }

    fn objects(&self) -> impl Iterator<Item = &T> {
        core::iter::successors(self.0.as_deref(), |node| node.next.as_deref())
            .map(|node| &node.object)
    }
}

impl<T> Drop for Stack<T> {
    /// Frees the nodes one by one: by default each would be freed inside its predecessor, on the
    /// kernel's small stack.
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// The objects that wait, in two stacks that take turns: those not tried yet, and those tried. Those that
/// were in use are looked at first in each run, which costs no command: what became free must not
/// wait behind all that the device refuses.
struct Waiting<T> {
    untried: Stack<T>,
    tried: Stack<T>,
    in_use: Stack<T>,
}

impl<T> Waiting<T> {
    fn begin_run(&mut self) {
        while let Some(node) = self.in_use.pop() {
            self.untried.push(node);
        }
    }

    fn next(&mut self) -> Option<KBox<Node<T>>> {
        if self.untried.0.is_none() {
            self.untried = Stack(self.tried.0.take());
        }
        self.untried.pop()
    }

    fn objects(&self) -> impl Iterator<Item = &T> {
        [&self.untried, &self.tried, &self.in_use]
            .into_iter()
            .flat_map(Stack::objects)
    }
}

/// The quarantine of one device.
#[pin_data]
pub(crate) struct Quarantine<T> {
    #[pin]
    waiting: Mutex<Waiting<T>>,
    /// Objects that wait or are being tried; read without the lock to find nothing to do.
    len: Atomic<usize>,
}

impl<T> Quarantine<T> {
    /// Nothing is quarantined.
    pub(crate) fn new() -> impl PinInit<Self> {
        let waiting = Waiting {
            untried: Stack(None),
            tried: Stack(None),
            in_use: Stack(None),
        };
        pin_init!(Self {
            waiting <- new_mutex!(waiting, "efa_quarantine"),
            len: Atomic::new(0),
        })
    }

    /// Quarantines `object`. Never fails, but waits while there is no memory: what it takes is asked
    /// for only here, since hardly an object is ever refused.
    pub(crate) fn insert(&self, object: T) {
        let node = box_without_fail(Node { object, next: None });
        self.len.add(1, Relaxed);
        self.waiting.lock().untried.push(node);
    }

    /// Takes an object out of the quarantine that is in it, and not being tried right now.
    pub(crate) fn take(&self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let Waiting {
            untried,
            tried,
            in_use,
        } = &mut *waiting;
        let node = [untried, tried, in_use]
            .into_iter()
            .find_map(|stack| stack.take(&is_it))?;
        self.len.fetch_sub(1, Relaxed);
        Some(KBox::into_inner(node).object)
    }

    /// Calls `f` for at most `count` quarantined objects, after the first `skip`. One that is being
    /// tried right now is not among them.
    pub(crate) fn list(&self, skip: usize, count: usize, f: impl FnMut(&T)) {
        let waiting = self.waiting.lock();
        waiting.objects().skip(skip).take(count).for_each(f);
    }

    /// Tries to give objects back with `give_back`, each once: until the device refuses, or it was
    /// asked for long enough.
    ///
    /// What was tried is tried again after all others had their turn. What one call gives back may
    /// have been all that kept others in use: they come with the next one.
    pub(crate) fn retry(&self, mut give_back: impl FnMut(&T) -> Attempt) -> Outcome {
        let start = Instant::<Monotonic>::now();
        let (mut tries, mut refused) = (0, false);
        self.waiting.lock().begin_run();
        for _ in 0..self.len.load(Relaxed) {
            if tries == TRIES_PER_RUN || start.elapsed() >= RUN_TIME || refused {
                break;
            }
            let Some(node) = self.waiting.lock().next() else {
                break;
            };
            match give_back(&node.object) {
                Attempt::Done => {
                    // The object goes first: what it was made from can be given back once it is gone.
                    drop(node);
                    self.len.fetch_sub(1, Relaxed);
                    tries += 1;
                }
                Attempt::Partly => {
                    self.waiting.lock().tried.push(node);
                    tries += 1;
                }
                Attempt::InUse => self.waiting.lock().in_use.push(node),
                Attempt::Refused => {
                    self.waiting.lock().tried.push(node);
                    refused = true;
                }
            }
        }
        match (tries > 0, refused) {
            _ if self.is_empty() => Outcome::AllGone,
            (true, false) => Outcome::GoesOn,
            (true, true) => Outcome::Slowed,
            (false, _) => Outcome::Stuck,
        }
    }

    fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

#[kernel::macros::kunit_tests(efa_quarantine)]
mod tests {
    use super::*;
    use kernel::{
        sync::Arc,
        time::delay::fsleep, //
    };

    type TestQuarantine = Pin<KBox<Quarantine<Arc<u32>>>>;

    fn object(number: u32) -> Result<Arc<u32>> {
        Ok(Arc::new(number, GFP_KERNEL)?)
    }

    fn quarantine_of(numbers: &[u32]) -> Result<TestQuarantine> {
        let quarantine = KBox::pin_init(Quarantine::new(), GFP_KERNEL)?;
        for &number in numbers {
            quarantine.insert(object(number)?);
        }
        Ok(quarantine)
    }

    /// Whether an object waits. It is tried last from then on.
    fn holds(quarantine: &TestQuarantine, number: u32) -> bool {
        let object = quarantine.take(|object| **object == number);
        let waits = object.is_some();
        object
            .into_iter()
            .for_each(|object| quarantine.insert(object));
        waits
    }

    #[test]
    fn an_empty_quarantine_tries_nothing() -> Result {
        let quarantine = quarantine_of(&[])?;
        let mut tries = 0;
        let outcome = quarantine.retry(|_| {
            tries += 1;
            Attempt::Done
        });
        assert_eq!(tries, 0);
        assert_eq!(outcome, Outcome::AllGone);
        Ok(())
    }

    #[test]
    fn what_was_given_back_leaves_and_the_rest_stays() -> Result {
        let quarantine = quarantine_of(&[1, 2])?;
        let outcome = quarantine.retry(|object| match **object {
            1 => Attempt::Refused,
            _ => Attempt::Done,
        });
        assert_eq!(outcome, Outcome::Slowed);
        assert!(holds(&quarantine, 1));
        assert!(!holds(&quarantine, 2));
        let outcome = quarantine.retry(|_| Attempt::Done);
        assert_eq!(outcome, Outcome::AllGone);
        assert!(quarantine.take(|_| true).is_none());
        Ok(())
    }

    #[test]
    fn one_refusal_ends_a_round_and_the_next_round_starts_with_another() -> Result {
        let quarantine = quarantine_of(&[1, 2, 3])?;
        let mut tried = KVec::with_capacity(4, GFP_KERNEL)?;
        for _ in 0..3 {
            let outcome = quarantine.retry(|object| {
                assert!(tried.push_within_capacity(**object).is_ok());
                Attempt::Refused
            });
            assert_eq!(outcome, Outcome::Stuck);
        }
        assert_eq!(tried.len(), 3);
        for number in [1, 2, 3] {
            assert!(tried.contains(&number));
        }
        Ok(())
    }

    #[test]
    fn what_is_taken_out_is_not_tried_and_the_rest_stays() -> Result {
        let quarantine = quarantine_of(&[1, 2, 3])?;
        // So that there is one to be tried next, and others that were tried.
        quarantine.retry(|_| Attempt::InUse);
        quarantine.insert(object(4)?);
        for taken in [2, 4] {
            let object = quarantine.take(|object| **object == taken);
            assert!(object.is_some_and(|object| *object == taken));
        }
        let mut tried = 0;
        quarantine.retry(|object| {
            tried += **object;
            Attempt::Done
        });
        assert_eq!(tried, 1 + 3);
        Ok(())
    }

    #[test]
    fn what_is_in_use_does_not_hold_up_the_others() -> Result {
        let quarantine = quarantine_of(&[1, 2, 3])?;
        let mut tries = 0;
        let mut retry = || {
            quarantine.retry(|object| {
                tries += 1;
                match **object {
                    2 => Attempt::InUse,
                    _ => Attempt::Done,
                }
            })
        };
        assert_eq!(retry(), Outcome::GoesOn);
        assert_eq!(retry(), Outcome::Stuck);
        assert_eq!(tries, 4);
        assert!(quarantine.take(|object| **object != 2).is_none());
        assert!(holds(&quarantine, 2));
        Ok(())
    }

    #[test]
    fn what_is_in_use_takes_nobodys_turn() -> Result {
        let quarantine = quarantine_of(&[1, 2])?;
        for _ in 0..5 {
            let mut asked = 0;
            let outcome = quarantine.retry(|object| match **object {
                1 => Attempt::InUse,
                _ => {
                    asked += 1;
                    Attempt::Refused
                }
            });
            assert_eq!((asked, outcome), (1, Outcome::Stuck));
        }
        Ok(())
    }

    #[test]
    fn what_became_free_does_not_wait_behind_what_is_refused() -> Result {
        let quarantine = quarantine_of(&[1, 2, 3, 4, 5])?;
        let mut is_free = false;
        let mut gone = false;
        for run in 0..9 {
            // It would not be its turn.
            is_free |= run == 7;
            quarantine.retry(|object| match **object {
                3 if is_free => {
                    gone = true;
                    Attempt::Done
                }
                3 => Attempt::InUse,
                _ => Attempt::Refused,
            });
            assert_eq!(gone, run >= 7);
        }
        Ok(())
    }

    #[test]
    fn what_others_were_made_from_goes_after_them() -> Result {
        // The newest is tried first, and what an object was made from comes after it.
        let quarantine = quarantine_of(&[1, 2, 3])?;
        let mut gone = 0;
        let mut retry = || {
            quarantine.retry(|object| {
                if **object != gone + 1 {
                    return Attempt::InUse;
                }
                gone += 1;
                Attempt::Done
            })
        };
        while retry() == Outcome::GoesOn {}
        assert_eq!(retry(), Outcome::AllGone);
        assert_eq!(gone, 3);
        Ok(())
    }

    #[test]
    fn the_device_is_not_asked_for_more_at_once_than_it_may() -> Result {
        // CAST: A few.
        let count = 2 * TRIES_PER_RUN as u32 + 1;
        let quarantine = quarantine_of(&[])?;
        for number in 0..count {
            quarantine.insert(object(number)?);
        }
        for attempt in [Attempt::Partly, Attempt::Done] {
            let mut tries = 0;
            let outcome = quarantine.retry(|_| {
                tries += 1;
                attempt
            });
            assert_eq!((tries, outcome), (TRIES_PER_RUN, Outcome::GoesOn));
        }
        // What the device let go of in part only is there still.
        let mut left = 0;
        quarantine.list(0, usize::MAX, |_| left += 1);
        assert_eq!(left, TRIES_PER_RUN + 1);
        Ok(())
    }

    #[test]
    fn a_slow_device_is_not_asked_for_long() -> Result {
        let quarantine = quarantine_of(&[1, 2, 3])?;
        let mut tries = 0;
        let outcome = quarantine.retry(|_| {
            tries += 1;
            fsleep(RUN_TIME);
            Attempt::Done
        });
        assert_eq!((tries, outcome), (1, Outcome::GoesOn));
        Ok(())
    }

    #[test]
    fn a_full_quarantine_is_dropped_without_recursion() -> Result {
        let quarantine = quarantine_of(&[])?;
        // Enough to overflow a stack of 16 KiB with the smallest of frames.
        for number in 0..2048 {
            quarantine.insert(object(number)?);
        }
        Ok(())
    }
}
