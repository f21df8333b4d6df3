// SPDX-License-Identifier: GPL-2.0

//! PCI drivers whose functions are RDMA devices.
//!
//! [`Adapter`] is the kernel crate's adapter for PCI drivers with two additions: it owns the
//! registration with the RDMA core, which must not be forgotten, and it has a shutdown callback,
//! which the kernel crate does not know.
//!
//! A device ends in the `unbind` callback, not when its data is dropped. By then the bus has given
//! up the DMA ownership of the device's IOMMU group, so that somebody else may decide what the
//! device's addresses mean, while it would still be doing DMA.

use crate::{
    debugfs::DriverDir,
    device::{
        Identity,
        Registration, //
    },
    pci::Early,
    provider::Provider, //
};
use core::marker::PhantomData;
use kernel::{
    bindings,
    device,
    driver::{
        DriverLayout,
        RegistrationOps, //
    },
    new_mutex,
    pci,
    prelude::*,
    sync::Mutex,
    types::Opaque,
    ThisModule, //
};

/// A driver of PCI functions that are RDMA devices.
pub trait Driver: Provider {
    /// What the id table says about a device.
    type IdInfo: 'static;

    /// The PCI ids the driver serves.
    const ID_TABLE: pci::IdTable<Self::IdInfo>;

    /// Brings a device up, to the point where verbs can be called.
    fn probe<'bound>(pdev: Early<'bound, '_>) -> Result<Pin<KBox<Self::Data<'bound>>>>;

    /// Says how the RDMA core will know the device.
    fn identity(dev: &Self::Data<'_>) -> Identity<'static>;

    /// Called once verbs can be called, as the end of a successful probe.
    fn registered(dev: &Self::Data<'_>);

    /// Quiesces the device before the machine stops or starts another kernel: no DMA and no
    /// interrupt may come from it afterwards. Verbs may still be called, and fail.
    fn shutdown(dev: &Self::Data<'_>);
}

/// The data of a bound device: its registration, until `unbind` takes that out and drops it.
#[pin_data]
pub struct BoundDevice<'bound, D: Driver> {
    #[pin]
    registration: Mutex<Option<Registration<'bound, D>>>,
}

/// A [`Driver`] as the kernel crate sees it.
pub struct PciDriver<D: Driver>(PhantomData<D>);

impl<D: Driver> pci::Driver for PciDriver<D> {
    type IdInfo = D::IdInfo;
    type Data<'bound> = BoundDevice<'bound, D>;

    const ID_TABLE: pci::IdTable<Self::IdInfo> = D::ID_TABLE;

    fn probe<'bound>(
        pdev: &'bound pci::Device<device::Core<'_>>,
        _id_info: Option<&'bound Self::IdInfo>,
    ) -> impl PinInit<Self::Data<'bound>, Error> + 'bound {
        // SAFETY: The probe begins here: callbacks of one device exclude each other, and no other
        // was given it.
        let early = unsafe { Early::new(pdev) };
        pin_init::pin_init_scope(move || {
            let data = D::probe(early)?;
            let identity = D::identity(&data);
            // SAFETY: The registration becomes part of the driver data of `pdev`. `unbind` drops
            // it while `pdev` is bound; where there is no `unbind`, the driver data is dropped at
            // once, since probing failed.
            let registration = unsafe { Registration::<D>::new(pdev.as_ref(), &identity, data) }?;
            D::registered(registration.data());
            Ok(try_pin_init!(BoundDevice {
                registration <- new_mutex!(Some(registration), "rdma_registration"),
            }? Error))
        })
    }

    fn unbind<'bound>(
        _pdev: &'bound pci::Device<device::Core<'_>>,
        this: Pin<&Self::Data<'bound>>,
    ) {
        // Unlocked before it is dropped, which takes long.
        let registration = this.registration.lock().take();
        drop(registration);
    }
}

/// The registration of a [`Driver`] with the PCI core, for `kernel::module_driver!`.
pub struct Adapter<D: Driver>(PhantomData<D>);

type Inner<D> = pci::Adapter<PciDriver<D>>;

// SAFETY: All three are those of the kernel crate's adapter.
unsafe impl<D: Driver> DriverLayout for Adapter<D> {
    type DriverType = <Inner<D> as DriverLayout>::DriverType;
    type DriverData<'bound> = <Inner<D> as DriverLayout>::DriverData<'bound>;
    const DEVICE_DRIVER_OFFSET: usize = <Inner<D> as DriverLayout>::DEVICE_DRIVER_OFFSET;
}

// SAFETY: The kernel crate's adapter registers and unregisters.
unsafe impl<D: Driver> RegistrationOps for Adapter<D> {
    unsafe fn register(
        pdrv: &Opaque<Self::DriverType>,
        name: &'static CStr,
        module: &'static ThisModule,
    ) -> Result {
        // SAFETY: `pdrv` is not registered yet, so nobody else uses it.
        unsafe { (*pdrv.get()).shutdown = Some(Self::shutdown_callback) };

        DriverDir::create(name);
        // SAFETY: By the safety requirements of this function. The inner adapter sets the fields
        // it knows and leaves the others as they are.
        unsafe { Inner::<D>::register(pdrv, name, module) }.inspect_err(|_| DriverDir::remove())
    }

    unsafe fn unregister(pdrv: &Opaque<Self::DriverType>) {
        // SAFETY: By the safety requirements of this function.
        unsafe { Inner::<D>::unregister(pdrv) };
        DriverDir::remove();
    }
}

impl<D: Driver> Adapter<D> {
    /// # Safety
    ///
    /// Only the PCI core calls it, for a device that is bound to this driver, with the device's
    /// lock held.
    unsafe extern "C" fn shutdown_callback(pdev: *mut bindings::pci_dev) {
        // SAFETY: `pdev` is valid by the safety requirements of this function, and
        // `pci::Device` is a transparent `struct pci_dev`. The device is bound, so probe stored the
        // driver data of this type, and the device's lock keeps it from being unbound meanwhile.
        let bound = unsafe {
            let pdev = &*pdev.cast::<pci::Device<device::CoreInternal<'_>>>();
            pdev.as_ref().drvdata_borrow::<BoundDevice<'_, D>>()
        };

        let registration = bound.registration.lock();
        if let Some(registration) = &*registration {
            D::shutdown(registration.data());
        }
    }
}
