// SPDX-License-Identifier: GPL-2.0

//! The kernel's atomics, on loom's.

use crate::machine;
use loom::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};

/// The kernel's orderings. A `Full` one is taken for acquire and release at once, which is less
/// than it is.
pub mod ordering {
    pub struct Relaxed;
    pub struct Acquire;
    pub struct Release;
    pub struct Full;
}

/// An ordering, as loom has it.
pub trait Any {
    const ORDERING: Ordering;
}

pub trait AcquireOrRelaxed: Any {}
pub trait ReleaseOrRelaxed: Any {}

macro_rules! ordering {
    ($name:ident is $loom:ident $(and $also:ident)*) => {
        impl Any for ordering::$name {
            const ORDERING: Ordering = Ordering::$loom;
        }
        $(impl $also for ordering::$name {})*
    };
}

ordering!(Relaxed is Relaxed and AcquireOrRelaxed and ReleaseOrRelaxed);
ordering!(Acquire is Acquire and AcquireOrRelaxed);
ordering!(Release is Release and ReleaseOrRelaxed);
ordering!(Full is AcqRel);

/// What an atomic can hold.
pub trait Value: Copy {
    type Atomic;

    fn atomic(self) -> Self::Atomic;
    fn load(atomic: &Self::Atomic, ordering: Ordering) -> Self;
    fn store(atomic: &Self::Atomic, value: Self, ordering: Ordering);
    fn xchg(atomic: &Self::Atomic, value: Self, ordering: Ordering) -> Self;
    fn cmpxchg(
        atomic: &Self::Atomic,
        old: Self,
        new: Self,
        ordering: Ordering,
    ) -> Result<Self, Self>;
}

/// What one can add to.
pub trait Number: Value {
    fn fetch_add(atomic: &Self::Atomic, value: Self, ordering: Ordering) -> Self;
    fn fetch_sub(atomic: &Self::Atomic, value: Self, ordering: Ordering) -> Self;
}

macro_rules! value {
    ($value:ty, $atomic:ty $(, for $parameter:ident)?) => {
        impl$(<$parameter>)? Value for $value {
            type Atomic = $atomic;

            fn atomic(self) -> $atomic {
                <$atomic>::new(self)
            }

            fn load(atomic: &$atomic, ordering: Ordering) -> Self {
                atomic.load(ordering)
            }

            fn store(atomic: &$atomic, value: Self, ordering: Ordering) {
                atomic.store(value, ordering);
            }

            fn xchg(atomic: &$atomic, value: Self, ordering: Ordering) -> Self {
                atomic.swap(value, ordering)
            }

            fn cmpxchg(
                atomic: &$atomic,
                old: Self,
                new: Self,
                ordering: Ordering,
            ) -> Result<Self, Self> {
                atomic.compare_exchange(old, new, ordering, Ordering::Relaxed)
            }
        }
    };
}

macro_rules! number {
    ($value:ty, $atomic:ty) => {
        value!($value, $atomic);

        impl Number for $value {
            fn fetch_add(atomic: &$atomic, value: Self, ordering: Ordering) -> Self {
                atomic.fetch_add(value, ordering)
            }

            fn fetch_sub(atomic: &$atomic, value: Self, ordering: Ordering) -> Self {
                atomic.fetch_sub(value, ordering)
            }
        }
    };
}

number!(i32, AtomicI32);
number!(u32, AtomicU32);
value!(bool, AtomicBool);
value!(*mut T, AtomicPtr<T>, for T);

/// A value that threads share.
pub struct Atomic<T: Value>(T::Atomic);

impl<T: Value> Atomic<T> {
    pub fn new(value: T) -> Self {
        Atomic(value.atomic())
    }

    pub fn load<O: AcquireOrRelaxed>(&self, _ordering: O) -> T {
        machine::touch(self);
        T::load(&self.0, O::ORDERING)
    }

    pub fn store<O: ReleaseOrRelaxed>(&self, value: T, _ordering: O) {
        machine::touch(self);
        T::store(&self.0, value, O::ORDERING);
    }

    pub fn xchg<O: Any>(&self, value: T, _ordering: O) -> T {
        machine::touch(self);
        T::xchg(&self.0, value, O::ORDERING)
    }

    /// A failed one orders nothing, as in the kernel.
    pub fn cmpxchg<O: Any>(&self, old: T, new: T, _ordering: O) -> Result<T, T> {
        machine::touch(self);
        T::cmpxchg(&self.0, old, new, O::ORDERING)
    }

    pub fn fetch_add<O: Any>(&self, value: T, _ordering: O) -> T
    where
        T: Number,
    {
        machine::touch(self);
        T::fetch_add(&self.0, value, O::ORDERING)
    }

    pub fn fetch_sub<O: Any>(&self, value: T, _ordering: O) -> T
    where
        T: Number,
    {
        machine::touch(self);
        T::fetch_sub(&self.0, value, O::ORDERING)
    }
}
