// SPDX-License-Identifier: GPL-2.0

//! Memory that a device may use, and the proofs that it does not any more.
//!
//! A driver tells a device where memory is, and nothing but the device's word says when it has
//! forgotten it. So the address of memory that this crate makes is told by [`Lent`] alone, which
//! from then on frees the memory only after a proof. (The kernel crate's `Coherent` tells its own,
//! so a driver has to lend that before.)
//!
//! ```text
//!   Lent<M, End>  --dma_address()-->  lent
//!                                      |- LetGo<End>   the command End ended the object, or there
//!                                      |               is none: the device refused to make it
//!                                      `- DmaEnded     all of a generation: the device was reset,
//!                                                      is gone, or off the bus
//! ```
//!
//! What is dropped without one is lost, and never anybody else's. So a driver that forgets a
//! failure, or drops things in the wrong order, loses memory and gives none away. One thing stays
//! the driver's word: that the device acknowledged. It makes [`LetGo`] and [`DmaEnded::by_reset`]
//! where it reads the device's answer.

use crate::ratelimited;
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::Deref, //
};
use kernel::{
    dma::Coherent,
    prelude::*,
    ptr::KnownSize,
    sync::{
        atomic::{
            ordering::{
                Acquire,
                Release, //
            },
            Atomic, //
        },
        Arc, //
    }, //
};

/// What a device does from one reset to the next, as far as DMA goes.
#[derive(Clone)]
pub struct DmaGeneration(Arc<Atomic<bool>>);

impl DmaGeneration {
    /// A device that may do DMA from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub fn new() -> Result<Self> {
        Ok(Self(Arc::new(Atomic::new(false), GFP_KERNEL)?))
    }

    /// Says whether the device reaches nothing any more of what it was lent.
    pub fn is_over(&self) -> bool {
        self.0.load(Acquire)
    }

    /// Notes that the device reaches nothing any more of what it was lent.
    pub fn end(&self, _proof: DmaEnded) {
        self.0.store(true, Release);
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Proof that a device does no DMA any more to what it knew of until now.
#[must_use]
pub struct DmaEnded(());

impl DmaEnded {
    /// The device acknowledged that it was reset.
    pub fn by_reset() -> Self {
        Self(())
    }

    /// The device is not on the bus any more, or does not master it and will be told all anew.
    pub(crate) fn by_bus() -> Self {
        Self(())
    }
}

/// A command after whose success a device does not use the memory of an object any more.
pub trait Ends {}

/// In place of such a command, where only the end of a generation will do.
pub enum UntilReset {}

/// Proof that a device does not use the memory of an object that the command `End` ends.
#[must_use]
pub struct LetGo<End: Ends> {
    generation: DmaGeneration,
    _end: PhantomData<fn(End)>,
}

impl<End: Ends> LetGo<End> {
    /// The device acknowledged, in this generation, that there is no object: `End` succeeded, or
    /// the device refused to make it, or was not asked to.
    pub fn acknowledged(generation: &DmaGeneration) -> Self {
        Self {
            generation: generation.clone(),
            _end: PhantomData,
        }
    }
}

/// Memory with an address for one device.
///
/// # Safety
///
/// What the address is of stays where it is until `self` is dropped: shared access neither frees
/// nor exchanges it.
pub unsafe trait HasDmaAddress {
    /// Says whether there is any.
    fn is_there(&self) -> bool {
        true
    }

    /// Where the device finds it; 0 where there is none.
    fn dma_address(&self, lent: &Disclosure) -> u64;
}

/// Says that memory is lent while its address is told. Only [`Lent`] has it.
pub struct Disclosure(());

// SAFETY: Shared access does not exchange what is in an option.
unsafe impl<M: HasDmaAddress> HasDmaAddress for Option<M> {
    fn is_there(&self) -> bool {
        self.is_some()
    }

    fn dma_address(&self, lent: &Disclosure) -> u64 {
        self.as_ref().map_or(0, |memory| memory.dma_address(lent))
    }
}

// SAFETY: The memory is there while there is a `Coherent`, which shared access does not exchange.
unsafe impl<T: KnownSize + ?Sized> HasDmaAddress for Coherent<T> {
    fn dma_address(&self, _lent: &Disclosure) -> u64 {
        Coherent::dma_address(self)
    }
}

/// Memory that a device may use once it was told the address: for an object that the command
/// `End` ends, or for as long as a generation ([`UntilReset`]).
///
/// When it is dropped after that without a proof, the memory is lost.
pub struct Lent<M, End> {
    loan: Loan<M>,
    _end: PhantomData<fn(End)>,
}

/// What [`Lent`] is but for the type of its end.
///
/// # Invariants
///
/// `memory` is there until `drop`, and nobody else drops it or moves it out.
struct Loan<M> {
    memory: ManuallyDrop<M>,
    generation: DmaGeneration,
    /// The device may use it.
    is_lent: Atomic<bool>,
}

impl<M: 'static, End> Lent<M, End> {
    /// Memory for the device of a generation, which does not know of it yet.
    pub fn new(memory: M, generation: &DmaGeneration) -> Self {
        Self {
            loan: Loan::new(memory, generation, false),
            _end: PhantomData,
        }
    }

    /// Memory of which the device of a generation is told right now.
    pub fn told(memory: M, generation: &DmaGeneration) -> Self {
        Self {
            loan: Loan::new(memory, generation, true),
            _end: PhantomData,
        }
    }

    /// Lends it for as long as its generation lasts, since nobody knows whether there is an object.
    pub fn until_reset(self) -> Lent<M, UntilReset> {
        Lent {
            loan: self.loan,
            _end: PhantomData,
        }
    }

    /// The memory, which is lent from now on.
    pub(crate) fn lend(&mut self) -> &mut M {
        self.loan.is_lent.store(true, Release);
        &mut self.loan.memory
    }
}

impl<M: HasDmaAddress, End> Lent<M, End> {
    /// Where the device finds it; 0 where there is none. What there is, is lent from now on.
    pub fn dma_address(&self) -> u64 {
        if self.loan.memory.is_there() {
            self.loan.is_lent.store(true, Release);
        }
        self.loan.memory.dma_address(&Disclosure(()))
    }
}

impl<M, End: Ends> Lent<M, End> {
    /// Notes that the device let go of it. A proof of another generation says nothing.
    pub fn let_go(&self, proof: LetGo<End>) {
        if proof.generation.is(&self.loan.generation) {
            self.loan.is_lent.store(false, Release);
        }
    }
}

/// Shared access only: what is borrowed exclusively could be exchanged, and dropped.
impl<M, End> Deref for Lent<M, End> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.loan.memory
    }
}

impl<M> Loan<M> {
    fn new(memory: M, generation: &DmaGeneration, is_lent: bool) -> Self {
        // INVARIANT: It moves in, and nothing here moves it out.
        Self {
            memory: ManuallyDrop::new(memory),
            generation: generation.clone(),
            is_lent: Atomic::new(is_lent),
        }
    }
}

impl<M> Drop for Loan<M> {
    fn drop(&mut self) {
        if self.is_lent.load(Acquire) && !self.generation.is_over() {
            log_lost();
            return;
        }
        // SAFETY: By the type invariants it was not dropped so far, and `self` ends here.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}

#[cold]
fn log_lost() {
    ratelimited!(pr_err!(
        "memory that a device may still use is lost, so that nobody else gets it\n"
    ));
}

#[kernel::macros::kunit_tests(rdma_dma)]
mod tests {
    use super::*;

    enum End {}

    impl Ends for End {}

    /// Memory of which the test can see whether it was freed.
    struct Memory(Arc<u32>);

    // SAFETY: Nobody uses the address.
    unsafe impl HasDmaAddress for Memory {
        fn dma_address(&self, _lent: &Disclosure) -> u64 {
            (*self.0).into()
        }
    }

    /// Whether what was made of memory by `f` is freed when it is dropped.
    fn is_freed<T>(f: impl FnOnce(Memory) -> T) -> Result<bool> {
        let memory = Arc::new(7, GFP_KERNEL)?;
        drop(f(Memory(memory.clone())));
        Ok(Arc::into_unique_or_drop(memory).is_some())
    }

    fn lent(memory: Memory, generation: &DmaGeneration) -> Lent<Memory, End> {
        let lent = Lent::new(memory, generation);
        assert_eq!(lent.dma_address(), 7);
        lent
    }

    #[test]
    fn what_no_device_knows_of_is_freed() -> Result {
        let generation = DmaGeneration::new()?;
        assert!(is_freed(|memory| Lent::<_, End>::new(memory, &generation))?);
        Ok(())
    }

    #[test]
    fn what_a_device_may_use_is_never_freed() -> Result {
        let generation = DmaGeneration::new()?;
        assert!(!is_freed(|memory| lent(memory, &generation))?);
        assert!(!is_freed(|memory| lent(memory, &generation).until_reset())?);
        Ok(())
    }

    #[test]
    fn what_is_not_there_is_not_lent() -> Result {
        let generation = DmaGeneration::new()?;
        let lent = Lent::<Option<Memory>, End>::new(None, &generation);
        assert_eq!(lent.dma_address(), 0);
        assert!(!lent.loan.is_lent.load(Acquire));
        Ok(())
    }

    #[test]
    fn what_the_device_let_go_of_is_freed() -> Result {
        let generation = DmaGeneration::new()?;
        assert!(is_freed(|memory| {
            let lent = lent(memory, &generation);
            lent.let_go(LetGo::acknowledged(&generation));
            lent
        })?);
        Ok(())
    }

    #[test]
    fn a_proof_of_another_generation_frees_nothing() -> Result {
        let (generation, other) = (DmaGeneration::new()?, DmaGeneration::new()?);
        other.end(DmaEnded::by_reset());
        assert!(!is_freed(|memory| {
            let lent = lent(memory, &generation);
            lent.let_go(LetGo::acknowledged(&other));
            lent
        })?);
        Ok(())
    }

    #[test]
    fn the_end_of_a_generation_frees_all_that_is_dropped_later() -> Result {
        let generation = DmaGeneration::new()?;
        assert!(is_freed(|memory| {
            let lent = lent(memory, &generation).until_reset();
            generation.end(DmaEnded::by_reset());
            lent
        })?);
        Ok(())
    }

    #[test]
    fn what_is_told_again_is_lent_again() -> Result {
        let generation = DmaGeneration::new()?;
        assert!(!is_freed(|memory| {
            let lent = lent(memory, &generation);
            lent.let_go(LetGo::acknowledged(&generation));
            assert_eq!(lent.dma_address(), 7);
            lent
        })?);
        Ok(())
    }
}
