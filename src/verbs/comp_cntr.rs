// SPDX-License-Identifier: GPL-2.0

//! Completion counters: two event counters of the device each, one for completions and one for
//! completions with an error.

use super::{
    memory::log_not_shared,
    qp::Qp,
    refused::{
        self,
        Name,
        Object,
        Returnable, //
    },
    request::{
        check,
        Refusal,
        Rule, //
    },
    ucontext::UContext, //
};
use crate::{
    admin::commands::event_counter::{
        AttachEventCounter,
        CreateEventCounter,
        DestroyEventCounter,
        DetachEventCounter,
        ModifyEventCounter,
        QpEvents, //
    },
    hw::event_counter::*,
    uapi::*,
    users::{
        Use,
        Users, //
    },
    verbs::{
        device::Device,
        Efa, //
    }, //
};
use core::num::NonZeroU64;
use kernel::{
    prelude::*,
    types::ScopeGuard, //
};
use rdma::{
    dma::Lent,
    provider::{
        CompCntrBuffers,
        CompCntrCaps,
        CompCntrChange,
        CompCntrEntry,
        CompCntrMemory,
        CompCntrOps,
        CompletionCounters, //
    },
    ratelimited,
    umem::{
        Access,
        Umem, //
    },
    uverbs::DescribedMemory, //
};

/// Bytes of a value.
const VALUE_SIZE: NonZeroU64 = NonZeroU64::new(size_of::<u64>() as u64).unwrap();

/// An event counter of the device, and the memory to which it writes its value.
pub(crate) struct EventCounter {
    /// The reset generation in which the device made it.
    generation: u32,
    /// What the device knows it by.
    pub(super) handle: u32,
    /// Queue pairs that the device has it count for.
    pub(super) users: Users,
    // Dropped in this order: memory that the device used, then the use of its context.
    pub(super) memory: Lent<Umem, DestroyEventCounter>,
    _uar: Use,
}

impl Object for EventCounter {
    fn name(&self) -> Name {
        Name {
            verb: "destroy_comp_cntr",
            kind: "event counter",
            number: self.handle,
            generation: self.generation,
            handle: self.handle,
        }
    }

    fn is_in_use(&self) -> bool {
        self.users.any()
    }

    fn give_back(&self, dev: &Device<'_>) -> Result {
        let handle = self.handle;
        self.memory
            .let_go(dev.end_use(self.generation, &DestroyEventCounter { handle })?);
        Ok(())
    }
}

/// A completion counter of a user context.
pub(crate) struct CompCntr {
    completions: EventCounter,
    errors: EventCounter,
}

impl CompletionCounters for Efa {
    type CompCntr = CompCntr;

    const BUFFERS: CompCntrBuffers = CompCntrBuffers {
        completions: IB_ATTR_CREATE_COMP_CNTR_COMP_BUFFER,
        errors: IB_ATTR_CREATE_COMP_CNTR_ERR_BUFFER,
    };

    fn query_comp_cntr_caps(dev: &Device<'_>) -> CompCntrCaps {
        caps(dev)
    }

    fn create_comp_cntr(
        dev: &Device<'_>,
        ucontext: &UContext,
        memory: &CompCntrMemory<'_>,
    ) -> Result<CompCntr> {
        create(dev, ucontext, memory)
    }

    fn end_comp_cntr(dev: &Device<'_>, counter: CompCntr) {
        counter.completions.end(dev);
        counter.errors.end(dev);
    }

    fn modify_comp_cntr(
        dev: &Device<'_>,
        counter: &CompCntr,
        entry: CompCntrEntry,
        change: CompCntrChange,
    ) -> Result {
        modify(dev, counter, entry, change)
    }

    fn attach_comp_cntr(dev: &Device<'_>, qp: &Qp, counter: &CompCntr, ops: CompCntrOps) -> Result {
        attach(dev, qp, counter, ops)
    }
}

/// What the device can count, and how far. This is for user space to know: what exceeds it is the
/// device's to refuse.
fn caps(dev: &Device<'_>) -> CompCntrCaps {
    match &dev.features().queues_2 {
        Some(limits) => CompCntrCaps {
            // Each has two of the device's.
            max_counters: limits.max_event_counters / 2,
            max_value: limits.event_counter_max_val,
            ops: countable(limits.supported_event_counter_qp_events),
        },
        None => CompCntrCaps {
            max_counters: 0,
            max_value: 0,
            ops: CompCntrOps::NONE,
        },
    }
}

/// Creates a completion counter.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the device has none.
/// - `EINVAL`: a buffer is missing, shorter than a value, or not aligned to one; or the device
///   refuses it.
/// - `ENOMEM`: no memory, the process may not lock more, or the device has no counter left.
/// - `EIO`: the device was reset since the context was opened, or handed out a counter that it
///   refused to take back before.
/// - What else pinning the memory fails with.
/// - What the admin queue fails with. Nothing is left behind.
fn create(dev: &Device<'_>, ucontext: &UContext, memory: &CompCntrMemory<'_>) -> Result<CompCntr> {
    let pinned = |memory, field| {
        pin(dev, memory, field).map_err(|refusal| dev.refuse(c"create_comp_cntr", refusal))
    };
    let completions = pinned(&memory.completions, c"comp_buffer")?;
    let errors = pinned(&memory.errors, c"err_buffer")?;

    let completions = create_event_counter(dev, ucontext, completions)?;
    let completions = ScopeGuard::new_with_data(completions, |counter| counter.end(dev));
    let errors = create_event_counter(dev, ucontext, errors)?;
    Ok(CompCntr {
        completions: completions.dismiss(),
        errors,
    })
}

/// Pins the memory of a value.
fn pin(
    dev: &Device<'_>,
    memory: &DescribedMemory<'_>,
    field: &'static CStr,
) -> Result<Umem, Refusal> {
    let size = VALUE_SIZE.get();
    let memory = memory.pin(size, Access::LOCAL_WRITE).map_err(|reason| {
        log_not_shared(dev, c"create_comp_cntr", reason);
        Refusal::new(reason.into(), field, size, Rule::Pinnable)
    })?;
    // Aligned, it is in one page.
    let beyond = memory.misalignment(VALUE_SIZE);
    check(EINVAL, field, beyond, Rule::MultipleOf(size))?;
    Ok(memory)
}

fn create_event_counter(
    dev: &Device<'_>,
    ucontext: &UContext,
    memory: Umem,
) -> Result<EventCounter> {
    let generation = ucontext.generation;
    dev.expect_current(generation)?;
    let users = Users::new()?;
    let created = refused::create(dev, memory, |memory| {
        let command = CreateEventCounter {
            uarn: ucontext.uarn,
            addr: memory.dma_address(),
        };
        Ok((command, None))
    })?;
    let counter = EventCounter {
        generation,
        handle: created.reply,
        users,
        memory: created.memory,
        _uar: ucontext.users.add(),
    };
    counter.accept(dev)
}

/// Changes a value.
///
/// # Errors
///
/// - `EINVAL`: the device refuses, since it does not count so far perhaps.
/// - `EIO`: the device was reset since the counter was made.
/// - What the admin queue fails with.
fn modify(
    dev: &Device<'_>,
    counter: &CompCntr,
    entry: CompCntrEntry,
    change: CompCntrChange,
) -> Result {
    let counter = match entry {
        CompCntrEntry::Completions => &counter.completions,
        CompCntrEntry::Errors => &counter.errors,
    };
    let (operation, value) = match change {
        CompCntrChange::Set(value) => (ADMIN_EVENT_COUNTER_MODIFY_SET, value),
        CompCntrChange::Add(value) => (ADMIN_EVENT_COUNTER_MODIFY_ADD, value),
    };
    dev.expect_current(counter.generation)?;
    dev.admin.exec(&ModifyEventCounter {
        handle: counter.handle,
        operation,
        value,
    })
}

/// Counts completions of a queue pair.
///
/// # Errors
///
/// - `EINVAL`: the device does not count these.
/// - `EIO`: the device was reset since the counter or the queue pair was made.
/// - `ENOMEM`: there is no memory.
/// - What the admin queue fails with. Nothing is counted then.
fn attach(dev: &Device<'_>, qp: &Qp, counter: &CompCntr, ops: CompCntrOps) -> Result {
    dev.expect_current(counter.completions.generation)?;
    qp.expect_current(dev)?;
    let (completions, errors) = events(ops);
    // The device has to keep a counter as long as it keeps a queue pair that it counts for.
    let mut counters = qp.variable.counters.lock();
    counters.reserve(2, GFP_KERNEL_ACCOUNT)?;
    let attachment = |counter: &EventCounter, events| QpEvents {
        counter: counter.handle,
        qp: qp.handle,
        events,
    };

    let first = attachment(&counter.completions, completions);
    dev.admin.exec(&AttachEventCounter(first))?;
    counters.push(counter.completions.users.add(), GFP_KERNEL_ACCOUNT)?;
    if errors == 0 {
        return Ok(());
    }
    let second = attachment(&counter.errors, errors);
    if let Err(error) = dev.admin.exec(&AttachEventCounter(second)) {
        match dev.admin.exec(&DetachEventCounter(first)) {
            Ok(()) => drop(counters.pop()),
            Err(_) => ratelimited!(dev_warn!(
                dev.pdev,
                "qp_attach_comp_cntr: event counter {} counts until its queue pair is destroyed\n",
                counter.completions.handle
            )),
        }
        return Err(error);
    }
    counters.push(counter.errors.users.add(), GFP_KERNEL_ACCOUNT)?;
    Ok(())
}

/// The operations, and the events of the device that are their completions, good and bad.
const OPS: [(CompCntrOps, u32, u32); 6] = [
    (
        CompCntrOps::SEND,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_MASK,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_SEND_COMP_ERR_MASK,
    ),
    (
        CompCntrOps::RECV,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_MASK,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_RECV_COMP_ERR_MASK,
    ),
    (
        CompCntrOps::RDMA_READ,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_MASK,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_READ_COMP_ERR_MASK,
    ),
    (
        CompCntrOps::RDMA_WRITE,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_MASK,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_WRITE_COMP_ERR_MASK,
    ),
    // What others do fails at their end.
    (
        CompCntrOps::REMOTE_RDMA_READ,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_READ_COMP_MASK,
        0,
    ),
    (
        CompCntrOps::REMOTE_RDMA_WRITE,
        ADMIN_EVENT_COUNTER_ATTACH_QP_EVENTS_REMOTE_WRITE_COMP_MASK,
        0,
    ),
];

/// The operations that a device counts which knows these events.
fn countable(supported_events: u32) -> CompCntrOps {
    let mut ops = CompCntrOps::NONE;
    for (op, completions, errors) in OPS {
        if (completions | errors) & !supported_events == 0 {
            ops = ops.or(op);
        }
    }
    ops
}

/// The events that are completions of the operations, and those that are completions with an error.
fn events(ops: CompCntrOps) -> (u32, u32) {
    let mut events = (0, 0);
    for (op, completions, errors) in OPS {
        if ops.contains(op) {
            events.0 |= completions;
            events.1 |= errors;
        }
    }
    events
}

#[kernel::macros::kunit_tests(efa_comp_cntr)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_its_events() {
        // Numbers instead of names: bits of user space, then of the device.
        for (ops, completions, errors) in [
            (1, 1 << 0, 1 << 1),
            (2, 1 << 2, 1 << 3),
            (4, 1 << 4, 1 << 5),
            (8, 1 << 8, 0),
            (16, 1 << 6, 1 << 7),
            (32, 1 << 9, 0),
            (63, 0x355, 0xaa),
        ] {
            assert_eq!(events(CompCntrOps::from_raw(ops)), (completions, errors));
        }
    }

    #[test]
    fn an_operation_is_countable_where_all_its_events_are() {
        for (supported, ops) in [
            (0, 0),
            (0x3ff, 63),
            (0x1, 0),
            (0x2, 0),
            (0x3, 1),
            (0x3 | 0x4, 1),
            (0x100, 8),
            (0x200 | 0xc0, 48),
        ] {
            assert_eq!(countable(supported), CompCntrOps::from_raw(ops));
        }
    }
}
