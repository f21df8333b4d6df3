// SPDX-License-Identifier: GPL-2.0

//! Work of a driver that a thread of the kernel does later, for as long as the device is registered.
//!
//! The kernel crate's `DelayedWork` can neither be brought forward nor cancelled, and runs only what
//! is `'static`; a driver's device is not. Here the registration owns the right to run: it is started
//! before the first callback can come, and ended after the last one, before the driver's device goes.
//!
//! C header: `include/linux/workqueue.h`

use crate::{
    bindings,
    provider::{
        DeferredWork,
        Provider, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    container_of,
    new_spinlock_irq,
    prelude::*,
    sync::{
        Arc,
        SpinLockIrq, //
    },
    time::{
        msecs_to_jiffies,
        Delta,
        Instant,
        Monotonic,
        Msecs, //
    },
    types::Opaque, //
};

/// A handle by which a driver asks for its work. All clones stand for the same work.
#[derive(Clone)]
pub struct Work(Arc<Shared>);

impl Work {
    /// Work of a device that is to be registered.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub fn new() -> Result<Self> {
        Ok(Self(Arc::pin_init(Shared::new(), GFP_KERNEL)?))
    }

    /// Has the work run as soon as a thread is free, also once more where it is running now.
    ///
    /// See [`Work::kick_within`].
    pub fn kick(&self) {
        self.kick_within(0);
    }

    /// Has the work run when `delay` milliseconds have passed, or before: it is never put off.
    ///
    /// What the caller did before is seen by that run. Any context. Costs a lock and a comparison
    /// where the work is to run by then anyway, and does nothing before the device is registered
    /// and after it was unregistered.
    pub fn kick_within(&self, delay: Msecs) {
        self.0.kick_within(delay);
    }
}

/// What there is to run.
///
/// # Invariants
///
/// `run` may be called with `data` until the [`Running`] that this was given to was dropped.
#[derive(Clone, Copy)]
struct Target {
    data: NonNull<c_void>,
    run: unsafe fn(NonNull<c_void>) -> Option<Msecs>,
}

// SAFETY: `data` points to a `P::Data`, which is `Sync`, and only a shared reference is made of it.
unsafe impl Send for Target {}

struct State {
    /// There from the start to the end of the [`Running`] that it belongs to.
    target: Option<Target>,
    /// Set while that `Running` waits for the last run, so that nobody begins anew.
    ends: bool,
    /// When the work is to run next, unless that run has begun.
    due: Option<Instant<Monotonic>>,
}

/// # Invariants
///
/// - `work` is initialised with [`Shared::callback`], and queued only with `state` locked and a
///   target there.
/// - While there is a target, the [`Running`] that it belongs to keeps `self` alive. Afterwards
///   `work` is neither queued nor running.
#[pin_data]
struct Shared {
    #[pin]
    work: Opaque<bindings::delayed_work>,
    #[pin]
    state: SpinLockIrq<State>,
}

// SAFETY: The kernel lets any thread queue and cancel a `struct delayed_work`.
unsafe impl Send for Shared {}
// SAFETY: The same; the rest is behind a lock.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> impl PinInit<Self> {
        // INVARIANT: There is no target, and nothing is queued.
        pin_init!(Self {
            work <- Opaque::ffi_init(|slot: *mut bindings::delayed_work| {
                // SAFETY: `slot` is valid for writes and pinned.
                unsafe { bindings::rdma_shim_init_delayed_work(slot, Some(Self::callback)) };
            }),
            state <- new_spinlock_irq!(State {
                target: None,
                ends: false,
                due: None,
            }),
        })
    }

    fn kick_within(&self, delay: Msecs) {
        let mut state = self.state.lock();
        let due = Instant::now() + Delta::from_millis(delay.into());
        let is_in_time = |other: Instant<_>| !(due - other).is_negative();
        if state.target.is_none() || state.due.is_some_and(is_in_time) {
            return;
        }
        state.due = Some(due);
        // INVARIANT: The state is locked, and there is a target.
        // SAFETY: By the type invariants the work is initialised, and while there is a target it is
        // not freed. The queue always exists. Any context will do.
        unsafe {
            bindings::mod_delayed_work_on(
                bindings::wq_misc_consts_WORK_CPU_UNBOUND as c_int,
                bindings::system_dfl_long_wq,
                self.work.get(),
                msecs_to_jiffies(delay),
            )
        };
    }

    /// Runs the work. The kernel never runs one work twice at a time.
    ///
    /// # Safety
    ///
    /// Only the kernel calls it, for the work of a `Shared`.
    unsafe extern "C" fn callback(work: *mut bindings::work_struct) {
        // SAFETY: By the safety requirements `work` is in a `struct delayed_work`, and that in a
        // `Shared`, which by its invariants lives while its work runs.
        let shared = unsafe {
            let work = container_of!(work, bindings::delayed_work, work);
            &*container_of!(work.cast::<Opaque<_>>(), Self, work)
        };

        let mut state = shared.state.lock();
        // From here on a kick is for another run.
        state.due = None;
        let target = state.target;
        drop(state);
        let Some(target) = target else {
            return;
        };
        // SAFETY: There was a target, so `Running` was not dropped, and it waits for the end of
        // this function. Until then the call is allowed by the invariants of the target.
        let next = unsafe { (target.run)(target.data) };
        if let Some(delay) = next {
            shared.kick_within(delay);
        }
    }
}

/// How the work of a provider's device is reached.
pub(crate) struct Deferred<P: Provider> {
    work: for<'a, 'b> fn(&'a P::Data<'b>) -> &'a Work,
    run: unsafe fn(NonNull<c_void>) -> Option<Msecs>,
}

impl<P: DeferredWork> Deferred<P> {
    pub(crate) const fn new() -> Self {
        Self {
            work: P::work,
            run: Self::run,
        }
    }

    /// # Safety
    ///
    /// `data` points to a driver's device of `P`, which is valid during the call.
    unsafe fn run(data: NonNull<c_void>) -> Option<Msecs> {
        // SAFETY: By the safety requirements. Lifetimes do not change a layout, and the function
        // called is generic over them.
        P::run(unsafe { data.cast::<P::Data<'_>>().as_ref() })
    }
}

/// The time in which a device's work can run. Dropping it ends it.
pub(crate) struct Running(Work);

impl Running {
    /// Lets the work of `data` run from now on, when the driver asks for it.
    ///
    /// # Errors
    ///
    /// `EBUSY`: the driver gave the handle to another device, too.
    ///
    /// # Safety
    ///
    /// `data` must stay valid, where it is, until the result was dropped.
    pub(crate) unsafe fn start<P: Provider>(
        deferred: &Deferred<P>,
        data: &P::Data<'_>,
    ) -> Result<Self> {
        // INVARIANT: The function is for a driver's device of `P`, which the data is, and stays by
        // the safety requirements.
        let target = Target {
            data: NonNull::from(data).cast(),
            run: deferred.run,
        };
        Self::start_target((deferred.work)(data).clone(), target)
    }

    fn start_target(work: Work, target: Target) -> Result<Self> {
        let mut state = work.0.state.lock();
        if state.target.is_some() || state.ends {
            return Err(EBUSY);
        }
        state.target = Some(target);
        state.due = None;
        drop(state);
        // INVARIANT: The result keeps the shared part alive.
        Ok(Self(work))
    }
}

impl Drop for Running {
    /// Waits for a run that has begun, and lets none begin afterwards. Kicks do nothing any more.
    fn drop(&mut self) {
        let shared = &*self.0 .0;
        let mut state = shared.state.lock();
        state.target = None;
        state.ends = true;
        drop(state);
        // INVARIANT: Nobody queues the work any more, and it is not queued afterwards.
        // SAFETY: By the type invariants the work is initialised.
        unsafe { bindings::cancel_delayed_work_sync(shared.work.get()) };
        shared.state.lock().ends = false;
    }
}

#[kernel::macros::kunit_tests(rdma_deferred)]
mod tests {
    use super::*;
    use kernel::{
        sync::atomic::{
            ordering::{Acquire, Full, Relaxed},
            Atomic, //
        },
        time::delay::fsleep, //
    };

    /// Longer than any test takes.
    const NEVER: Msecs = 100_000;

    /// What the tests run.
    struct Job {
        runs: Atomic<u32>,
        ended: Atomic<u32>,
        /// How often each run asks for another.
        again: Atomic<u32>,
        /// How long each run takes, in milliseconds.
        duration: Atomic<u32>,
    }

    impl Job {
        fn new() -> Result<KBox<Self>> {
            Ok(KBox::new(
                Self {
                    runs: Atomic::new(0),
                    ended: Atomic::new(0),
                    again: Atomic::new(0),
                    duration: Atomic::new(0),
                },
                GFP_KERNEL,
            )?)
        }

        fn start(&self, work: &Work) -> Result<Running> {
            // INVARIANT: Each test stops the work before the job goes.
            let target = Target {
                data: NonNull::from(self).cast(),
                run: Self::run,
            };
            Running::start_target(work.clone(), target)
        }

        /// # Safety
        ///
        /// `data` points to a job.
        unsafe fn run(data: NonNull<c_void>) -> Option<Msecs> {
            // SAFETY: By the safety requirements.
            let job = unsafe { data.cast::<Self>().as_ref() };
            job.runs.fetch_add(1, Full);
            fsleep(Delta::from_millis(job.duration.load(Relaxed).into()));
            let again = job.again.load(Relaxed);
            job.again.store(again.saturating_sub(1), Relaxed);
            job.ended.fetch_add(1, Full);
            (again != 0).then_some(1)
        }

        /// Waits until so many runs have begun. Returns how many have a moment later.
        fn runs(&self, expected: u32) -> u32 {
            for _ in 0..5000 {
                if self.runs.load(Acquire) >= expected {
                    break;
                }
                fsleep(Delta::from_millis(1));
            }
            fsleep(Delta::from_millis(50));
            self.runs.load(Acquire)
        }
    }

    #[test]
    fn it_runs_when_asked_and_as_often_as_it_wants() -> Result {
        let (work, job) = (Work::new()?, Job::new()?);
        let running = job.start(&work)?;
        assert_eq!(job.runs(0), 0);
        work.kick();
        assert_eq!(job.runs(1), 1);
        job.again.store(2, Relaxed);
        work.kick();
        assert_eq!(job.runs(4), 4);
        drop(running);
        Ok(())
    }

    #[test]
    fn a_later_time_never_puts_it_off_and_an_earlier_one_brings_it_forward() -> Result {
        let (work, job) = (Work::new()?, Job::new()?);
        let running = job.start(&work)?;
        work.kick_within(NEVER);
        assert_eq!(job.runs(0), 0);
        work.kick_within(20);
        work.kick_within(NEVER);
        assert_eq!(job.runs(1), 1);
        drop(running);
        Ok(())
    }

    #[test]
    fn a_kick_during_a_run_is_for_another() -> Result {
        let (work, job) = (Work::new()?, Job::new()?);
        let running = job.start(&work)?;
        job.duration.store(100, Relaxed);
        work.kick();
        assert_eq!(job.runs(1), 1);
        work.kick();
        assert_eq!(job.runs(2), 2);
        drop(running);
        Ok(())
    }

    #[test]
    fn it_runs_only_from_start_to_stop() -> Result {
        let (work, job) = (Work::new()?, Job::new()?);
        work.kick();
        let running = job.start(&work)?;
        assert_eq!(job.runs(0), 0);
        assert!(job.start(&work).is_err_and(|error| error == EBUSY));
        // So long that it cannot be over by itself when it is stopped, on a busy host either.
        job.duration.store(2000, Relaxed);
        job.again.store(u32::MAX, Relaxed);
        work.kick();
        assert_eq!(job.runs(1), 1);
        // Waits for the run, which asks for another.
        drop(running);
        assert_eq!(job.ended.load(Acquire), 1);
        work.kick();
        assert_eq!(job.runs(0), 1);

        // Queued, and not run yet.
        let running = job.start(&work)?;
        work.kick_within(20);
        drop(running);
        assert_eq!(job.runs(0), 1);
        Ok(())
    }
}
