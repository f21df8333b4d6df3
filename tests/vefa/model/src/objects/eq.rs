// SPDX-License-Identifier: GPL-2.0
//! Event queues.

use crate::ring::Ring;

/// A live event queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventQueue {
    pub vector: u16,
    /// Its elements.
    pub ring: Ring,
    /// Whether completion events are enabled on it.
    pub completions: bool,
    /// Whether the next event raises the interrupt.
    pub armed: bool,
    /// Whether an event was written since the last interrupt.
    pub pending: bool,
}

impl EventQueue {
    pub fn new(vector: u16, ring: Ring, completions: bool) -> Self {
        Self {
            vector,
            ring,
            completions,
            armed: false,
            pending: false,
        }
    }
}
