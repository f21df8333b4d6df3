// SPDX-License-Identifier: GPL-2.0

//! Objects that the device refused to take back.
//!
//! Where a verbs object must end, but the device still has what is behind it, that part stays
//! here, with all that the device may still use, until a later try succeeds or the device is reset.

use super::{
    comp_cntr::EventCounter,
    cq::Cq,
    mr::Mr,
    pd::Pd,
    qp::Qp,
    ucontext::UContext, //
};
use crate::{
    admin::{
        control_buffer::ControlBuffer,
        AdminCommand, //
    },
    device::Device,
    quarantine::{
        Attempt,
        Slot, //
    }, //
};
use core::ops::Deref;
use kernel::prelude::*;
use rdma::ratelimited;

/// An object of the device whose verbs object is gone. It owns what the device may still use.
pub(crate) enum Refused {
    Cq(Cq),
    EventCounter(EventCounter),
    /// Memory of an object that the device may have created, or may still create.
    Memory(#[expect(dead_code, reason = "it is only kept")] KBox<dyn Send + Sync>),
    Mr(Mr),
    Pd(Pd),
    Qp(Qp),
    UContext(UContext),
}

impl Refused {
    /// Whether the device still has objects that are made from it.
    fn is_in_use(&self, dev: &Device<'_>) -> bool {
        match self {
            Self::Cq(cq) => cq.users.any(),
            Self::EventCounter(counter) => counter.users.any(),
            Self::Memory(_) => !dev.admin.dma_state().is_over(),
            Self::Mr(_) => false,
            Self::Pd(pd) => pd.users.any(),
            Self::Qp(_) => false,
            Self::UContext(ucontext) => ucontext.users.any(),
        }
    }

    fn give_back(&self, dev: &Device<'_>) -> Result {
        match self {
            Self::Cq(cq) => cq.give_back(dev),
            Self::EventCounter(counter) => counter.give_back(dev),
            Self::Memory(_) => Ok(()),
            Self::Mr(mr) => mr.give_back(dev),
            Self::Pd(pd) => pd.give_back(dev),
            Self::Qp(qp) => qp.give_back(dev),
            Self::UContext(ucontext) => ucontext.give_back(dev),
        }
    }

    /// The command that ends it, what it is called, and its number.
    fn names(&self) -> (&'static str, &'static str, u32) {
        match self {
            Self::Cq(cq) => ("destroy_cq", "CQ", cq.number.into()),
            Self::EventCounter(counter) => ("destroy_comp_cntr", "event counter", counter.handle),
            Self::Memory(_) => ("reset", "memory", 0),
            Self::Mr(mr) => ("dereg_mr", "lkey", mr.lkey),
            Self::Pd(pd) => ("dealloc_pd", "PD", pd.id.number.into()),
            Self::Qp(qp) => ("destroy_qp", "QP", qp.number.into()),
            Self::UContext(ucontext) => ("dealloc_ucontext", "UAR", ucontext.uarn.into()),
        }
    }
}

impl From<Cq> for Refused {
    fn from(cq: Cq) -> Self {
        Self::Cq(cq)
    }
}

impl From<EventCounter> for Refused {
    fn from(counter: EventCounter) -> Self {
        Self::EventCounter(counter)
    }
}

impl From<Mr> for Refused {
    fn from(mr: Mr) -> Self {
        Self::Mr(mr)
    }
}

impl From<Pd> for Refused {
    fn from(pd: Pd) -> Self {
        Self::Pd(pd)
    }
}

impl From<Qp> for Refused {
    fn from(qp: Qp) -> Self {
        Self::Qp(qp)
    }
}

impl From<UContext> for Refused {
    fn from(ucontext: UContext) -> Self {
        Self::UContext(ucontext)
    }
}

/// An object of the device, with room in the quarantine in case the device does not take it back.
pub(crate) struct Returnable<T> {
    object: T,
    slot: Slot<Refused>,
}

/// Room for a [`Returnable`], to be had before the device is asked for the object.
pub(super) struct Room(Slot<Refused>);

impl Room {
    /// Makes room.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no memory.
    pub(super) fn new() -> Result<Self> {
        Ok(Self(Slot::new()?))
    }

    /// Has the device create, by `command`, an object that uses `memory`.
    ///
    /// # Errors
    ///
    /// See [`Admin::exec`](crate::admin::Admin::exec). The memory is freed, unless it is not known
    /// what the device did: then it stays until the device was reset.
    pub(super) fn create<C: AdminCommand, M: Send + Sync + 'static>(
        self,
        dev: &Device<'_>,
        memory: M,
        command: &C,
    ) -> Result<(Self, C::Reply, M)> {
        self.create_with(dev, memory, command, None)
    }

    /// Like [`Room::create`], for a command that points to a buffer.
    pub(super) fn create_with<C: AdminCommand, M: Send + Sync + 'static>(
        self,
        dev: &Device<'_>,
        memory: M,
        command: &C,
        buffer: Option<ControlBuffer>,
    ) -> Result<(Self, C::Reply, M)> {
        let place = KBox::new_uninit(GFP_KERNEL)?;
        match dev.admin.exec_with(command, buffer) {
            Ok(reply) => Ok((self, reply, memory)),
            Err(error) => {
                // It has the command, and did not complete it.
                if error == ETIME {
                    let memory = KBox::write(place, memory);
                    dev.quarantine.insert(self.0, Refused::Memory(memory));
                }
                Err(error)
            }
        }
    }

    /// Puts `object` there.
    pub(super) fn take<T>(self, object: T) -> Returnable<T> {
        Returnable {
            object,
            slot: self.0,
        }
    }
}

impl<T> Deref for Returnable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T: Into<Refused>> Returnable<T> {
    /// Ends an object whose end must not fail: gives it back to the device, now or later.
    pub(super) fn end(self, dev: &Device<'_>) {
        let object = self.object.into();
        if try_end(dev, &object) != Attempt::Done {
            dev.quarantine.insert(self.slot, object);
        }
    }
}

/// Tries again to give back what the device refused to take.
pub(super) fn retry(dev: &Device<'_>) {
    dev.quarantine.retry(|object| try_end(dev, object));
}

fn try_end(dev: &Device<'_>, object: &Refused) -> Attempt {
    if object.is_in_use(dev) {
        return Attempt::InUse;
    }
    let Err(error) = object.give_back(dev) else {
        return Attempt::Done;
    };
    let (command, kind, number) = object.names();
    ratelimited!(dev_warn!(
        dev.pdev,
        "{command}: {kind} {number} was not taken back ({error:?}); it stays out of use until a \
         later try succeeds or the device is reset\n"
    ));
    Attempt::Refused
}
