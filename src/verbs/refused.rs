// SPDX-License-Identifier: GPL-2.0

//! Objects that the device refused to take back, or cannot be given back yet.
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
        Created,
        Creates,
        NotCreated, //
    },
    quarantine::Attempt,
    verbs::{
        device::Device,
        Efa, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    time::Msecs, //
};
use rdma::{
    cq::CqMemory,
    deferred::Work,
    dma::{
        Lent,
        UntilReset, //
    },
    provider::DeferredWork,
    queue_memory::QueueMemory,
    ratelimited,
    umem::Umem, //
};

/// An object of the device whose verbs object is gone. It owns what the device may still use.
pub(crate) enum Refused {
    Cq(Cq),
    EventCounter(EventCounter),
    Mr(Mr),
    Pd(Pd),
    /// Memory of a CQ that the device may have created, or may still create.
    CqMemory(#[expect(dead_code, reason = "it is only kept")] Lent<CqMemory, UntilReset>),
    /// The same of a memory region or an event counter.
    PinnedMemory(#[expect(dead_code, reason = "it is only kept")] Lent<Umem, UntilReset>),
    Qp(Qp),
    /// The same of a receive queue.
    QueueMemory(
        #[expect(dead_code, reason = "it is only kept")] Lent<Option<QueueMemory>, UntilReset>,
    ),
    UContext(UContext),
}

impl Refused {
    /// The object; `None` for memory alone, which only a reset can end.
    #[cold]
    fn object(&self) -> Option<&dyn Object> {
        match self {
            Self::Cq(cq) => Some(cq),
            Self::EventCounter(counter) => Some(counter),
            Self::Mr(mr) => Some(mr),
            Self::Pd(pd) => Some(pd),
            Self::Qp(qp) => Some(qp),
            Self::UContext(ucontext) => Some(ucontext),
            Self::CqMemory(_) | Self::PinnedMemory(_) | Self::QueueMemory(_) => None,
        }
    }

    /// Its memory, if it has some, for as long as only a reset can end the use of it.
    fn into_memory(self) -> Option<Self> {
        match self {
            Self::Cq(cq) => Some(cq.memory.until_reset().into()),
            Self::EventCounter(counter) => Some(counter.memory.until_reset().into()),
            Self::Mr(mr) => Some(mr.memory.until_reset().into()),
            Self::Qp(qp) => Some(qp.receive_ring.until_reset().into()),
            Self::Pd(_) | Self::UContext(_) => None,
            memory @ (Self::CqMemory(_) | Self::PinnedMemory(_) | Self::QueueMemory(_)) => {
                Some(memory)
            }
        }
    }
}

impl fmt::Display for Refused {
    /// What it is, and what people know it by.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.object().map(Object::name) {
            Some(name) => write!(f, "{}  {}", name.kind, name.number),
            None => f.write_str("memory  -"),
        }
    }
}

/// An object of the device.
pub(crate) trait Object {
    /// What it is called.
    fn name(&self) -> Name;

    /// Whether the device still has objects that are made from it, or a process can reach what the
    /// device would give to others.
    fn is_in_use(&self) -> bool {
        false
    }

    /// Called where it has to stay on the device since it is in use, before it does.
    fn hold_back(&self, _dev: &Device<'_>) {}

    /// Makes the device let go of it.
    ///
    /// # Errors
    ///
    /// - `EAGAIN`: the device let go of a part, as much as it may be asked for at once.
    /// - What [`Device::end`] fails with.
    fn give_back(&self, dev: &Device<'_>) -> Result;
}

/// What an object of the device is called.
pub(crate) struct Name {
    /// The verb that ends it.
    pub(super) verb: &'static str,
    /// The kind of object.
    pub(super) kind: &'static str,
    /// What people know it by.
    pub(super) number: u32,
    /// The reset generation in which the device made it.
    pub(super) generation: u32,
    /// What the device knows it by, one of its kind.
    pub(super) handle: u32,
}

impl Name {
    /// Whether both are names of one object of the device.
    fn is(&self, other: &Self) -> bool {
        (self.kind, self.generation, self.handle) == (other.kind, other.generation, other.handle)
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

impl From<Lent<CqMemory, UntilReset>> for Refused {
    fn from(memory: Lent<CqMemory, UntilReset>) -> Self {
        Self::CqMemory(memory)
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

impl From<Lent<Umem, UntilReset>> for Refused {
    fn from(memory: Lent<Umem, UntilReset>) -> Self {
        Self::PinnedMemory(memory)
    }
}

impl From<Lent<Option<QueueMemory>, UntilReset>> for Refused {
    fn from(memory: Lent<Option<QueueMemory>, UntilReset>) -> Self {
        Self::QueueMemory(memory)
    }
}

impl From<UContext> for Refused {
    fn from(ucontext: UContext) -> Self {
        Self::UContext(ucontext)
    }
}

/// Has the device create an object that uses `memory`, by the command that `command` makes.
///
/// # Errors
///
/// See [`Admin::create`](crate::admin::Admin::create). The memory is freed, unless it is not known
/// what the device did: then it stays until the device was reset.
pub(super) fn create<C: Creates, M: 'static>(
    dev: &Device<'_>,
    memory: M,
    command: impl FnOnce(&mut Lent<M, C::End>) -> Result<(C, Option<ControlBuffer>)>,
) -> Result<Created<C, M>>
where
    Lent<M, UntilReset>: Into<Refused>,
{
    dev.admin
        .create(memory, command)
        .map_err(|NotCreated { error, kept }| {
            if let Some(memory) = kept {
                quarantine(dev, memory.into());
            }
            error
        })
}

/// How an object that the device handed out comes, and goes.
pub(crate) trait Returnable: Object + Into<Refused> {
    /// Takes a new object over from the device.
    ///
    /// # Errors
    ///
    /// `EIO`: the device handed out a number that it refused to take back before. The new object is
    /// ended, and the old one with it if the device lets go of the number now: it has nothing of
    /// that number any more then. The old one's memory stays until the device was reset.
    #[inline(always)] // An object is large, and need not be moved for this.
    fn accept(self, dev: &Device<'_>) -> Result<Self> {
        let name = self.name();
        match take_namesake(dev, &name) {
            None => Ok(self),
            Some(old) => {
                end_both(dev, &name, old, self.into());
                Err(EIO)
            }
        }
    }

    /// Makes the device let go of an object, since its process asks for it.
    ///
    /// # Errors
    ///
    /// - `ENODEV`: no later try of the process can succeed, so the object is to be [ended]. The
    ///   device does not answer, or it kept what is made from this object, of which the process
    ///   knows nothing, or a process can still reach what is the object's.
    /// - `EINVAL`, `ENOMEM`, `EOPNOTSUPP`: the device refused. A later try may succeed.
    ///
    /// [ended]: Self::end
    fn destroy(&self, dev: &Device<'_>) -> Result {
        if self.is_in_use() {
            return Err(ENODEV);
        }
        self.give_back(dev).map_err(error_of_request)
    }

    /// Ends an object whose end must not fail: gives it back to the device, now or later.
    fn end(self, dev: &Device<'_>) {
        if self.is_in_use() {
            self.hold_back(dev);
        }
        end_or_quarantine(dev, self.into());
    }
}

impl<T: Object + Into<Refused>> Returnable for T {}

/// Takes what has a name out of the quarantine, if it is there.
fn take_namesake(dev: &Device<'_>, name: &Name) -> Option<Refused> {
    dev.quarantine
        .take(|refused| refused.object().is_some_and(|old| old.name().is(name)))
}

/// Ends an old object and a new one to which the device gave the same number.
#[cold]
fn end_both(dev: &Device<'_>, name: &Name, old: Refused, new: Refused) {
    ratelimited!(dev_err!(
        dev.pdev,
        "the device handed out {} {}, which it has not taken back yet\n",
        name.kind,
        name.number
    ));
    if is_in_use(&old) {
        // What ends the old one ends the new one, and no sooner.
        if let Some(memory) = new.into_memory() {
            quarantine(dev, memory);
        }
        quarantine(dev, old);
    } else if try_end_first(dev, &new) != Attempt::Done {
        quarantine(dev, old);
        quarantine(dev, new);
    } else {
        // What the device let go of is the new object's.
        if let Some(memory) = old.into_memory() {
            quarantine(dev, memory);
        }
        // What the old one was made from may wait for it.
        dev.retries.begin();
    }
}

#[inline(never)]
fn end_or_quarantine(dev: &Device<'_>, object: Refused) {
    if try_end_first(dev, &object) != Attempt::Done {
        quarantine(dev, object);
    }
}

/// What a process is told when its request to end an object failed with `error`.
fn error_of_request(error: Error) -> Error {
    // The command was never completed, or it could not be sent and never can.
    if error == ETIME || error == EIO {
        ENODEV
    } else {
        error
    }
}

#[cold]
fn quarantine(dev: &Device<'_>, object: Refused) {
    dev.quarantine.insert(object);
    dev.retries.begin();
}

impl DeferredWork for Efa {
    fn work<'a>(dev: &'a Device<'_>) -> &'a Work {
        dev.retries.work()
    }

    /// Tries again to give back what the device refused to take.
    fn run(dev: &Device<'_>) -> Option<Msecs> {
        // Nothing more is sent to a device that failed: what waits is for its reset.
        if !dev.admin.is_open() {
            return None;
        }
        let outcome = dev.quarantine.retry(|object| try_end(dev, object));
        dev.retries.after(outcome)
    }
}

fn is_in_use(refused: &Refused) -> bool {
    refused.object().is_some_and(|object| object.is_in_use())
}

fn try_end(dev: &Device<'_>, refused: &Refused) -> Attempt {
    let Some(object) = refused.object() else {
        return match dev.admin.dma().is_over() {
            true => Attempt::Done,
            false => Attempt::InUse,
        };
    };
    if object.is_in_use() {
        return Attempt::InUse;
    }
    match object.give_back(dev) {
        Ok(()) => Attempt::Done,
        Err(EAGAIN) => Attempt::Partly,
        Err(_) => Attempt::Refused,
    }
}

/// Like [`try_end`], for the first try: says what becomes of an object that is refused. Each command
/// that fails is in the log anyhow.
fn try_end_first(dev: &Device<'_>, refused: &Refused) -> Attempt {
    let attempt = try_end(dev, refused);
    if let (Attempt::Refused, Some(object)) = (&attempt, refused.object()) {
        let name = object.name();
        ratelimited!(dev_warn!(
            dev.pdev,
            "{}: {} {} was not taken back; it stays out of use until a later try succeeds or the \
             device is reset\n",
            name.verb,
            name.kind,
            name.number
        ));
    }
    attempt
}

#[kernel::macros::kunit_tests(efa_refused)]
mod tests {
    use super::*;

    const CQ: Name = Name {
        verb: "destroy_cq",
        kind: "CQ",
        number: 7,
        generation: 1,
        handle: 7,
    };

    #[test]
    fn a_process_may_try_again_only_where_that_can_succeed() {
        for error in [ETIME, EIO, ENODEV] {
            assert_eq!(error_of_request(error), ENODEV);
        }
        for error in [EINVAL, ENOMEM, EOPNOTSUPP] {
            assert_eq!(error_of_request(error), error);
        }
    }

    #[test]
    fn an_object_is_told_by_kind_generation_and_handle() {
        assert!(CQ.is(&Name { number: 8, ..CQ }));
        assert!(!CQ.is(&Name { kind: "QP", ..CQ }));
        assert!(!CQ.is(&Name { handle: 8, ..CQ }));
        assert!(!CQ.is(&Name {
            generation: 2,
            ..CQ
        }));
    }
}
