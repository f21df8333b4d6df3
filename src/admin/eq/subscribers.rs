// SPDX-License-Identifier: GPL-2.0

//! Who hears of which CQ's events.

use kernel::{
    new_spinlock_irq,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        Arc,
        SpinLockIrq, //
    }, //
};

/// Shares of the subscribers, so that event queues seldom wait for each other.
const SHARES: usize = 16;

/// The subscribers of all event queues by the numbers of their CQs: the device may put an event
/// into another queue than the one that a CQ was created with.
///
/// A subscriber is called under the lock: after it was removed it is not called any more.
#[pin_data]
pub(crate) struct Subscribers<T: Send + Sync> {
    #[pin]
    shares: [Share<T>; SHARES],
}

#[pin_data]
struct Share<T: Send + Sync> {
    #[pin]
    by_number: SpinLockIrq<RBTree<u16, Arc<T>>>,
}

/// Room for one subscriber.
pub(super) struct Place<T>(RBTreeNodeReservation<u16, Arc<T>>);

impl<T> Place<T> {
    /// Makes room.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(super) fn new() -> Result<Self> {
        Ok(Self(RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?))
    }
}

impl<T: Send + Sync> Subscribers<T> {
    /// Nobody hears of anything.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            shares <- pin_init::pin_init_array_from_fn(|_| {
                pin_init!(Share {
                    by_number <- new_spinlock_irq!(RBTree::new(), "efa_eq_subscribers"),
                })
            }),
        })
    }

    /// Where the subscriber of CQ `number` is.
    fn share(&self, number: u16) -> &SpinLockIrq<RBTree<u16, Arc<T>>> {
        let [first, ..] = &self.shares;
        let share = self.shares.get(usize::from(number) % SHARES);
        &share.unwrap_or(first).by_number
    }

    /// Lets `subscriber` hear of CQ `number`, whoever did before: the device hands out the number
    /// of a CQ that it has just destroyed, before that one's subscriber is removed here.
    pub(super) fn add(&self, place: Place<T>, number: u16, subscriber: Arc<T>) {
        let node = place.0.into_node(number, subscriber);
        let before = self.share(number).lock().insert(node);
        // Not while interrupts are off.
        drop(before);
    }

    /// Removes `subscriber`, unless the number is another one's by now.
    pub(super) fn remove(&self, number: u16, subscriber: &Arc<T>) {
        let mut by_number = self.share(number).lock();
        let is_it = by_number
            .get(&number)
            .is_some_and(|current| Arc::ptr_eq(current, subscriber));
        let node = match is_it {
            true => by_number.remove_node(&number),
            false => None,
        };
        drop(by_number);
        // Not while interrupts are off.
        drop(node);
    }

    /// Calls `f` with who hears of CQ `number`; says whether there is anybody. Any context.
    pub(super) fn with(&self, number: u16, f: impl FnOnce(&T)) -> bool {
        match self.share(number).lock().get(&number) {
            Some(subscriber) => {
                f(subscriber);
                true
            }
            None => false,
        }
    }
}

#[kernel::macros::kunit_tests(efa_admin_eq_subscribers)]
mod tests {
    use super::*;

    fn heard_by(subscribers: &Subscribers<u32>, number: u16) -> Option<u32> {
        let mut who = None;
        let any = subscribers.with(number, |subscriber| who = Some(*subscriber));
        assert_eq!(any, who.is_some());
        who
    }

    fn new() -> Result<Pin<KBox<Subscribers<u32>>>> {
        KBox::pin_init(Subscribers::new(), GFP_KERNEL)
    }

    #[test]
    fn each_hears_of_its_own_queue_until_it_leaves() -> Result {
        let subscribers = new()?;
        let (one, two) = (Arc::new(1, GFP_KERNEL)?, Arc::new(2, GFP_KERNEL)?);
        assert_eq!(heard_by(&subscribers, 0), None);
        subscribers.add(Place::new()?, 0, one.clone());
        subscribers.add(Place::new()?, u16::MAX, two);
        assert_eq!(heard_by(&subscribers, 0), Some(1));
        assert_eq!(heard_by(&subscribers, u16::MAX), Some(2));
        assert_eq!(heard_by(&subscribers, 1), None);
        subscribers.remove(0, &one);
        assert_eq!(heard_by(&subscribers, 0), None);
        assert_eq!(heard_by(&subscribers, u16::MAX), Some(2));
        Ok(())
    }

    #[test]
    fn a_number_that_came_back_stays_with_the_newer_queue() -> Result {
        let subscribers = new()?;
        let (old, new) = (Arc::new(1, GFP_KERNEL)?, Arc::new(2, GFP_KERNEL)?);
        subscribers.add(Place::new()?, 7, old.clone());
        subscribers.add(Place::new()?, 7, new.clone());
        assert_eq!(heard_by(&subscribers, 7), Some(2));
        subscribers.remove(7, &old);
        assert_eq!(heard_by(&subscribers, 7), Some(2));
        subscribers.remove(7, &new);
        assert_eq!(heard_by(&subscribers, 7), None);
        Ok(())
    }
}
