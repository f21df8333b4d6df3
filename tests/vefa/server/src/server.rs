// SPDX-License-Identifier: GPL-2.0
//! The loop that waits for clients, requests, due work and the signal to stop.

use crate::slot::{Ready, Slot};
use anyhow::{bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde_json::Value;
use std::collections::BTreeMap;
use std::iter;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Messages of a vfio-user client that are served before others get their turn.
const MESSAGES_PER_TURN: usize = 64;

/// The devices, and those who use them.
pub struct Server {
    slots: Vec<Slot>,
}

impl Server {
    /// A server for the devices in `slots`.
    ///
    /// # Errors
    ///
    /// When two of them have the same GID, by which they reach each other.
    pub fn new(mut slots: Vec<Slot>) -> Result<Self> {
        check_addresses(&slots)?;
        if slots.len() > 1 {
            for (number, slot) in slots.iter_mut().enumerate() {
                slot.call(format!("device {number}: "));
            }
        }
        Ok(Server { slots })
    }

    /// Serves until `stop` becomes readable or a control client asks to quit. Returns what leaked, device by
    /// device.
    ///
    /// # Errors
    ///
    /// When waiting or accepting fails, which no client can cause.
    pub fn run(mut self, stop: impl AsFd) -> Result<Vec<Value>> {
        let mut stopping = false;
        while !stopping {
            let timeout = self.work();
            let (stop, ready) = self.wait(stop.as_fd(), timeout)?;
            for (number, ready) in ready.iter().enumerate() {
                self.serve(number, ready)?;
            }
            stopping = stop || self.slots.iter().any(Slot::wants_to_quit);
        }
        Ok(self.slots.iter().map(|slot| slot.device.leaks()).collect())
    }

    /// Does the work that is due. Returns how long it is until the next, if there is any.
    fn work(&mut self) -> Option<Duration> {
        self.poll();
        vefa_fabric::carry(&mut self.slots);
        // What was carried may have made work, or not have been all.
        self.poll()
    }

    fn poll(&mut self) -> Option<Duration> {
        let slots = self.slots.iter_mut();
        slots.filter_map(|slot| slot.device.poll()).min()
    }

    /// Serves what is ready in one slot. What a message makes a device send is carried once the message is
    /// answered: the guest goes on meanwhile.
    fn serve(&mut self, number: usize, ready: &Ready) -> Result<()> {
        if ready.client {
            self.serve_client(number);
        }
        let Some(slot) = self.slots.get_mut(number) else {
            return Ok(());
        };
        slot.serve_control_clients(ready);
        slot.accept(ready)
    }

    fn serve_client(&mut self, number: usize) {
        for _ in 0..MESSAGES_PER_TURN {
            let slot = self.slots.get_mut(number);
            if !slot.is_some_and(Slot::serve_client) {
                break;
            }
            vefa_fabric::carry(&mut self.slots);
        }
    }

    /// Waits for at most `timeout`. Returns whether to stop, and what there is to do in each slot.
    fn wait(&self, stop: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<(bool, Vec<Ready>)> {
        let stop = PollFd::from_borrowed_fd(stop, PollFlags::IN);
        let others = self.slots.iter().flat_map(Slot::poll_fds);
        let mut fds: Vec<PollFd<'_>> = iter::once(stop).chain(others).collect();
        let timeout = timeout.map(|t| Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(error) => return Err(error).context("poll"),
        }
        let mut fired = fds.iter().map(|fd| !fd.revents().is_empty());
        let stop = fired.next().unwrap_or(false);
        let ready = self.slots.iter().map(|slot| slot.ready(&mut fired));
        Ok((stop, ready.collect()))
    }
}

fn check_addresses(slots: &[Slot]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for (number, slot) in slots.iter().enumerate() {
        let gid = slot.device.gid();
        if let Some(other) = seen.insert(gid, number) {
            bail!("devices {other} and {number} have the same gid, {gid}");
        }
    }
    Ok(())
}
