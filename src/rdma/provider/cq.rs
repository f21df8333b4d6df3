// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use super::UserMmap;
use crate::cq::NewCq;
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

    /// Makes the device let go of a completion queue, which no queue pair uses any more, since
    /// user space asks for it. Then it is dropped.
    ///
    /// Where that fails the queue stays and goes on working, and user space may ask again. But it
    /// does not stay where the error is `ENODEV`, which says that no later try can succeed: then
    /// [`Self::end_cq`] is called.
    fn destroy_cq(dev: &Self::Data<'_>, cq: &Self::Cq) -> Result;

    /// Ends a completion queue whose end must not fail: its context is closing, or the device is
    /// gone. No process is notified any more.
    fn end_cq(dev: &Self::Data<'_>, cq: Self::Cq);
}
