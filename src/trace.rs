// SPDX-License-Identifier: GPL-2.0

//! The tracepoints of the driver. Their records are in `include/trace/events/efa.h`.
//!
//! While nobody listens, each costs a branch that is not taken.

use kernel::{
    device::Device,
    time::{
        Instant,
        Monotonic, //
    }, //
};

rdma::tracepoints! {
    /// The device is given the command of this id.
    pub(crate) fn efa_admin_submit(dev: &Device, id: u16, opcode: u8);

    /// The submitter of a command has its completion.
    pub(crate) fn efa_admin_complete(
        dev: &Device,
        id: u16,
        opcode: u8,
        status: u8,
        start: Instant<Monotonic>,
    );

    /// The submitter of a command stopped waiting: for too long, or since the queue was closed.
    pub(crate) fn efa_admin_timeout(dev: &Device, id: u16, opcode: u8, start: Instant<Monotonic>);

    /// The device reported something on its own.
    pub(crate) fn efa_aenq(dev: &Device, group: u16, syndrome: u16);

    /// An entry of event queue `eqn`, its type in place: of type 0, a completion event of CQ `cqn`.
    pub(crate) fn efa_eq(dev: &Device, eqn: u16, kind: u32, cqn: u16);

    /// A reset ended, well (`result` 0) or not (an errno).
    pub(crate) fn efa_reset(dev: &Device, reason: u32, result: i32, start: Instant<Monotonic>);
}
