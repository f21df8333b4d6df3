// SPDX-License-Identifier: GPL-2.0

//! The PCI driver: which devices, and their life from probe to unbind.

use crate::{
    admin::Admin,
    verbs::{
        device::Device,
        port::PORTS,
        Efa, //
    }, //
};
use kernel::{
    pci,
    prelude::*, //
};
use rdma::{
    device::Identity,
    pci::Early,
    pci_driver::Driver, //
};

kernel::pci_device_table!(
    PCI_TABLE,
    <Efa as Driver>::IdInfo,
    [
        (pci::DeviceId::from_id(pci::Vendor::AMAZON, 0xefa0), ()),
        (pci::DeviceId::from_id(pci::Vendor::AMAZON, 0xefa1), ()),
        (pci::DeviceId::from_id(pci::Vendor::AMAZON, 0xefa2), ()),
        (pci::DeviceId::from_id(pci::Vendor::AMAZON, 0xefa3), ()),
        (pci::DeviceId::from_id(pci::Vendor::AMAZON, 0xefa4), ()),
    ]
);

impl Driver for Efa {
    type IdInfo = ();

    const ID_TABLE: pci::IdTable<Self::IdInfo> = &PCI_TABLE;

    fn probe<'bound>(pdev: Early<'bound, '_>) -> Result<Pin<KBox<Device<'bound>>>> {
        let (pdev, admin) = Admin::probe(pdev)?;
        KBox::pin_init(Device::new(pdev, admin), GFP_KERNEL)
    }

    fn identity(dev: &Device<'_>) -> Identity<'static> {
        Identity {
            name_pattern: c"efa_%d",
            node_guid: dev.features().device.guid,
            ports: PORTS,
            completion_vectors: dev.admin.eq_count().max(1),
        }
    }

    fn registered(dev: &Device<'_>) {
        dev.admin.probe_succeeded();
        dev_info!(dev.pdev, "RDMA device registered\n");
    }

    fn shutdown(dev: &Device<'_>) {
        dev.admin.shutdown();
    }
}
