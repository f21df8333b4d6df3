// SPDX-License-Identifier: GPL-2.0

//! A command without its type, as the queue has it, and what is said of its failures.

use super::commands::{
    status_name,
    AdminCommand, //
};
use kernel::{
    device::Device,
    fmt,
    prelude::*, //
};

/// A command without its type; in messages, its name and parameters.
pub(crate) struct Call<'a> {
    pub(crate) kind: &'static Kind,
    /// Statuses, other than success, that are an answer.
    pub(crate) answers: &'static [u8],
    parameters: &'a dyn fmt::Display,
}

/// What all commands of a type have in common: see [`AdminCommand`].
pub(crate) struct Kind {
    name: &'static str,
    pub(crate) opcode: u8,
    pub(crate) killable: bool,
    optional: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn new<C: AdminCommand>(command: &'a C) -> Self {
        Self {
            kind: const {
                &Kind {
                    name: C::NAME,
                    opcode: C::OPCODE,
                    killable: C::KILLABLE,
                    optional: C::OPTIONAL,
                }
            },
            answers: command.answers(),
            parameters: command,
        }
    }

    /// Says that the device was not given it.
    pub(crate) fn log_not_sent(&self, dev: &Device, error: Error) {
        match error {
            ENODEV => dev_err!(
                dev,
                "{self} was not sent: the admin queue is closed (not said again)\n"
            ),
            EINTR => rdma::ratelimited!(dev_info!(
                dev,
                "{self} was not sent: the process was killed\n"
            )),
            _ => rdma::ratelimited!(dev_err!(
                dev,
                "{self} was not sent: the device takes no commands\n"
            )),
        }
    }

    /// Says that the device, which knows it by `id`, completed it with a status that is a failure.
    pub(crate) fn log_status(&self, dev: &Device, id: u16, status: u8) {
        if self.kind.optional {
            return;
        }
        let name = status_name(status);
        rdma::ratelimited!(dev_err!(
            dev,
            "{self} failed: status {status} ({name}), command id {id:#x}\n"
        ));
    }
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!("{}({})", self.kind.name, self.parameters))
    }
}
