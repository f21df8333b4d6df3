// SPDX-License-Identifier: GPL-2.0

//! The tracepoints of the driver. Their records are in `include/trace/events/efa.h`, with whose
//! prototypes the compiler compares each function here.
//!
//! While nobody listens, each costs a branch that is not taken.

use kernel::{
    device::Device,
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    }, //
};
use rdma::attr::Gid;

/// How a handle was found without a command.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Hit {
    /// It had users.
    AtOnce = 0,
    /// Another thread was creating it, and the caller waited.
    Waited = 1,
    /// It had no users, and the device had refused to destroy it.
    Parked = 2,
}

rdma::tracepoints! {
    bindings = "EFA_TRACEPOINTS";

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

    /// A request was refused by the driver: the value of a field breaks `rule`, a number of the verbs
    /// (`src/verbs/request.rs`), with its `limit`.
    pub(crate) fn efa_refused(
        dev: &Device,
        verb: &CStr,
        field: &CStr,
        value: u64,
        rule: u8,
        limit: u64,
        errno: i32,
    );

    /// A handle was found; `how` is a [`Hit`]. `users` counts the finder.
    pub(crate) fn efa_ah_hit(dev: &Device, pd: u16, gid: &Gid, ah: u16, users: i32, how: u8);

    /// There was no handle; CREATE_AH follows.
    pub(crate) fn efa_ah_miss(dev: &Device, pd: u16, gid: &Gid);

    /// CREATE_AH succeeded.
    pub(crate) fn efa_ah_create(
        dev: &Device,
        pd: u16,
        gid: &Gid,
        ah: u16,
        users: i32,
        start: Option<Instant<Monotonic>>,
    );

    /// DESTROY_AH succeeded.
    pub(crate) fn efa_ah_destroy(
        dev: &Device,
        pd: u16,
        gid: &Gid,
        ah: u16,
        users: i32,
        start: Option<Instant<Monotonic>>,
    );

    /// The command of this opcode failed.
    pub(crate) fn efa_ah_failure(
        dev: &Device,
        pd: u16,
        gid: &Gid,
        ah: u16,
        opcode: u8,
        errno: i32,
        start: Option<Instant<Monotonic>>,
    );
}

/// Whether somebody wants to know how long commands of the address handle cache take.
#[inline(always)]
pub(crate) fn ah_commands_are_traced() -> bool {
    efa_ah_create_enabled() || efa_ah_destroy_enabled() || efa_ah_failure_enabled()
}
