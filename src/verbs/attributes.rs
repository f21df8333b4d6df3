// SPDX-License-Identifier: GPL-2.0

//! Limits, capabilities and versions of the device.

use super::request::expect_none;
use crate::{
    hw::admin::*,
    uapi::*, //
    verbs::device::Device,
};
use kernel::{
    fmt,
    page::PAGE_SIZE,
    prelude::*, //
};
use rdma::{
    attr::DeviceAttr,
    udata::Udata, //
};

/// Reports the device's limits and, to user space, what verbs have no words for.
///
/// # Errors
///
/// - `EOPNOTSUPP`: the request says something; it has no private part.
/// - `EFAULT`: the response cannot be written.
pub(super) fn query(dev: &Device<'_>, udata: Option<&Udata<'_>>) -> Result<DeviceAttr> {
    if let Some(udata) = udata {
        expect_none(udata).map_err(|refusal| dev.refuse(c"query_device", refusal))?;
        udata.respond(&response(dev))?;
    }
    Ok(attr(dev))
}

fn attr(dev: &Device<'_>) -> DeviceAttr {
    let features = dev.features();
    let queues = &features.queues;
    DeviceAttr {
        fw_ver: firmware_version(dev).into(),
        sys_image_guid: features.device.guid,
        max_mr_size: u64::from(queues.max_mr_pages).saturating_mul(PAGE_SIZE as u64),
        page_size_cap: features.device.page_size_cap,
        vendor_id: dev.pdev.vendor_id().as_raw().into(),
        vendor_part_id: dev.pdev.device_id().into(),
        hw_ver: dev.pdev.subsystem_device_id().into(),
        max_qp: queues.max_qp,
        max_qp_wr: queues.max_sq_depth.min(queues.max_rq_depth),
        max_send_sge: queues.max_wr_send_sges.into(),
        max_recv_sge: queues.max_wr_recv_sges.into(),
        max_sge_rd: queues.max_wr_rdma_sges.into(),
        max_cq: queues.max_cq,
        max_cqe: queues.max_cq_depth,
        max_mr: queues.max_mr,
        max_pd: queues.max_pd,
        max_ah: queues.max_ah,
        max_pkeys: 1,
    }
}

fn response(dev: &Device<'_>) -> IbvExQueryDeviceResp {
    let features = dev.features();
    let queues = &features.queues;
    IbvExQueryDeviceResp {
        comp_mask: 0,
        max_sq_wr: queues.max_sq_depth,
        max_rq_wr: queues.max_rq_depth,
        max_sq_sge: queues.max_wr_send_sges,
        max_rq_sge: queues.max_wr_recv_sges,
        max_rdma_size: features.device.max_rdma_size,
        device_caps: capabilities(features.device.device_caps, dev.admin.eq_count() != 0),
    }
}

/// The firmware version, most significant part in the lowest byte: user space shows the bytes in
/// that order, with dots between them.
fn firmware_version(dev: &Device<'_>) -> u32 {
    dev.features().device.fw_version.swap_bytes()
}

/// Writes the firmware version as user space does.
pub(super) fn write_firmware_version(dev: &Device<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    let [a, b, c, d] = firmware_version(dev).to_le_bytes();
    write!(out, "{a}.{b}.{c}.{d}")
}

/// Capabilities that come from the device, as it and as user space know them.
const DEVICE_CAPABILITIES: [(u32, u32); 7] = [
    (
        ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_READ_MASK,
        QUERY_DEVICE_CAPS_RDMA_READ,
    ),
    (
        ADMIN_FEATURE_DEVICE_ATTR_DESC_RNR_RETRY_MASK,
        QUERY_DEVICE_CAPS_RNR_RETRY,
    ),
    (
        ADMIN_FEATURE_DEVICE_ATTR_DESC_DATA_POLLING_128_MASK,
        QUERY_DEVICE_CAPS_DATA_POLLING_128,
    ),
    (
        ADMIN_FEATURE_DEVICE_ATTR_DESC_RDMA_WRITE_MASK,
        QUERY_DEVICE_CAPS_RDMA_WRITE,
    ),
    (
        ADMIN_FEATURE_DEVICE_ATTR_DESC_UNSOLICITED_WRITE_RECV_MASK,
        QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV,
    ),
    (
        ADMIN_FEATURE_DEVICE_ATTR_DESC_EVENT_COUNTERS_MASK,
        QUERY_DEVICE_CAPS_COMP_CNTR,
    ),
    (
        ADMIN_FEATURE_DEVICE_ATTR_DESC_SQ_64_BIT_REQ_ID_MASK,
        QUERY_DEVICE_CAPS_SQ_64_BIT_REQ_ID,
    ),
];

/// Capabilities as user space knows them, of a device with the given ones.
fn capabilities(device_caps: u32, has_event_queues: bool) -> u32 {
    // Each device can do these two.
    let mut caps = QUERY_DEVICE_CAPS_CQ_WITH_SGID | QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM;
    if has_event_queues {
        caps |= QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS;
    }
    for (device_cap, user_cap) in DEVICE_CAPABILITIES {
        if device_caps & device_cap != 0 {
            caps |= user_cap;
        }
    }
    caps
}

#[kernel::macros::kunit_tests(efa_capabilities)]
mod tests {
    use super::*;

    const ALWAYS: u32 = QUERY_DEVICE_CAPS_CQ_WITH_SGID | QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM;

    #[test]
    fn each_device_bit_has_its_user_space_bit() {
        // Numbers instead of names: the constants are what is tested.
        for (device_bit, user_bit) in [(0, 0), (1, 1), (2, 4), (3, 5), (4, 6), (5, 8), (10, 9)] {
            assert_eq!(capabilities(1 << device_bit, false), ALWAYS | 1 << user_bit);
        }
    }

    #[test]
    fn reserved_device_bits_mean_nothing_to_user_space() {
        for device_bit in [6, 7, 8, 9, 11, 31] {
            assert_eq!(capabilities(1 << device_bit, false), ALWAYS);
        }
    }

    #[test]
    fn completion_events_need_an_event_queue() {
        assert_eq!(capabilities(0, true), ALWAYS | 1 << 2);
    }
}
