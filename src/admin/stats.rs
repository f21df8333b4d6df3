// SPDX-License-Identifier: GPL-2.0

//! Counters of the admin layer.

use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// A counter that any context may increment.
pub(crate) struct Counter(Atomic<u64>);

impl Counter {
    /// A counter at zero.
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Counts one more.
    pub(crate) fn inc(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Counts one more if there is an error.
    pub(crate) fn inc_on_error<T>(&self, result: &Result<T>) {
        if result.is_err() {
            self.inc();
        }
    }

    /// The count.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What happened on the admin queue and the AENQ.
pub(crate) struct Stats {
    /// Commands that the device was given.
    pub(crate) submitted_cmds: Counter,
    /// Commands that the device completed, with any status.
    pub(crate) completed_cmds: Counter,
    /// Commands that failed, for whatever reason.
    pub(crate) cmds_err: Counter,
    /// Commands that the device did not complete in time.
    pub(crate) no_completion_cmds: Counter,
    /// Keep-alive events.
    pub(crate) keep_alive_rcvd: Counter,
    /// Completions for which no interrupt came.
    pub(crate) lost_interrupts: Counter,
    /// Completions that were found before their interrupt came.
    pub(crate) late_interrupts: Counter,
    /// Completion entries that were not believed.
    pub(crate) bad_completions: Counter,
    /// Asynchronous events of unknown groups, and completion events nobody waits for.
    pub(crate) unknown_events: Counter,
}

impl Stats {
    /// All at zero.
    pub(crate) const fn new() -> Self {
        Self {
            submitted_cmds: Counter::new(),
            completed_cmds: Counter::new(),
            cmds_err: Counter::new(),
            no_completion_cmds: Counter::new(),
            keep_alive_rcvd: Counter::new(),
            lost_interrupts: Counter::new(),
            late_interrupts: Counter::new(),
            bad_completions: Counter::new(),
            unknown_events: Counter::new(),
        }
    }
    /// Each with its name.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        [
            ("submitted_cmds", &self.submitted_cmds),
            ("completed_cmds", &self.completed_cmds),
            ("cmds_err", &self.cmds_err),
            ("no_completion_cmds", &self.no_completion_cmds),
            ("keep_alive_rcvd", &self.keep_alive_rcvd),
            ("lost_interrupts", &self.lost_interrupts),
            ("late_interrupts", &self.late_interrupts),
            ("bad_completions", &self.bad_completions),
            ("unknown_events", &self.unknown_events),
        ]
        .into_iter()
        .map(|(name, counter)| (name, counter.get()))
    }
}
