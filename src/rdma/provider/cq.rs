// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use super::UserMmap;
use crate::{
    cq::NewCq,
    destroy::Reason, //
};
use kernel::prelude::*;

/// A device with completion queues.
pub trait CompletionQueues: UserMmap {
    /// The driver's part of a completion queue.
    type Cq: Send + Sync + 'static;

    /// Makes a completion queue; the response is written before this returns.
    ///
    /// Returns how many completions it can hold, too.
    fn create_cq(
        dev: &Self::Data<'_>,
        ucontext: &Self::UContext,
        new: &mut NewCq<'_>,
    ) -> Result<(Self::Cq, u32)>;

    /// Destroys a completion queue, which no queue pair uses any more. `cq` is dropped afterwards.
    ///
    /// # Errors
    ///
    /// Only a request can fail. The process still has the queue then, and it goes on working.
    fn destroy_cq(dev: &Self::Data<'_>, cq: &mut Self::Cq, reason: Reason) -> Result;
}
