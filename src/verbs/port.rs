// SPDX-License-Identifier: GPL-2.0

//! The port.

use crate::verbs::device::Device;
use kernel::prelude::*;
use rdma::attr::{
    Gid,
    LaneSpeed,
    LinkWidth,
    Mtu,
    PortAttr,
    PortImmutable,
    PortState, //
};

/// The number of ports of a device.
pub(crate) const PORTS: u32 = 1;

/// The only partition key: full membership of the default partition.
const DEFAULT_PKEY: u16 = 0xffff;

/// One GID and one partition key.
pub(super) const IMMUTABLE: PortImmutable = PortImmutable {
    gid_tbl_len: 1,
    pkey_tbl_len: 1,
};

/// Reports the port's state. A device has no link events: the port is always up.
pub(super) fn query(dev: &Device<'_>) -> PortAttr {
    let mtu_bytes = dev.features().network.mtu;
    let (width, speed) = link(dev.link_speed_gbps());
    PortAttr {
        state: PortState::Active,
        mtu: Mtu::from_bytes(mtu_bytes),
        max_msg_bytes: mtu_bytes,
        gid_tbl_len: IMMUTABLE.gid_tbl_len,
        pkey_tbl_len: IMMUTABLE.pkey_tbl_len,
        width,
        speed,
        lmc: 1,
        max_vl_num: 1,
    }
}

/// The link's speed in units of 100 Mbit/s.
pub(super) fn speed(dev: &Device<'_>) -> u64 {
    u64::from(dev.link_speed_gbps()) * 10
}

/// Reads the GID table.
///
/// # Errors
///
/// `EINVAL`: there is one entry only.
pub(super) fn gid(dev: &Device<'_>, index: u32) -> Result<Gid> {
    match index {
        0 => Ok(Gid(dev.features().network.addr)),
        _ => Err(EINVAL),
    }
}

/// Reads the partition key table.
///
/// # Errors
///
/// `EINVAL`: there is one entry only.
pub(super) fn pkey(index: u16) -> Result<u16> {
    match index {
        0 => Ok(DEFAULT_PKEY),
        _ => Err(EINVAL),
    }
}

/// Verbs know a link by lanes and their speed only: the fastest that is not above the device's.
fn link(gbps: u16) -> (LinkWidth, LaneSpeed) {
    match gbps {
        1600.. => (LinkWidth::X8, LaneSpeed::Xdr),
        800.. => (LinkWidth::X8, LaneSpeed::Ndr),
        400.. => (LinkWidth::X8, LaneSpeed::Hdr),
        200.. => (LinkWidth::X4, LaneSpeed::Hdr),
        120.. => (LinkWidth::X12, LaneSpeed::Fdr10),
        100.. => (LinkWidth::X4, LaneSpeed::Edr),
        60.. => (LinkWidth::X12, LaneSpeed::Ddr),
        50.. => (LinkWidth::X1, LaneSpeed::Hdr),
        40.. => (LinkWidth::X4, LaneSpeed::Fdr10),
        30.. => (LinkWidth::X12, LaneSpeed::Sdr),
        _ => (LinkWidth::X1, LaneSpeed::Edr),
    }
}

#[kernel::macros::kunit_tests(efa_port)]
mod tests {
    use super::*;

    /// The speed of a link in Mbit/s.
    fn mbps((width, speed): (LinkWidth, LaneSpeed)) -> u32 {
        let lanes = match width {
            LinkWidth::X1 => 1,
            LinkWidth::X4 => 4,
            LinkWidth::X8 => 8,
            LinkWidth::X12 => 12,
        };
        let lane_mbps = match speed {
            LaneSpeed::Sdr => 2_500,
            LaneSpeed::Ddr => 5_000,
            LaneSpeed::Fdr10 => 10_000,
            LaneSpeed::Edr => 25_000,
            LaneSpeed::Hdr => 50_000,
            LaneSpeed::Ndr => 100_000,
            LaneSpeed::Xdr => 200_000,
        };
        lanes * lane_mbps
    }

    #[test]
    fn the_speed_of_a_known_link_is_exact() {
        for gbps in [1600, 800, 400, 200, 120, 100, 60, 50, 40, 30, 25] {
            assert_eq!(mbps(link(gbps)), u32::from(gbps) * 1000);
        }
    }

    #[test]
    fn a_link_in_between_is_rounded_down() {
        for gbps in [25..=30, 31..=40, 100..=119, 200..=399, 1600..=2000]
            .into_iter()
            .flatten()
        {
            assert!(mbps(link(gbps)) <= u32::from(gbps) * 1000);
        }
    }
}
