// SPDX-License-Identifier: GPL-2.0

//! Completion queues.
//!
//! Each is made of sub-CQs, rings that follow each other in memory that the process polls. Where
//! it wants events, it arms the queue by its doorbell, and the next completion raises one.

use super::{
    memory,
    mmap,
    refused::{
        self,
        Name,
        Object,
        Returnable, //
    },
    request::{
        self,
        check,
        Refusal,
        Rule, //
    },
    ucontext::UContext, //
};
use crate::{
    admin::{
        commands::cq::{
            CreateCq,
            CreatedCq,
            DestroyCq, //
        },
        eq::{
            CompletionEq,
            Subscription, //
        }, //
    },
    uapi::cq::*,
    users::{
        Use,
        Users, //
    }, //
    verbs::device::Device,
};
use core::mem::offset_of;
use kernel::{
    dma::DataDirection,
    page::page_align,
    prelude::*,
    types::ScopeGuard, //
};
use rdma::{
    cq::{
        CqMemory,
        NewCq, //
    },
    dma::Lent,
    mmap::{
        Access,
        Target, //
    }, //
};
use zerocopy::FromZeros;

/// Most entries of a sub-CQ: CREATE_CQ has 16 bits for their number, which is a power of two.
const MAX_DEPTH: u64 = 1 << 15;

const VERB: &CStr = c"create_cq";

/// Sizes of an entry in bytes, without and with the source GID.
const ENTRY_SIZE: u32 = 16;
const ENTRY_SIZE_EX: u32 = 32;

/// A completion queue.
pub(crate) struct Cq {
    /// The reset generation in which the device made it.
    pub(super) generation: u32,
    /// What the device knows it by.
    pub(super) number: u16,
    /// Queue pairs that the device has with completions in it.
    pub(super) users: Users,
    _events: Option<Subscription>,
    pub(super) memory: Lent<CqMemory, DestroyCq>,
    _uar: Use,
}

/// The memory that user space brought, or new memory, for `len` bytes.
fn memory(dev: &Device<'_>, new: &NewCq<'_>, len: usize) -> Result<CqMemory> {
    // Whole pages, as user space maps them.
    let len = page_align(len).ok_or(EINVAL)?;
    // CAST: `usize` has at most 64 bits.
    let refuse =
        |error, field, value, rule| dev.refuse(VERB, Refusal::new(error, field, value, rule));
    let umem = new.user_memory(len).map_err(|reason| {
        memory::log_not_shared(dev, VERB, reason);
        refuse(reason.into(), c"buffer", len as u64, Rule::Pinnable)
    })?;
    let Some(mut umem) = umem else {
        return memory::for_queue(dev, VERB, len, DataDirection::FromDevice).map(CqMemory::Kernel);
    };
    // The device knows only where it begins.
    if !umem.is_contiguous() {
        let pieces = 2; // or more
        return Err(refuse(EINVAL, c"buffer_pieces", pieces, Rule::AtMost(1)));
    }
    Ok(CqMemory::User(umem))
}

impl Object for Cq {
    fn name(&self) -> Name {
        Name {
            verb: "destroy_cq",
            kind: "CQ",
            number: self.number.into(),
            generation: self.generation,
            handle: self.number.into(),
        }
    }

    fn is_in_use(&self) -> bool {
        self.users.any()
    }

    fn give_back(&self, dev: &Device<'_>) -> Result {
        let number = self.number;
        self.memory
            .let_go(dev.end_use(self.generation, &DestroyCq { number })?);
        Ok(())
    }
}

/// Creates a completion queue. Returns how many entries each of its sub-CQs has, too.
///
/// # Errors
///
/// - `EOPNOTSUPP`: a flag, or something in the request, that device or driver do not have. Events
///   are one such thing where the device has no event queues. Or its memory cannot be shared.
/// - `EINVAL`: the request is too short, has wrong sizes, or something where must be nothing; the
///   memory it brings is too small, or in pieces for the device; or the device refuses it.
/// - `ENOMEM`: no memory, or the device has no completion queue left.
/// - `EFAULT`: the request cannot be read or the response not written. Nothing is left behind.
/// - `EIO`: the device was reset since the context was opened, or tells a doorbell that cannot be
///   mapped, or a number that it did not take back before.
/// - What the admin queue fails with.
pub(crate) fn create(
    dev: &Device<'_>,
    ucontext: &UContext,
    new: &mut NewCq<'_>,
) -> Result<(Cq, u32)> {
    // Libraries find out so whether there are time stamps, say: that is no failure.
    check(EOPNOTSUPP, c"attr_flags", new.flags, Rule::Exactly(0))
        .map_err(|refusal| dev.refuse(VERB, refusal))?;
    let cq = try_create(dev, ucontext, new);
    dev.stats.create_cq_err.inc_on_error(&cq);
    cq
}

fn try_create(dev: &Device<'_>, ucontext: &UContext, new: &mut NewCq<'_>) -> Result<(Cq, u32)> {
    let shape = Shape::read(dev, new).map_err(|refusal| dev.refuse(VERB, refusal))?;
    let eq = match shape.with_events {
        true => Some(dev.admin.eq(new.vector).ok_or(EOPNOTSUPP)?),
        false => None,
    };
    let generation = ucontext.generation;
    if !dev.is_current(generation) {
        return Err(EIO);
    }

    let users = Users::new()?;
    let memory = memory(dev, new, shape.len()?)?;
    let events = match eq {
        Some(eq) => Some(eq.reserve(new.notifier()?)?),
        None => None,
    };
    let created = refused::create(dev, memory, |memory| {
        let command = shape.command(ucontext.uarn, memory.dma_address(), eq);
        Ok((command, None))
    })?;
    let cq = Cq {
        generation,
        number: created.reply.number,
        users,
        _events: events.map(|events| events.subscribe(created.reply.number)),
        memory: created.memory,
        _uar: ucontext.users.add(),
    };
    let cq = cq.accept(dev)?;
    let cq = ScopeGuard::new_with_data(cq, |cq| cq.end(dev));

    let response = response(dev, new, &cq.memory, &created.reply)?;
    new.udata.respond(&response)?;
    // What the device says that it made is of no use: user space has laid out its rings.
    Ok((cq.dismiss(), shape.depth.into()))
}

/// Tells the process what it got, and lets it map the memory that it did not bring, and with that
/// the doorbell.
fn response(
    dev: &Device<'_>,
    new: &mut NewCq<'_>,
    memory: &CqMemory,
    created: &CreatedCq,
) -> Result<IbvCreateCqResp> {
    let mut response = IbvCreateCqResp {
        cq_idx: created.number,
        ..IbvCreateCqResp::new_zeroed()
    };
    let CqMemory::Kernel(memory) = memory else {
        return Ok(response);
    };
    // CAST: `usize` has at most 64 bits.
    response.q_mmap_size = memory.len() as u64;
    let target = Target::Queue(memory, Access::ReadOnly);
    response.q_mmap_key = new.mappings.add(target)?;
    if let Some(offset) = created.doorbell {
        let doorbell = mmap::doorbell(dev, offset)?;
        response.db_off = doorbell.offset_in_page;
        response.db_mmap_key = new.mappings.add(doorbell.target)?;
        response.comp_mask |= CREATE_CQ_RESP_DB_OFF;
    }
    Ok(response)
}

/// What the device allows.
struct Limits {
    max_depth: u32,
    sub_cqs: u16,
    has_events: bool,
}

impl Limits {
    fn of(dev: &Device<'_>) -> Self {
        let queues = &dev.features().queues;
        Self {
            max_depth: queues.max_cq_depth,
            sub_cqs: queues.sub_cqs_per_cq,
            has_events: dev.admin.eq_count() != 0,
        }
    }
}

/// What a queue is to be like.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    depth: u16,
    sub_cqs: u16,
    entry_size: u8,
    with_events: bool,
    with_source_gid: bool,
    wide_req_id: bool,
}

impl Shape {
    /// Reads and checks what user space wants.
    fn read(dev: &Device<'_>, new: &NewCq<'_>) -> Result<Self, Refusal> {
        let request = request::read(&new.udata, offset_of!(IbvCreateCq, flags))?;
        Self::new(&Limits::of(dev), new.depth, &request)
    }

    /// Checks what user space wants.
    fn new(limits: &Limits, depth: u32, request: &IbvCreateCq) -> Result<Self, Refusal> {
        let mut known_flags = CREATE_CQ_WITH_SGID | CREATE_CQ_WITH_SQ_COMP_64_BIT_REQ_ID;
        if limits.has_events {
            known_flags |= CREATE_CQ_WITH_COMPLETION_CHANNEL;
        }
        let has = |flag| request.flags & flag != 0;
        let none = Rule::Exactly(0);
        check(EOPNOTSUPP, c"comp_mask", request.comp_mask, none)?;
        let known_flags = Rule::OnlyBitsOf(known_flags.into());
        check(EOPNOTSUPP, c"flags", request.flags, known_flags)?;
        let with_source_gid = has(CREATE_CQ_WITH_SGID);
        let entry_size = match request.cq_entry_size {
            ENTRY_SIZE if !with_source_gid => ENTRY_SIZE,
            _ => ENTRY_SIZE_EX,
        };
        let expect = |field, value: u64, rule| check(EINVAL, field, value, rule);
        expect(c"reserved_58", request::number(&request.reserved_58), none)?;
        let exactly = Rule::Exactly(entry_size.into());
        expect(c"cq_entry_size", request.cq_entry_size.into(), exactly)?;
        let exactly = Rule::Exactly(limits.sub_cqs.into());
        expect(c"num_sub_cqs", request.num_sub_cqs.into(), exactly)?;
        let at_most = Rule::AtMost(MAX_DEPTH.min(limits.max_depth.into()));
        expect(c"cqe", depth.into(), at_most)?;
        expect(c"cqe", depth.into(), Rule::PowerOfTwo)?;
        Ok(Self {
            // CAST: Checked above.
            depth: depth as u16,
            sub_cqs: request.num_sub_cqs,
            // CAST: 16 or 32.
            entry_size: entry_size as u8,
            with_events: has(CREATE_CQ_WITH_COMPLETION_CHANNEL),
            with_source_gid,
            wide_req_id: has(CREATE_CQ_WITH_SQ_COMP_64_BIT_REQ_ID),
        })
    }

    /// The size of its memory in bytes.
    fn len(&self) -> Result<usize> {
        usize::from(self.depth)
            .checked_mul(self.entry_size.into())
            .and_then(|sub_cq| sub_cq.checked_mul(self.sub_cqs.into()))
            .ok_or(EINVAL)
    }

    fn command(&self, uarn: u16, addr: u64, eq: Option<&CompletionEq>) -> CreateCq {
        CreateCq {
            uarn,
            addr,
            depth: self.depth,
            sub_cqs: self.sub_cqs,
            entry_size: self.entry_size,
            eqn: eq.map(CompletionEq::number),
            with_source_gid: self.with_source_gid,
            wide_req_id: self.wide_req_id,
        }
    }
}

#[kernel::macros::kunit_tests(efa_cq)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        max_depth: 1 << 15,
        sub_cqs: 2,
        has_events: true,
    };

    const REQUEST: IbvCreateCq = IbvCreateCq {
        comp_mask: 0,
        cq_entry_size: 16,
        num_sub_cqs: 2,
        flags: 0,
        reserved_58: [0; 5],
    };

    fn error(limits: &Limits, depth: u32, request: IbvCreateCq) -> Option<Error> {
        let refusal = Shape::new(limits, depth, &request).err();
        refusal.map(|refusal| refusal.error)
    }

    #[test]
    fn what_is_asked_for_is_made() -> Result {
        let shape =
            |depth, request| Shape::new(&LIMITS, depth, request).map_err(|refusal| refusal.error);
        let small = shape(64, &REQUEST)?;
        assert_eq!(small.len(), Ok(2 * 64 * 16));
        assert!(!small.with_events && !small.with_source_gid && !small.wide_req_id);
        let request = IbvCreateCq {
            cq_entry_size: 32,
            flags: 7,
            ..REQUEST
        };
        let large = shape(1 << 15, &request)?;
        assert_eq!(large.len(), Ok(2 * 32 << 15));
        assert!(large.with_events && large.with_source_gid && large.wide_req_id);
        Ok(())
    }

    #[test]
    fn sizes_that_the_device_does_not_have_are_invalid() {
        for depth in [0, 3, 63, 1 << 16, u32::MAX] {
            assert_eq!(error(&LIMITS, depth, REQUEST), Some(EINVAL));
        }
        let deep = Limits {
            max_depth: u32::MAX,
            ..LIMITS
        };
        assert_eq!(error(&deep, 1 << 16, REQUEST), Some(EINVAL));
        for cq_entry_size in [0, 8, 15, 17, 31, 33, 64, u32::MAX] {
            let request = IbvCreateCq {
                cq_entry_size,
                ..REQUEST
            };
            assert_eq!(error(&LIMITS, 64, request), Some(EINVAL));
        }
        for num_sub_cqs in [0, 1, 3, u16::MAX] {
            let request = IbvCreateCq {
                num_sub_cqs,
                ..REQUEST
            };
            assert_eq!(error(&LIMITS, 64, request), Some(EINVAL));
        }
    }

    #[test]
    fn a_source_gid_needs_the_larger_entry() {
        let request = IbvCreateCq {
            flags: CREATE_CQ_WITH_SGID,
            ..REQUEST
        };
        assert_eq!(error(&LIMITS, 64, request), Some(EINVAL));
    }

    #[test]
    fn events_need_an_event_queue() {
        let limits = Limits {
            has_events: false,
            ..LIMITS
        };
        let request = IbvCreateCq {
            flags: CREATE_CQ_WITH_COMPLETION_CHANNEL,
            ..REQUEST
        };
        assert_eq!(error(&limits, 64, request), Some(EOPNOTSUPP));
        assert_eq!(error(&LIMITS, 64, request), None);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for bit in 3..8 {
            let request = IbvCreateCq {
                flags: 1 << bit,
                ..REQUEST
            };
            assert_eq!(error(&LIMITS, 64, request), Some(EOPNOTSUPP));
        }
        let request = IbvCreateCq {
            comp_mask: 1,
            ..REQUEST
        };
        assert_eq!(error(&LIMITS, 64, request), Some(EOPNOTSUPP));
        for place in 0..5 {
            let mut request = REQUEST;
            request.reserved_58[place] = 1;
            assert_eq!(error(&LIMITS, 64, request), Some(EINVAL));
        }
    }
}
