// SPDX-License-Identifier: GPL-2.0

//! Queue pairs.

use super::CompletionQueues;
use crate::{
    qp::{
        NewQp,
        QpAttrs,
        QpChange,
        QpStatus, //
    },
    udata::Udata, //
};
use kernel::prelude::*;

/// A device with queue pairs.
pub trait QueuePairs: CompletionQueues {
    /// The driver's part of a queue pair.
    type Qp: Send + Sync + 'static;

    /// Makes a queue pair; the response is written before this returns.
    fn create_qp(dev: &Self::Data<'_>, new: &mut NewQp<'_, Self>) -> Result<Self::Qp>;

    /// The number by which peers know a queue pair.
    fn qp_number(qp: &Self::Qp) -> u32;

    /// Changes a queue pair. After an error it is as it was before.
    fn modify_qp(
        dev: &Self::Data<'_>,
        qp: &Self::Qp,
        change: &QpChange,
        udata: &Udata<'_>,
    ) -> Result;

    /// Reports the state of a queue pair; `wanted` is what the caller wants to know of it.
    fn query_qp(dev: &Self::Data<'_>, qp: &Self::Qp, wanted: QpAttrs) -> Result<QpStatus>;

    /// Makes the device let go of a queue pair, since user space asks for it. Then it is dropped.
    ///
    /// Its mappings were given up: no process can map them from now on, but some may have.
    ///
    /// Where that fails the queue pair stays, and user space may ask again. But it does not stay
    /// where the error is `ENODEV`, which says that no later try can succeed: then
    /// [`Self::end_qp`] is called.
    ///
    /// # Errors
    ///
    /// - `ENODEV`, as above.
    /// - `EBUSY`: the process still has mapped what others would get, and this is as much as it may
    ///   keep.
    /// - What the device refuses it with.
    fn destroy_qp(dev: &Self::Data<'_>, qp: &Self::Qp) -> Result;

    /// Ends a queue pair whose end must not fail: its context is closing, or the device is gone. Its
    /// mappings were given up.
    fn end_qp(dev: &Self::Data<'_>, qp: Self::Qp);
}
