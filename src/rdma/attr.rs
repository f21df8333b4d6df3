// SPDX-License-Identifier: GPL-2.0

//! Attributes of devices, ports and addresses as plain values.
//!
//! Only what a provider of this crate reports is here: SRQs, multicast, atomics and memory
//! windows are not, and read as "none".

use crate::bindings;
use core::ptr;
use kernel::fmt;

/// A global identifier: the address of a port, in network byte order.
#[derive(Copy, Clone, PartialEq, Eq)]
#[repr(transparent)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    fn from_raw(raw: &bindings::ib_gid) -> &Self {
        // SAFETY: All variants of `union ib_gid` are 16 plain bytes, which is what a `Gid` is, too.
        unsafe { &*ptr::from_ref(raw).cast() }
    }
}

impl fmt::Display for Gid {
    /// Eight groups of four digits, none left out, as sysfs shows GIDs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if place != 0 && place % 2 == 0 {
                f.write_str(":")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// The id by which user space picks its provider library for a device.
#[derive(Copy, Clone, PartialEq, Eq)]
pub struct DriverId(pub(crate) bindings::rdma_driver_id);

impl DriverId {
    /// `RDMA_DRIVER_EFA`
    pub const EFA: Self = Self(bindings::rdma_driver_id_RDMA_DRIVER_EFA);
}

/// What `query_device` reports. Counts are numbers of objects unless they say otherwise.
#[derive(Default)]
pub struct DeviceAttr {
    /// Firmware version, in the provider library's own format.
    pub fw_ver: u64,
    /// GUID of the system the device belongs to, as it lies in memory.
    pub sys_image_guid: u64,
    /// Largest memory region in bytes.
    pub max_mr_size: u64,
    /// Page sizes a memory region may use, one bit each.
    pub page_size_cap: u64,
    /// PCI vendor id.
    pub vendor_id: u32,
    /// PCI device id.
    pub vendor_part_id: u32,
    /// Hardware version.
    pub hw_ver: u32,
    /// Queue pairs.
    pub max_qp: u32,
    /// Work requests a queue can hold.
    pub max_qp_wr: u32,
    /// Scatter entries of a send.
    pub max_send_sge: u32,
    /// Scatter entries of a receive.
    pub max_recv_sge: u32,
    /// Scatter entries of an RDMA read.
    pub max_sge_rd: u32,
    /// Completion queues.
    pub max_cq: u32,
    /// Entries of a completion queue.
    pub max_cqe: u32,
    /// Memory regions.
    pub max_mr: u32,
    /// Protection domains.
    pub max_pd: u32,
    /// Address handles.
    pub max_ah: u32,
    /// Partition keys of a port.
    pub max_pkeys: u16,
}

impl DeviceAttr {
    pub(crate) fn store(&self, raw: &mut bindings::ib_device_attr) {
        raw.fw_ver = self.fw_ver;
        raw.sys_image_guid = self.sys_image_guid;
        raw.max_mr_size = self.max_mr_size;
        raw.page_size_cap = self.page_size_cap;
        raw.vendor_id = self.vendor_id;
        raw.vendor_part_id = self.vendor_part_id;
        raw.hw_ver = self.hw_ver;
        raw.max_qp = self.max_qp;
        raw.max_qp_wr = self.max_qp_wr;
        raw.max_send_sge = self.max_send_sge;
        raw.max_recv_sge = self.max_recv_sge;
        raw.max_sge_rd = self.max_sge_rd;
        raw.max_cq = self.max_cq;
        raw.max_cqe = self.max_cqe;
        raw.max_mr = self.max_mr;
        raw.max_pd = self.max_pd;
        raw.max_ah = self.max_ah;
        raw.max_pkeys = self.max_pkeys;
    }
}

/// The logical state of a port.
#[derive(Copy, Clone)]
pub enum PortState {
    /// No link, or not configured.
    Down,
    /// Up.
    Active,
}

/// The number of lanes of a link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LinkWidth {
    /// One lane.
    X1,
    /// Four lanes.
    X4,
    /// Eight lanes.
    X8,
    /// Twelve lanes.
    X12,
}

impl LinkWidth {
    fn as_raw(self) -> bindings::ib_port_width {
        match self {
            Self::X1 => bindings::ib_port_width_IB_WIDTH_1X,
            Self::X4 => bindings::ib_port_width_IB_WIDTH_4X,
            Self::X8 => bindings::ib_port_width_IB_WIDTH_8X,
            Self::X12 => bindings::ib_port_width_IB_WIDTH_12X,
        }
    }
}

/// The speed of one lane of a link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LaneSpeed {
    /// 2.5 Gbit/s
    Sdr,
    /// 5 Gbit/s
    Ddr,
    /// 10 Gbit/s
    Fdr10,
    /// 25 Gbit/s
    Edr,
    /// 50 Gbit/s
    Hdr,
    /// 100 Gbit/s
    Ndr,
    /// 200 Gbit/s
    Xdr,
}

impl LaneSpeed {
    fn as_raw(self) -> bindings::ib_port_speed {
        match self {
            Self::Sdr => bindings::ib_port_speed_IB_SPEED_SDR,
            Self::Ddr => bindings::ib_port_speed_IB_SPEED_DDR,
            Self::Fdr10 => bindings::ib_port_speed_IB_SPEED_FDR10,
            Self::Edr => bindings::ib_port_speed_IB_SPEED_EDR,
            Self::Hdr => bindings::ib_port_speed_IB_SPEED_HDR,
            Self::Ndr => bindings::ib_port_speed_IB_SPEED_NDR,
            Self::Xdr => bindings::ib_port_speed_IB_SPEED_XDR,
        }
    }
}

/// The path MTU classes verbs know; a device may carry more than the largest.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mtu {
    /// 256 bytes
    B256,
    /// 512 bytes
    B512,
    /// 1024 bytes
    B1024,
    /// 2048 bytes
    B2048,
    /// 4096 bytes
    B4096,
}

impl Mtu {
    /// The largest class that a device with this MTU can carry, at least 256 bytes.
    pub const fn from_bytes(bytes: u32) -> Self {
        match bytes {
            4096.. => Self::B4096,
            2048.. => Self::B2048,
            1024.. => Self::B1024,
            512.. => Self::B512,
            _ => Self::B256,
        }
    }

    fn as_raw(self) -> bindings::ib_mtu {
        match self {
            Self::B256 => bindings::ib_mtu_IB_MTU_256,
            Self::B512 => bindings::ib_mtu_IB_MTU_512,
            Self::B1024 => bindings::ib_mtu_IB_MTU_1024,
            Self::B2048 => bindings::ib_mtu_IB_MTU_2048,
            Self::B4096 => bindings::ib_mtu_IB_MTU_4096,
        }
    }
}

/// What `query_port` reports.
pub struct PortAttr {
    /// Logical state; the physical state follows it.
    pub state: PortState,
    /// Largest and current MTU class.
    pub mtu: Mtu,
    /// Largest message in bytes.
    pub max_msg_bytes: u32,
    /// Entries of the GID table.
    pub gid_tbl_len: u16,
    /// Entries of the partition key table.
    pub pkey_tbl_len: u16,
    /// Lanes in use.
    pub width: LinkWidth,
    /// Speed of a lane.
    pub speed: LaneSpeed,
    /// LID mask count.
    pub lmc: u8,
    /// Virtual lanes.
    pub max_vl_num: u8,
}

impl PortAttr {
    pub(crate) fn store(&self, raw: &mut bindings::ib_port_attr) {
        let (state, phys_state) = match self.state {
            PortState::Down => (
                bindings::ib_port_state_IB_PORT_DOWN,
                bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_DISABLED,
            ),
            PortState::Active => (
                bindings::ib_port_state_IB_PORT_ACTIVE,
                bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_LINK_UP,
            ),
        };
        raw.state = state;
        // CAST: The C fields are narrower than the enums they hold, whose values all fit.
        raw.phys_state = phys_state as u8;
        raw.active_width = self.width.as_raw() as u8;
        raw.active_speed = self.speed.as_raw() as u16;
        raw.max_mtu = self.mtu.as_raw();
        raw.active_mtu = self.mtu.as_raw();
        raw.max_msg_sz = self.max_msg_bytes;
        raw.gid_tbl_len = self.gid_tbl_len.into();
        raw.pkey_tbl_len = self.pkey_tbl_len;
        raw.lmc = self.lmc;
        raw.max_vl_num = self.max_vl_num;
    }
}

/// What a port is made of and never changes.
pub struct PortImmutable {
    /// Entries of the GID table.
    pub gid_tbl_len: u16,
    /// Entries of the partition key table.
    pub pkey_tbl_len: u16,
}

impl PortImmutable {
    pub(crate) fn store(&self, raw: &mut bindings::ib_port_immutable) {
        raw.gid_tbl_len = self.gid_tbl_len.into();
        raw.pkey_tbl_len = self.pkey_tbl_len.into();
    }
}

/// The link layer below a port.
#[derive(Copy, Clone)]
pub enum LinkLayer {
    /// Neither InfiniBand nor Ethernet.
    Unspecified,
    /// InfiniBand.
    InfiniBand,
    /// Ethernet.
    Ethernet,
}

impl LinkLayer {
    pub(crate) fn as_raw(self) -> bindings::rdma_link_layer {
        match self {
            Self::Unspecified => bindings::rdma_link_layer_IB_LINK_LAYER_UNSPECIFIED,
            Self::InfiniBand => bindings::rdma_link_layer_IB_LINK_LAYER_INFINIBAND,
            Self::Ethernet => bindings::rdma_link_layer_IB_LINK_LAYER_ETHERNET,
        }
    }
}

/// The address an address handle is asked for.
pub struct AhAttr<'a> {
    /// The destination of the global route, if the request has one.
    pub dest: Option<&'a Gid>,
    /// Whether the caller may sleep.
    pub sleepable: bool,
}

impl<'a> AhAttr<'a> {
    pub(crate) fn from_raw(raw: &'a bindings::rdma_ah_attr, flags: u32) -> Self {
        let has_route = u32::from(raw.ah_flags) & bindings::ib_ah_flags_IB_AH_GRH != 0;
        Self {
            dest: has_route.then(|| Gid::from_raw(&raw.grh.dgid)),
            sleepable: flags & bindings::rdma_create_ah_flags_RDMA_CREATE_AH_SLEEPABLE != 0,
        }
    }
}

#[kernel::macros::kunit_tests(rdma_attr)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;
    use kernel::{
        prelude::*,
        str::CString, //
    };

    #[test]
    fn a_gid_reads_as_eight_full_groups() -> Result {
        let gid = Gid([
            0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x04, 0x5a, 0xff, 0xff, 0xfe, 0x01, 0x00, 0x0b,
        ]);
        let text = CString::try_from_fmt(fmt!("{gid}"))?;
        assert_eq!(text.to_bytes(), b"fe80:0000:0000:0000:045a:ffff:fe01:000b");
        Ok(())
    }

    #[test]
    fn an_address_without_a_route_is_none_and_who_does_not_say_so_cannot_sleep() {
        // SAFETY: It is made of integers and a pointer, for which zeroes are valid values.
        let mut raw = unsafe { MaybeUninit::<bindings::rdma_ah_attr>::zeroed().assume_init() };
        let attr = AhAttr::from_raw(&raw, 0);
        assert!(attr.dest.is_none() && !attr.sleepable);
        raw.ah_flags = bindings::ib_ah_flags_IB_AH_GRH as u8;
        let attr = AhAttr::from_raw(
            &raw,
            bindings::rdma_create_ah_flags_RDMA_CREATE_AH_SLEEPABLE,
        );
        assert!(attr.dest.is_some_and(|gid| gid.0 == [0; 16]) && attr.sleepable);
    }

    #[test]
    fn an_mtu_class_never_exceeds_the_device_mtu() {
        for (bytes, class) in [
            (0, Mtu::B256),
            (511, Mtu::B256),
            (512, Mtu::B512),
            (1024, Mtu::B1024),
            (4095, Mtu::B2048),
            (4096, Mtu::B4096),
            (8928, Mtu::B4096),
        ] {
            assert_eq!(Mtu::from_bytes(bytes), class);
        }
    }
}
