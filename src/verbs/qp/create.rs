// SPDX-License-Identifier: GPL-2.0

//! Creating queue pairs.

use super::{
    may_have_send_ring,
    MadeFrom,
    Qp,
    Variable, //
};
use crate::{
    admin::commands::qp::{
        CreateQp,
        Transport, //
    },
    hw::{
        admin::*,
        qp::*, //
    },
    uapi::qp::*,
    verbs::{
        cq::Cq,
        device::Device,
        memory,
        mmap,
        refused::{
            self,
            Returnable, //
        },
        request::{
            self,
            check,
            Refusal,
            Rule, //
        },
        Efa, //
    }, //
};
use core::{
    mem::offset_of,
    ptr, //
};
use kernel::{
    dma::DataDirection,
    prelude::*,
    sync::Arc, //
};
use rdma::{
    mmap::{
        Access,
        Mappings,
        Target, //
    },
    qp::{
        NewQp,
        QpCap,
        QpType, //
    },
    queue_memory::QueueMemory, //
};
use zerocopy::FromZeros;

/// The smallest descriptor of a send, in bytes.
const MIN_SEND_DESC_SIZE: u32 = 64;

/// A descriptor of a receive buffer, in bytes.
const RECV_DESC_SIZE: u32 = 16;

/// Creates a queue pair.
///
/// # Errors
///
/// - `EOPNOTSUPP`: a type, flag or part of the request that EFA or this device does not have; or its
///   memory cannot be shared.
/// - `EINVAL`: the request is too short, or has reserved bytes that are not 0; sizes are above the
///   device's, or the rings too small for them; or the device refuses it, the service level perhaps.
/// - `ENOMEM`: no memory, or the device has no queue pair left.
/// - `EBUSY`: eight destroyed queue pairs of the context wait until their send rings are unmapped.
/// - `EFAULT`: the request cannot be read or the response not written. The queue pair is given back.
/// - `EIO`: the device told something impossible, or was reset since what the queue pair is made
///   from was created.
/// - What the admin queue fails with.
pub(super) fn create(dev: &Device<'_>, new: &mut NewQp<'_, Efa>) -> Result<Qp> {
    let request = Request::read(dev, new).map_err(|refusal| dev.refuse(c"create_qp", refusal))?;
    // Read first: should a reset come in between, the queue pair counts as one from before it.
    let generation = dev.admin.generation();
    let made_from = [
        new.pd.domain.id.generation,
        new.ucontext.generation,
        request.send_cq.generation,
        request.recv_cq.generation,
    ];
    if made_from != [generation; 4] {
        return Err(EIO);
    }

    if request.sizes.send_queue_ring_size != 0 {
        may_have_send_ring(dev, new.ucontext)?;
    }
    let ring = request.receive_ring(dev)?;
    let variable = Arc::pin_init(Variable::new(dev), GFP_KERNEL_ACCOUNT)?;
    let created = refused::create(dev, ring, |ring| {
        Ok((request.command(new, ring.dma_address()), None))
    })?;
    let qp = Qp {
        generation,
        handle: created.reply.qp_handle,
        number: created.reply.qp_num,
        transport: request.transport,
        cap: new.cap,
        receive_ring: created.memory,
        variable,
        made_from: MadeFrom {
            _pd: new.pd.users.add(),
            ucontext: new.ucontext.users.add().into(),
            _send_cq: request.send_cq.users.add(),
            _recv_cq: (!ptr::eq(request.send_cq, request.recv_cq))
                .then(|| request.recv_cq.users.add()),
        },
    };
    let qp = qp.accept(dev)?;
    let responded = request
        .response(dev, &mut new.mappings, &qp, &created.reply)
        .and_then(|response| new.udata.respond(&response));
    if let Err(error) = responded {
        // First, so that nobody can reach its rings.
        new.mappings.clear();
        qp.end(dev);
        return Err(error);
    }
    Ok(qp)
}

/// A request that was checked.
struct Request<'a> {
    transport: Transport,
    sizes: AdminQpAllocSize,
    flags: u16,
    sl: u8,
    send_cq: &'a Cq,
    recv_cq: &'a Cq,
}

impl<'a> Request<'a> {
    fn read(dev: &Device<'_>, new: &NewQp<'a, Efa>) -> Result<Self, Refusal> {
        let request: IbvCreateQp = request::read(&new.udata, offset_of!(IbvCreateQp, flags))?;
        let features = dev.features();
        check_flags(&request, features.device.device_caps)?;
        let inline_limit = dev.inline_buf_size().max(dev.inline_buf_size_ex());
        check_cap(&new.cap, &features.queues, inline_limit.into())?;
        let sizes = AdminQpAllocSize {
            send_queue_ring_size: request.sq_ring_size,
            send_queue_depth: new.cap.max_send_wr,
            recv_queue_ring_size: request.rq_ring_size,
            recv_queue_depth: new.cap.max_recv_wr,
        };
        check_rings(&sizes, &features.queues)?;
        let none = Rule::Exactly(0);
        check(EOPNOTSUPP, c"srq", new.has_shared_receives, none)?;
        check(EOPNOTSUPP, c"create_flags", new.create_flags, none)?;
        let without = |field| move || Refusal::new(EOPNOTSUPP, field, false, Rule::Exactly(1));
        Ok(Self {
            transport: transport(new.qp_type, request.driver_qp_type)?,
            sizes,
            flags: request.flags,
            sl: request.sl,
            send_cq: new.send_cq.ok_or_else(without(c"send_cq"))?,
            recv_cq: new.recv_cq.ok_or_else(without(c"recv_cq"))?,
        })
    }

    /// Allocates the receive ring, if there is to be one.
    fn receive_ring(&self, dev: &Device<'_>) -> Result<Option<QueueMemory>> {
        let size = self.sizes.recv_queue_ring_size.try_into()?;
        if size == 0 {
            return Ok(None);
        }
        memory::for_queue(dev, c"create_qp", size, DataDirection::ToDevice).map(Some)
    }

    fn command(&self, new: &NewQp<'_, Efa>, rq_addr: u64) -> CreateQp {
        CreateQp {
            pdn: new.pd.domain.id.number,
            uarn: new.ucontext.uarn,
            transport: self.transport,
            unsolicited_write_recv: self.flags & CREATE_QP_WITH_UNSOLICITED_WRITE_RECV != 0,
            wide_req_ids: self.flags & CREATE_QP_WITH_SQ_64_BIT_REQ_ID != 0,
            send_cq: self.send_cq.number,
            recv_cq: self.recv_cq.number,
            rq_addr,
            sizes: self.sizes,
            sl: self.sl,
        }
    }

    /// Lets the process map what the device told, and says how.
    fn response(
        &self,
        dev: &Device<'_>,
        mappings: &mut Mappings<'_>,
        qp: &Qp,
        created: &AdminCreateQpResp,
    ) -> Result<IbvCreateQpResp> {
        let mut response = IbvCreateQpResp::new_zeroed();
        response.send_sub_cq_idx = created.send_sub_cq_idx;
        response.recv_sub_cq_idx = created.recv_sub_cq_idx;
        let sq_ring_size = self.sizes.send_queue_ring_size;
        if sq_ring_size != 0 {
            let sq_doorbell = mmap::doorbell(dev, created.sq_db_offset)?;
            response.sq_db_offset = sq_doorbell.offset_in_page;
            response.sq_db_mmap_key = mappings.add(sq_doorbell.target)?;
            let watched = qp.variable.send_ring.watch(qp.variable.clone());
            let llq = mmap::llq(dev, created.llq_descriptors_offset, sq_ring_size, watched)?;
            response.llq_desc_offset = llq.offset_in_page;
            response.llq_desc_mmap_key = mappings.add(llq.target)?;
        }
        if let Some(ring) = &*qp.receive_ring {
            let rq_doorbell = mmap::doorbell(dev, created.rq_db_offset)?;
            response.rq_db_offset = rq_doorbell.offset_in_page;
            response.rq_db_mmap_key = mappings.add(rq_doorbell.target)?;
            response.rq_mmap_size = ring.len() as u64;
            response.rq_mmap_key = mappings.add(Target::Queue(ring, Access::ReadWrite))?;
        }
        Ok(response)
    }
}

/// Checks what is optional or reserved in a request.
fn check_flags(request: &IbvCreateQp, device_caps: u32) -> Result<(), Refusal> {
    let none = Rule::Exactly(0);
    check(EOPNOTSUPP, c"comp_mask", request.comp_mask, none)?;
    let reserved = request::number(&request.reserved_98);
    check(EINVAL, c"reserved_98", reserved, none)?;
    let mut known = 0;
    if device_caps & ADMIN_FEATURE_DEVICE_ATTR_DESC_UNSOLICITED_WRITE_RECV_MASK != 0 {
        known |= CREATE_QP_WITH_UNSOLICITED_WRITE_RECV;
    }
    if device_caps & ADMIN_FEATURE_DEVICE_ATTR_DESC_SQ_64_BIT_REQ_ID_MASK != 0 {
        known |= CREATE_QP_WITH_SQ_64_BIT_REQ_ID;
    }
    let known = Rule::OnlyBitsOf(known.into());
    check(EOPNOTSUPP, c"flags", request.flags, known)
}

/// Checks that a queue pair is not larger than the device can have it.
fn check_cap(
    cap: &QpCap,
    limits: &AdminFeatureQueueAttrDesc1,
    inline_limit: u32,
) -> Result<(), Refusal> {
    let at_most =
        |field, value, limit: u32| check(EINVAL, field, value, Rule::AtMost(limit.into()));
    at_most(c"max_send_wr", cap.max_send_wr, limits.max_sq_depth)?;
    at_most(c"max_recv_wr", cap.max_recv_wr, limits.max_rq_depth)?;
    let (max_send_sge, max_recv_sge) = (limits.max_wr_send_sges, limits.max_wr_recv_sges);
    at_most(c"max_send_sge", cap.max_send_sge, max_send_sge.into())?;
    at_most(c"max_recv_sge", cap.max_recv_sge, max_recv_sge.into())?;
    at_most(c"max_inline_data", cap.max_inline_data, inline_limit)
}

/// Checks that the rings have room for the work requests, and are not larger than user space has
/// reason to ask for.
fn check_rings(
    sizes: &AdminQpAllocSize,
    limits: &AdminFeatureQueueAttrDesc1,
) -> Result<(), Refusal> {
    // User space rounds work requests and descriptors up to powers of two.
    let max_recv_descs = u64::from(limits.max_rq_depth)
        .next_power_of_two()
        .saturating_mul(limits.max_wr_recv_sges.into())
        .checked_next_power_of_two()
        .unwrap_or(u64::MAX);
    let max_recv_ring = max_recv_descs.saturating_mul(RECV_DESC_SIZE.into());
    let ring = |field, size: u32, max, depth: u32, desc_size: u32| {
        check(EINVAL, field, size, Rule::AtMost(max))?;
        // Both have 32 bits.
        let min = u64::from(depth) * u64::from(desc_size);
        check(EINVAL, field, size, Rule::AtLeast(min))
    };
    let (size, depth) = (sizes.send_queue_ring_size, sizes.send_queue_depth);
    let max_send_ring = limits.max_llq_size.into();
    ring(
        c"sq_ring_size",
        size,
        max_send_ring,
        depth,
        MIN_SEND_DESC_SIZE,
    )?;
    let (size, depth) = (sizes.recv_queue_ring_size, sizes.recv_queue_depth);
    ring(c"rq_ring_size", size, max_recv_ring, depth, RECV_DESC_SIZE)
}

/// The transport for a type of verbs, and of the provider library where verbs leave it to that.
fn transport(qp_type: QpType, driver_qp_type: u32) -> Result<Transport, Refusal> {
    match qp_type {
        QpType::Ud => Ok(Transport::Ud),
        QpType::Driver => {
            let srd = Rule::Exactly(QP_DRIVER_TYPE_SRD.into());
            check(EOPNOTSUPP, c"driver_qp_type", driver_qp_type, srd)?;
            Ok(Transport::Srd)
        }
        QpType::Other(number) => {
            let driver = Rule::Exactly(QpType::DRIVER.into());
            Err(Refusal::new(EOPNOTSUPP, c"qp_type", number, driver))
        }
    }
}

#[kernel::macros::kunit_tests(efa_qp_create)]
mod tests {
    use super::*;

    fn limits() -> AdminFeatureQueueAttrDesc1 {
        let mut limits = AdminFeatureQueueAttrDesc1::new_zeroed();
        limits.max_sq_depth = 4096;
        limits.max_rq_depth = 1000;
        limits.max_wr_send_sges = 2;
        limits.max_wr_recv_sges = 3;
        limits.max_llq_size = 262_144;
        limits
    }

    /// What the process is told.
    fn told<T>(result: Result<T, Refusal>) -> Result<T> {
        result.map_err(|refusal| refusal.error)
    }

    #[test]
    fn only_known_types_become_queue_pairs() {
        let transport = |qp_type, driver_type| told(transport(qp_type, driver_type));
        assert_eq!(transport(QpType::Ud, 0), Ok(Transport::Ud));
        assert_eq!(transport(QpType::Driver, 0), Ok(Transport::Srd));
        assert_eq!(transport(QpType::Driver, 1), Err(EOPNOTSUPP));
        assert_eq!(transport(QpType::Other(2), 0), Err(EOPNOTSUPP));
    }

    #[test]
    fn a_flag_needs_its_capability() {
        let check = |flags: u16, caps: u32| {
            let mut request = IbvCreateQp::new_zeroed();
            request.flags = flags;
            told(check_flags(&request, caps))
        };
        for (flag, cap) in [(0, 4), (1, 10)] {
            assert_eq!(check(1 << flag, 1 << cap), Ok(()));
            assert_eq!(check(1 << flag, !(1 << cap)), Err(EOPNOTSUPP));
        }
        for flag in 2..16 {
            assert_eq!(check(1 << flag, u32::MAX), Err(EOPNOTSUPP));
        }
    }

    #[test]
    fn reserved_parts_of_a_request_are_zero() {
        let mut request = IbvCreateQp::new_zeroed();
        let check = |request: &IbvCreateQp| told(check_flags(request, 0));
        assert_eq!(check(&request), Ok(()));
        for byte in 0..request.reserved_98.len() {
            request.reserved_98 = [0; 5];
            if let Some(byte) = request.reserved_98.get_mut(byte) {
                *byte = 1;
            }
            assert_eq!(check(&request), Err(EINVAL));
        }
        request.comp_mask = 1;
        assert_eq!(check(&request), Err(EOPNOTSUPP));
    }

    #[test]
    fn each_limit_holds_and_can_be_reached() {
        let largest = QpCap {
            max_send_wr: 4096,
            max_recv_wr: 1000,
            max_send_sge: 2,
            max_recv_sge: 3,
            max_inline_data: 32,
        };
        let check = |change: fn(&mut QpCap)| {
            let mut cap = largest;
            change(&mut cap);
            told(check_cap(&cap, &limits(), 32))
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|cap| cap.max_send_wr += 1), Err(EINVAL));
        assert_eq!(check(|cap| cap.max_recv_wr += 1), Err(EINVAL));
        assert_eq!(check(|cap| cap.max_send_sge += 1), Err(EINVAL));
        assert_eq!(check(|cap| cap.max_recv_sge += 1), Err(EINVAL));
        assert_eq!(check(|cap| cap.max_inline_data += 1), Err(EINVAL));
    }

    fn rings(send: (u32, u32), recv: (u32, u32)) -> Result {
        let sizes = AdminQpAllocSize {
            send_queue_ring_size: send.0,
            send_queue_depth: send.1,
            recv_queue_ring_size: recv.0,
            recv_queue_depth: recv.1,
        };
        told(check_rings(&sizes, &limits()))
    }

    #[test]
    fn a_ring_holds_its_work_requests() {
        assert_eq!(rings((0, 0), (0, 0)), Ok(()));
        assert_eq!(rings((64 * 16, 16), (16 * 8, 8)), Ok(()));
        assert_eq!(rings((64 * 16 - 1, 16), (16 * 8, 8)), Err(EINVAL));
        assert_eq!(rings((64 * 16, 16), (16 * 8 - 1, 8)), Err(EINVAL));
        assert_eq!(rings((0, 1), (0, 0)), Err(EINVAL));
        assert_eq!(rings((0, 0), (0, 1)), Err(EINVAL));
        assert_eq!(rings((0, u32::MAX), (0, u32::MAX)), Err(EINVAL));
    }

    #[test]
    fn a_ring_is_not_larger_than_there_can_be_work_requests() {
        assert_eq!(rings((262_144, 16), (0, 0)), Ok(()));
        assert_eq!(rings((262_145, 16), (0, 0)), Err(EINVAL));
        // 1024 work requests with three descriptors each, rounded up.
        assert_eq!(rings((64, 1), (4096 * 16, 1000)), Ok(()));
        assert_eq!(rings((64, 1), (4096 * 16 + 1, 1000)), Err(EINVAL));
        assert_eq!(rings((64, 1), (u32::MAX, 1)), Err(EINVAL));
    }

    #[test]
    fn a_limit_that_is_no_power_of_two_can_be_reached() {
        let mut limits = limits();
        limits.max_rq_depth = 1025;
        let rings = |recv_ring: u32| {
            let mut sizes = AdminQpAllocSize::new_zeroed();
            sizes.recv_queue_ring_size = recv_ring;
            told(check_rings(&sizes, &limits))
        };
        // User space makes 2048 work requests of it, and 8192 descriptors of three times as many.
        assert_eq!(rings(8192 * 16), Ok(()));
        assert_eq!(rings(8192 * 16 + 1), Err(EINVAL));
    }
}
