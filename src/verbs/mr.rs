// SPDX-License-Identifier: GPL-2.0

//! Memory regions.

use super::{
    pd::Pd,
    refused::{
        self,
        Name,
        Object,
        Returnable, //
    },
    request::{
        check,
        expect_none,
        Refusal,
        Rule, //
    }, //
};
use crate::{
    admin::{
        commands::mr::{
            DeregMr,
            Interconnects,
            RegMr, //
        },
        control_buffer::ControlBuffer, //
    },
    hw::{
        admin::*,
        mr::*, //
    },
    page_list::{
        self,
        dma::DmaMemory,
        PageList, //
    },
    uapi::*,
    users::Use,
    verbs::{
        device::Device,
        Efa, //
    }, //
};
use kernel::{
    fmt,
    page::PAGE_SIZE,
    prelude::*, //
};
use rdma::{
    dma::Lent,
    provider::{
        MemoryRegions,
        MrMethod,
        MrRequest,
        NewMr, //
    },
    ratelimited,
    reach::NotShared,
    udata::Udata,
    umem::{
        Access,
        Umem,
        UserMemory, //
    },
    uverbs::AnyMrMethod, //
};

const VERB: &CStr = c"reg_mr";

/// A memory region of a protection domain.
pub(crate) struct Mr {
    /// The reset generation in which the device handed the keys out.
    generation: u32,
    /// The key by which the device knows it.
    pub(super) lkey: u32,
    /// How the device reaches the memory.
    interconnects: Interconnects,
    // Dropped in this order: memory that the device used, then the use of its domain.
    pub(super) memory: Lent<Umem, DeregMr>,
    _pd: Use,
}

impl MemoryRegions for Efa {
    type Mr = Mr;

    const METHODS: &'static [AnyMrMethod<Self>] = &[AnyMrMethod::of::<QueryMr, _>()];

    fn reg_user_mr(
        dev: &Device<'_>,
        pd: &Pd,
        request: &MrRequest<'_>,
        udata: &Udata<'_>,
    ) -> Result<NewMr<Mr>> {
        let mr = reg(dev, pd, request, udata);
        dev.stats.reg_mr_err.inc_on_error(&mr);
        mr
    }

    fn dereg_mr(dev: &Device<'_>, mr: &Mr) -> Result {
        mr.destroy(dev)
    }

    fn end_mr(dev: &Device<'_>, mr: Mr) {
        mr.end(dev);
    }
}

/// Registers memory of the process, or of a dmabuf.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the request says something, it has no private part; or it wants an access that
///   the device does not have, or a DMA handle; or the device has no page size that fits; or the
///   memory cannot be shared with it.
/// - `EINVAL`: the memory is empty, or it or its addresses wrap around; or the device refuses it.
/// - `ENOMEM`: no memory, the process may not lock more, or the device has no region left, or takes
///   fewer pages.
/// - `EIO`: the device was reset since the protection domain was allocated, or handed out a key
///   that it refused to take back before.
/// - What else pinning the memory fails with: `EFAULT`, `EBADF`, `EPERM`.
/// - What the admin queue fails with.
fn reg(dev: &Device<'_>, pd: &Pd, request: &MrRequest<'_>, udata: &Udata<'_>) -> Result<NewMr<Mr>> {
    let permissions =
        check_request(dev, request, udata).map_err(|refusal| dev.refuse(VERB, refusal))?;
    dev.expect_current(pd.domain.id.generation)?;

    let memory = request.memory.pin().map_err(|reason| {
        match reason {
            NotShared::Failed(error) => log(
                dev,
                pd,
                request,
                fmt!(
                    "the memory was not pinned: {error:?} ({})",
                    explain(&request.memory, error)
                ),
            ),
            reason => log(
                dev,
                pd,
                request,
                fmt!("the memory cannot be shared with the device: {reason}"),
            ),
        }
        let len = request.memory.len();
        let refusal = Refusal::new(reason.into(), c"length", len, Rule::Pinnable);
        dev.refuse(VERB, refusal)
    })?;
    check_range(request).map_err(|refusal| dev.refuse(VERB, refusal))?;
    // Read first: should a reset come in between, the keys count as ones from before it.
    let generation = dev.admin.generation();
    let created = refused::create(dev, memory, |memory| {
        command(dev, pd, request, permissions, memory)
    })?;
    let mr = Mr {
        generation,
        lkey: created.reply.lkey,
        interconnects: created.reply.interconnects,
        memory: created.memory,
        _pd: pd.users.add(),
    };
    Ok(NewMr {
        lkey: created.reply.lkey,
        rkey: created.reply.rkey,
        data: mr.accept(dev)?,
    })
}

/// How the device is told of pinned memory.
fn command(
    dev: &Device<'_>,
    pd: &Pd,
    request: &MrRequest<'_>,
    permissions: u8,
    memory: &mut Lent<Umem, DeregMr>,
) -> Result<(RegMr, Option<ControlBuffer>)> {
    let page_sizes = dev.features().device.page_size_cap;
    let Some(blocks) = memory.blocks(page_sizes, request.iova) else {
        log(
            dev,
            pd,
            request,
            fmt!("no page size of the device fits (mask of those it has: {page_sizes:#x})"),
        );
        let sizes = Rule::OnlyBitsOf(page_sizes);
        let page = Refusal::new(EOPNOTSUPP, c"page_size", PAGE_SIZE as u64, sizes);
        return Err(dev.refuse(VERB, page));
    };
    let count = blocks.count();

    let mut lists = DmaMemory::new(dev.pdev.as_ref());
    let mut addresses = blocks.addresses();
    let pages = page_list::build(
        |list| addresses.fill(list),
        count,
        crate::module_parameters::indirect_page_lists.value(),
        &mut lists,
    )?;
    let buffer = match &pages {
        PageList::Inline(_) => None,
        PageList::Direct(_) => Some(ControlBuffer::direct(lists.into_pieces())),
        PageList::Indirect(_) => Some(ControlBuffer::indirect(lists.into_pieces())),
    };
    let command = RegMr {
        pdn: pd.domain.id.number,
        length: request.memory.len(),
        iova: request.iova,
        permissions,
        // CAST: Less than 64.
        page_shift: blocks.shift() as u8,
        pages,
        page_count: count,
    };
    Ok((command, buffer))
}

/// Checks what there is to check before the memory is looked at. Returns what the device may do.
fn check_request(
    dev: &Device<'_>,
    request: &MrRequest<'_>,
    udata: &Udata<'_>,
) -> Result<u8, Refusal> {
    let none = Rule::Exactly(0);
    check(EOPNOTSUPP, c"dma_handle", request.has_dma_handle, none)?;
    expect_none(udata)?;
    permissions(dev.features().device.device_caps, request.memory.access())
}

/// Says why a registration failed: it is its process's concern.
#[cold]
fn log(dev: &Device<'_>, pd: &Pd, request: &MrRequest<'_>, reason: fmt::Arguments<'_>) {
    ratelimited!(dev_info!(
        dev.pdev,
        "reg_mr: PD {}, {} bytes: {reason}\n",
        pd.domain.id,
        request.memory.len()
    ));
}

/// Why memory is not pinned, and what a person can do about it.
fn explain(memory: &UserMemory<'_>, error: Error) -> &'static str {
    match error {
        EINTR => "the process was killed meanwhile",
        ENOMEM | EPERM if !memory.is_within_limit() => {
            "over the limit of locked memory: see ulimit -l"
        }
        ENOMEM if memory.is_behind_iommu() => {
            "out of memory, or the IOMMU has no addresses left for the device"
        }
        ENOMEM => "out of memory",
        EFAULT => "not mapped, or read-only and to be written",
        EBADF => "no such file descriptor",
        EINVAL => "empty, its end is beyond all addresses, or it is not in a dma-buf",
        _ => "not memory that can be pinned",
    }
}

/// Checks that the addresses of memory, of which there is some, do not wrap around.
fn check_range(request: &MrRequest<'_>) -> Result<(), Refusal> {
    let last = request.memory.len().saturating_sub(1);
    let most = Rule::AtMost(u64::MAX - last);
    check(EINVAL, c"iova", request.iova, most)
}

/// The accesses that a device may have, the capability that each needs, and its permission bit.
const ACCESSES: [(Access, u32, u8); 3] = [
    (
        Access::LOCAL_WRITE,
        0,
        ADMIN_REG_MR_CMD_LOCAL_WRITE_ENABLE_MASK,
    ),
    (
        Access::REMOTE_WRITE,
        ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK,
        ADMIN_REG_MR_CMD_REMOTE_WRITE_ENABLE_MASK,
    ),
    (
        Access::REMOTE_READ,
        ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_READ_MASK,
        ADMIN_REG_MR_CMD_REMOTE_READ_ENABLE_MASK,
    ),
];

/// The permission bits for an access, on a device with these capabilities.
///
/// # Errors
///
/// `EOPNOTSUPP`: the device does not have it.
fn permissions(device_caps: u32, access: Access) -> Result<u8, Refusal> {
    let access = access.required();
    let (mut known, mut permissions) = (Access::NONE, 0);
    for (one, needs, permission) in ACCESSES {
        if needs & !device_caps == 0 {
            known = known.and(one);
            if access.contains(one) {
                permissions |= permission;
            }
        }
    }
    let known = Rule::OnlyBitsOf(known.as_raw().into());
    check(EOPNOTSUPP, c"access_flags", access.as_raw(), known)?;
    Ok(permissions)
}

/// Tells user space by which interconnects the device reaches the memory.
enum QueryMr {}

impl MrMethod<4> for QueryMr {
    type Provider = Efa;
    type Value = u16;

    const ID: u16 = IB_METHOD_MR_QUERY;
    const HANDLE: u16 = IB_ATTR_QUERY_MR_HANDLE;
    const ANSWER: [u16; 4] = [
        IB_ATTR_QUERY_MR_RESP_IC_ID_VALIDITY,
        IB_ATTR_QUERY_MR_RESP_RECV_IC_ID,
        IB_ATTR_QUERY_MR_RESP_RDMA_READ_IC_ID,
        IB_ATTR_QUERY_MR_RESP_RDMA_RECV_IC_ID,
    ];

    fn call(_dev: &Device<'_>, mr: &Mr) -> Result<[u16; 4]> {
        let Interconnects {
            recv,
            rdma_read,
            rdma_recv,
        } = mr.interconnects;
        let valid = |id: Option<u8>, bit| if id.is_some() { bit } else { 0 };
        let value = |id: Option<u8>| u16::from(id.unwrap_or(0));
        Ok([
            valid(recv, QUERY_MR_VALIDITY_RECV_IC_ID)
                | valid(rdma_read, QUERY_MR_VALIDITY_RDMA_READ_IC_ID)
                | valid(rdma_recv, QUERY_MR_VALIDITY_RDMA_RECV_IC_ID),
            value(recv),
            value(rdma_read),
            value(rdma_recv),
        ])
    }
}

impl Object for Mr {
    fn name(&self) -> Name {
        Name {
            verb: "dereg_mr",
            kind: "lkey",
            number: self.lkey,
            generation: self.generation,
            handle: self.lkey,
        }
    }

    fn give_back(&self, dev: &Device<'_>) -> Result {
        self.memory
            .let_go(dev.end_use(self.generation, &DeregMr { lkey: self.lkey })?);
        Ok(())
    }
}

#[kernel::macros::kunit_tests(efa_mr)]
mod tests {
    use super::*;

    const READ: u32 = ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_READ_MASK;
    const WRITE: u32 = ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK;

    #[test]
    fn an_access_is_a_permission_where_the_device_has_it() {
        // Numbers instead of names: bits of user space (1 local write, 2 remote write, 4 remote
        // read, from 2^20 on optional) and of the device.
        for (caps, access, expected) in [
            (0, 0, Ok(0)),
            (0, 1, Ok(1)),
            (0, 1 << 20 | 1 << 29, Ok(0)),
            (0, 2, Err(EOPNOTSUPP)),
            (0, 4, Err(EOPNOTSUPP)),
            (READ, 4, Ok(4)),
            (READ, 1 | 4, Ok(5)),
            (READ, 1 | 2, Err(EOPNOTSUPP)),
            (WRITE, 1 | 2, Ok(3)),
            (WRITE, 4, Err(EOPNOTSUPP)),
            (READ | WRITE, 7, Ok(7)),
            (READ | WRITE, 8, Err(EOPNOTSUPP)),
            (READ | WRITE, 1 << 6, Err(EOPNOTSUPP)),
            (u32::MAX, 1 << 19, Err(EOPNOTSUPP)),
        ] {
            let permissions = permissions(caps, Access::from_raw(access));
            assert_eq!(permissions.map_err(|refusal| refusal.error), expected);
        }
    }
}
