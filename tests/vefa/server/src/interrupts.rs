// SPDX-License-Identifier: GPL-2.0
//! MSI-X vectors as eventfds of the client.

use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
use rustix::io::Errno;
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use vefa_model::IrqSink;

/// The vectors of the device. Clones share them: the model raises, the server connects.
///
/// An interrupt that cannot be delivered (no eventfd yet, MSI-X off, bus mastering off) is latched, as the
/// pending bit array of a device does, and delivered once it can be.
#[derive(Clone)]
pub struct Interrupts(Rc<RefCell<State>>);

struct State {
    vectors: Vec<Vector>,
    bus_master: bool,
    msix_delivery: bool,
}

#[derive(Default)]
struct Vector {
    eventfd: Option<OwnedFd>,
    pending: bool,
}

impl Interrupts {
    /// `count` vectors, none of them connected.
    pub fn new(count: u16) -> Self {
        Interrupts(Rc::new(RefCell::new(State {
            vectors: (0..count).map(|_| Vector::default()).collect(),
            bus_master: false,
            msix_delivery: false,
        })))
    }

    /// Number of vectors.
    pub fn count(&self) -> u32 {
        u32::try_from(self.0.borrow().vectors.len()).unwrap_or(u32::MAX)
    }

    /// Number of vectors that have an eventfd.
    pub fn connected(&self) -> usize {
        let state = self.0.borrow();
        state.vectors.iter().filter(|v| v.eventfd.is_some()).count()
    }

    /// Connects the vectors from `start` on to `eventfds`.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there are not so many vectors, else that of `fcntl` on a file descriptor.
    pub fn connect(&self, start: u32, eventfds: Vec<OwnedFd>) -> Result<(), Errno> {
        for eventfd in &eventfds {
            // What came may be a pipe that is full: a write to it must not hold up the device.
            fcntl_setfl(eventfd, fcntl_getfl(eventfd)? | OFlags::NONBLOCK)?;
        }
        let count = u32::try_from(eventfds.len()).map_err(|_| Errno::INVAL)?;
        let state = &mut *self.0.borrow_mut();
        for (vector, eventfd) in state.range(start, count)?.iter_mut().zip(eventfds) {
            vector.eventfd = Some(eventfd);
        }
        state.deliver_pending();
        Ok(())
    }

    /// Disconnects `count` vectors from `start` on; the interrupts of those are latched again.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there are not so many vectors.
    pub fn disconnect(&self, start: u32, count: u32) -> Result<(), Errno> {
        for vector in self.0.borrow_mut().range(start, count)? {
            vector.eventfd = None;
        }
        Ok(())
    }

    /// Disconnects all vectors.
    pub fn disconnect_all(&self) {
        for vector in &mut self.0.borrow_mut().vectors {
            vector.eventfd = None;
        }
    }

    /// Bus mastering on or off: a message is a write to memory.
    pub fn set_bus_master(&self, on: bool) {
        let mut state = self.0.borrow_mut();
        state.bus_master = on;
        state.deliver_pending();
    }

    /// MSI-X of the function enabled and not masked, or not.
    pub fn set_msix_delivery(&self, on: bool) {
        let mut state = self.0.borrow_mut();
        state.msix_delivery = on;
        state.deliver_pending();
    }

    /// State after a reset of the function: nothing pending, delivery off. The client keeps the eventfds
    /// it gave, so they stay.
    pub fn reset(&self) {
        let mut state = self.0.borrow_mut();
        state.bus_master = false;
        state.msix_delivery = false;
        for vector in &mut state.vectors {
            vector.pending = false;
        }
    }
}

impl IrqSink for Interrupts {
    fn raise(&self, vector: u16) {
        let mut state = self.0.borrow_mut();
        if let Some(vector) = state.vectors.get_mut(usize::from(vector)) {
            vector.pending = true;
        }
        state.deliver_pending();
    }
}

impl State {
    fn range(&mut self, start: u32, count: u32) -> Result<&mut [Vector], Errno> {
        let end = start.checked_add(count).ok_or(Errno::INVAL)?;
        let range = start as usize..end as usize;
        self.vectors.get_mut(range).ok_or(Errno::INVAL)
    }

    fn deliver_pending(&mut self) {
        if !self.bus_master || !self.msix_delivery {
            return;
        }
        for vector in self.vectors.iter_mut().filter(|v| v.pending) {
            if let Some(eventfd) = &vector.eventfd {
                vector.pending = false;
                signal(eventfd);
            }
        }
    }
}

/// Adds one to an eventfd. Its failures are not errors of the device: a counter that is full has been
/// signalled, and an end that is closed has nobody to tell.
fn signal(eventfd: &OwnedFd) {
    let _ = rustix::io::write(eventfd, &1_u64.to_ne_bytes());
}
