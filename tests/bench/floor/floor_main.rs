// SPDX-License-Identifier: GPL-2.0

//! A driver whose verbs do nothing: what a call costs before a driver does anything for it.

#![forbid(unsafe_code)]

use kernel::{
    fmt,
    pci,
    prelude::*, //
};
use rdma::{
    attr::{
        AhAttr,
        DeviceAttr,
        DriverId,
        Gid,
        LaneSpeed,
        LinkLayer,
        LinkWidth,
        Mtu,
        PortAttr,
        PortImmutable,
        PortState, //
    },
    device::Identity,
    pci::Early,
    pci_driver::{
        Adapter,
        Driver, //
    },
    provider::{
        Operations,
        Provider, //
    },
    stats::CounterDesc,
    udata::Udata, //
};

/// The driver, and the provider of its verbs.
enum Floor {}

kernel::pci_device_table!(
    PCI_TABLE,
    <Floor as Driver>::IdInfo,
    [(pci::DeviceId::from_id(pci::Vendor::AMAZON, 0xefa2), ())]
);

impl Driver for Floor {
    type IdInfo = ();

    const ID_TABLE: pci::IdTable<Self::IdInfo> = &PCI_TABLE;

    fn probe<'bound>(_early: Early<'bound, '_>) -> Result<Pin<KBox<()>>> {
        Ok(KBox::pin((), GFP_KERNEL)?)
    }

    fn identity(_dev: &()) -> Identity<'static> {
        Identity {
            name_pattern: c"floor_%d",
            node_guid: 1,
            ports: 1,
            completion_vectors: 1,
        }
    }

    fn registered(_dev: &()) {}

    fn shutdown(_dev: &()) {}
}

impl Provider for Floor {
    type Module = crate::DriverModule;
    type Data<'a> = ();
    type UContext = ();
    type Pd = ();
    type Ah = ();

    const OPERATIONS: Operations<Self> = Operations::new();
    // Programs that speak to EFA can then measure this driver, too.
    const DRIVER_ID: DriverId = DriverId::EFA;
    const UVERBS_ABI_VERSION: u32 = 1;
    const ROBUST_UDATA: bool = false;
    const DEVICE_COUNTERS: &'static [CounterDesc] = &[];

    fn query_device(_dev: &(), _udata: Option<&Udata<'_>>) -> Result<DeviceAttr> {
        Ok(DeviceAttr {
            max_pd: 1,
            max_ah: 1,
            max_pkeys: 1,
            ..DeviceAttr::default()
        })
    }

    fn write_firmware_version(_dev: &(), _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }

    fn query_port(_dev: &(), _port: u32) -> Result<PortAttr> {
        Ok(PortAttr {
            state: PortState::Active,
            mtu: Mtu::B4096,
            max_msg_bytes: 4096,
            gid_tbl_len: 1,
            pkey_tbl_len: 1,
            width: LinkWidth::X4,
            speed: LaneSpeed::Edr,
            lmc: 0,
            max_vl_num: 1,
        })
    }

    fn query_port_speed(_dev: &(), _port: u32) -> Result<u64> {
        Ok(1000)
    }

    fn port_immutable(_dev: &(), _port: u32) -> Result<PortImmutable> {
        Ok(PortImmutable {
            gid_tbl_len: 1,
            pkey_tbl_len: 1,
        })
    }

    fn link_layer(_dev: &(), _port: u32) -> LinkLayer {
        LinkLayer::Unspecified
    }

    fn query_gid(_dev: &(), _port: u32, _index: u32) -> Result<Gid> {
        Ok(Gid([0xfe; 16]))
    }

    fn query_pkey(_dev: &(), _port: u32, _index: u16) -> Result<u16> {
        Ok(0xffff)
    }

    fn alloc_ucontext(_dev: &(), _udata: &Udata<'_>) -> Result {
        Ok(())
    }

    fn dealloc_ucontext(_dev: &(), _ucontext: ()) {}

    fn alloc_pd(_dev: &(), _udata: &Udata<'_>) -> Result {
        Ok(())
    }

    fn dealloc_pd(_dev: &(), _pd: ()) {}

    fn create_ah(_dev: &(), _pd: &(), _attr: &AhAttr<'_>, _udata: &Udata<'_>) -> Result {
        Ok(())
    }

    fn destroy_ah(_dev: &(), _pd: &(), _ah: ()) {}

    fn read_device_counters(_dev: &(), _values: &mut [u64]) -> Result {
        Ok(())
    }
}

kernel::module_driver!(<T>, Adapter<T>, {
    type: Floor,
    name: "floor",
    authors: ["The efa-rs authors"],
    description: "A driver whose verbs do nothing",
    license: "GPL",
});
