// SPDX-License-Identifier: GPL-2.0

//! What the device tells of itself, and what it is told.

use super::{
    commands::{
        mem_addr,
        AdminCommand, //
    },
    control_buffer::ControlBuffer,
    queue::AdminQueue, //
};
use crate::hw::admin::*;
use kernel::{
    device::{
        Bound,
        Device, //
    },
    dma::{
        Coherent,
        CoherentBox, //
    },
    fmt,
    prelude::*, //
};
use zerocopy::FromZeros;

/// The driver's own version, which the module's has after `+rs`: major, minor, sub minor.
const VERSION: [u8; 3] = [0, 2, 0];

/// A feature that can be read.
trait Feature {
    /// The command for it.
    const GET: GetFeature;
    /// Its description on the wire.
    type Desc: FromBytes;
}

macro_rules! features {
    ($($name:ident = $id:ident, $text:literal, $desc:ty;)+) => {$(
        enum $name {}

        impl Feature for $name {
            const GET: GetFeature = GetFeature { id: $id, name: $text };
            type Desc = $desc;
        }
    )+};
}

features! {
    DeviceAttr = ADMIN_DEVICE_ATTR, "DEVICE_ATTR", AdminFeatureDeviceAttrDesc;
    AenqConfig = ADMIN_AENQ_CONFIG, "AENQ_CONFIG", AdminFeatureAenqDesc;
    NetworkAttr = ADMIN_NETWORK_ATTR, "NETWORK_ATTR", AdminFeatureNetworkAttrDesc;
    QueueAttr1 = ADMIN_QUEUE_ATTR_1, "QUEUE_ATTR_1", AdminFeatureQueueAttrDesc1;
    QueueAttr2 = ADMIN_QUEUE_ATTR_2, "QUEUE_ATTR_2", AdminFeatureQueueAttrDesc2;
    HwHints = ADMIN_HW_HINTS, "HW_HINTS", AdminHwHints;
    EventQueueAttr = ADMIN_EVENT_QUEUE_ATTR, "EVENT_QUEUE_ATTR", AdminEventQueueAttrDesc;
}

/// The description of a feature, whichever.
type AnyDesc = [u32; 14];

/// Takes a description for that of the feature `F`.
fn desc<F: Feature>(any: &AnyDesc) -> Result<F::Desc> {
    match F::Desc::read_from_prefix(any.as_bytes()) {
        Ok((desc, _)) => Ok(desc),
        Err(_) => Err(EINVAL),
    }
}

fn read<F: Feature>(queue: &AdminQueue) -> Result<F::Desc> {
    desc::<F>(&read_any(queue, &F::GET)?)
}

/// The part of [`read`] that is the same for each feature.
#[inline(never)]
fn read_any(queue: &AdminQueue, get: &GetFeature) -> Result<AnyDesc> {
    queue.exec(get)
}

/// Reads a feature; replies its description.
struct GetFeature {
    /// Its number on the wire.
    id: u8,
    /// Its name in messages.
    name: &'static str,
}

impl fmt::Display for GetFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl AdminCommand for GetFeature {
    const OPCODE: u8 = ADMIN_GET_FEATURE;
    const NAME: &'static str = "GET_FEATURE";
    const KILLABLE: bool = true;
    type Request = AdminGetFeatureCmd;
    type Response = AdminGetFeatureResp;
    type Reply = AnyDesc;

    fn request(&self) -> Self::Request {
        let mut request = AdminGetFeatureCmd::new_zeroed();
        request.feature_common.feature_id = self.id;
        request
    }

    fn reply(response: Self::Response) -> Self::Reply {
        response.u
    }
}

/// Chooses the groups of asynchronous events that the device reports.
struct SetAenqConfig {
    groups: u32,
}

impl fmt::Display for SetAenqConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AENQ_CONFIG, groups {:#x}", self.groups)
    }
}

impl AdminCommand for SetAenqConfig {
    const OPCODE: u8 = ADMIN_SET_FEATURE;
    const NAME: &'static str = "SET_FEATURE";
    const KILLABLE: bool = true;
    type Request = AdminSetFeatureCmd;
    type Response = AdminSetFeatureResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        let mut request = AdminSetFeatureCmd::new_zeroed();
        request.feature_common.feature_id = ADMIN_AENQ_CONFIG;
        // AdminFeatureAenqDesc: supported groups, which are not set, then the enabled ones.
        let [_supported, enabled, ..] = &mut request.u;
        *enabled = self.groups;
        request
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// Tells the device about its host.
struct SetHostInfo {
    buffer_addr: u64,
}

impl fmt::Display for SetHostInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HOST_INFO")
    }
}

impl AdminCommand for SetHostInfo {
    const OPCODE: u8 = ADMIN_SET_FEATURE;
    const NAME: &'static str = "SET_FEATURE";
    const KILLABLE: bool = true;
    const OPTIONAL: bool = true;
    type Request = AdminSetFeatureCmd;
    type Response = AdminSetFeatureResp;
    type Reply = ();

    fn request(&self) -> Self::Request {
        let mut request = AdminSetFeatureCmd::new_zeroed();
        request.feature_common.feature_id = ADMIN_HOST_INFO;
        request.control_buffer = AdminCtrlBuffInfo {
            // CAST: A few hundred.
            length: size_of::<AdminHostInfo>() as u32,
            address: mem_addr(self.buffer_addr),
        };
        request
    }

    fn reply(_response: Self::Response) -> Self::Reply {}
}

/// What probe read. Limits and units are with the fields, see [`crate::hw::admin`].
pub(crate) struct Features {
    /// Versions, identity, capabilities.
    pub(crate) device: AdminFeatureDeviceAttrDesc,
    /// Address and MTU.
    pub(crate) network: AdminFeatureNetworkAttrDesc,
    /// Limits of objects.
    pub(crate) queues: AdminFeatureQueueAttrDesc1,
    /// More limits, where the device tells them.
    pub(crate) queues_2: Option<AdminFeatureQueueAttrDesc2>,
    /// Limits of event queues, where the device has any.
    pub(crate) event_queues: Option<AdminEventQueueAttrDesc>,
}

impl Features {
    /// Reads and checks them.
    ///
    /// # Errors
    ///
    /// * `EINVAL`: the device tells something impossible.
    /// * `EOPNOTSUPP`: it lacks a feature that the driver needs.
    /// * What a command fails with.
    pub(crate) fn read(dev: &Device, queue: &AdminQueue) -> Result<Self> {
        // Only this one may be asked for before it is known what the device has.
        let device = read::<DeviceAttr>(queue)?;
        check_device(dev, &device)?;
        let supported = Supported(device.supported_features);

        let queues = supported.get::<QueueAttr1>(dev, queue)?;
        let queues_2 = supported.get_optional::<QueueAttr2>(queue)?;
        let network = supported.get::<NetworkAttr>(dev, queue)?;
        let event_queues = supported.get_optional::<EventQueueAttr>(queue)?;
        Ok(Self {
            device,
            network,
            queues,
            queues_2,
            event_queues,
        })
    }

    /// The BAR of the doorbells. The high byte of its number says nothing.
    pub(crate) fn doorbell_bar(&self) -> u32 {
        (self.device.db_bar & 0xff).into()
    }

    fn supported(&self) -> Supported {
        Supported(self.device.supported_features)
    }

    /// Reads what the device prefers.
    ///
    /// # Errors
    ///
    /// See [`Features::read`].
    pub(crate) fn hw_hints(&self, dev: &Device, queue: &AdminQueue) -> Result<AdminHwHints> {
        self.supported().get::<HwHints>(dev, queue)
    }

    /// Has the device report those of the groups `wanted` that it can report.
    ///
    /// # Errors
    ///
    /// See [`Features::read`].
    pub(crate) fn enable_events(&self, dev: &Device, queue: &AdminQueue, wanted: u32) -> Result {
        let config = self.supported().get::<AenqConfig>(dev, queue)?;
        queue.exec(&SetAenqConfig {
            groups: config.supported_groups & wanted,
        })
    }

    /// Tells the device about its host, where it wants to know. A failure is not important.
    pub(crate) fn set_host_info(&self, dev: &Device<Bound>, bdf: u16, queue: &AdminQueue) {
        if !self.supported().has(ADMIN_HOST_INFO) {
            return;
        }
        if let Err(error) = send_host_info(dev, bdf, queue) {
            dev_info!(dev, "host information not set: {error:?}\n");
        }
    }
}

/// The features that the device has, one bit each.
#[derive(Clone, Copy)]
struct Supported(u64);

impl Supported {
    fn has(self, id: u8) -> bool {
        1u64.checked_shl(id.into()).unwrap_or(0) & self.0 != 0
    }

    fn get_optional<F: Feature>(self, queue: &AdminQueue) -> Result<Option<F::Desc>> {
        if !self.has(F::GET.id) {
            return Ok(None);
        }
        read::<F>(queue).map(Some)
    }

    fn get<F: Feature>(self, dev: &Device, queue: &AdminQueue) -> Result<F::Desc> {
        if !self.has(F::GET.id) {
            return Err(lacks(dev, F::GET.name));
        }
        read::<F>(queue)
    }
}

#[cold]
fn lacks(dev: &Device, feature: &str) -> Error {
    dev_err!(dev, "the device lacks feature {feature}\n");
    EOPNOTSUPP
}

/// Refuses what no device can mean.
fn check_device(dev: &Device, device: &AdminFeatureDeviceAttrDesc) -> Result {
    if device.admin_api_version < 1 {
        dev_err!(
            dev,
            "feature version {} of the device is older than 1\n",
            device.admin_api_version
        );
        return Err(EINVAL);
    }
    Ok(())
}

/// Copies a text into a field of zeroes; cuts it where a terminating zero would not fit.
fn set_text(field: &mut [u8], text: &[u8]) {
    if let Some((_terminator, places)) = field.split_last_mut() {
        for (to, from) in places.iter_mut().zip(text) {
            *to = *from;
        }
    }
}

fn host_info(bdf: u16) -> AdminHostInfo {
    let mut info = AdminHostInfo::new_zeroed();
    set_text(
        &mut info.os_dist_str,
        rdma::host::kernel_release().to_bytes(),
    );
    set_text(
        &mut info.kernel_ver_str,
        rdma::host::kernel_version().to_bytes(),
    );
    info.kernel_ver = rdma::host::kernel_version_code();
    let [major, minor, sub_minor] = VERSION;
    info.driver_ver = u32::from_be_bytes([major, minor, sub_minor, 0]);
    info.bdf = bdf;
    // The specification of the C driver's headers, 2.0.
    info.spec_ver = 0x0200;
    info
}

fn send_host_info(dev: &Device<Bound>, bdf: u16, queue: &AdminQueue) -> Result {
    let info = host_info(bdf);
    let memory = Coherent::from(CoherentBox::from_slice(dev, info.as_bytes(), GFP_KERNEL)?);
    let command = SetHostInfo {
        buffer_addr: memory.dma_address(),
    };
    let mut pieces = KVVec::with_capacity(1, GFP_KERNEL)?;
    pieces.push(memory, GFP_KERNEL)?;
    queue.exec_with(&command, Some(ControlBuffer::direct(pieces)))
}

#[kernel::macros::kunit_tests(efa_admin_features)]
mod tests {
    use super::*;

    #[test]
    fn features_are_one_bit_each() {
        let supported = Supported(1 << 1 | 1 << 9);
        for id in 0..=u8::MAX {
            assert_eq!(supported.has(id), id == 1 || id == 9);
        }
    }

    #[test]
    fn a_description_is_parsed_from_the_response() -> Result {
        let mut response = AdminGetFeatureResp::new_zeroed();
        for (to, from) in response.u.as_mut_bytes().iter_mut().zip(1_u8..) {
            *to = from;
        }
        let network = desc::<NetworkAttr>(&response.u)?;
        assert_eq!(
            network.addr,
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
        );
        assert_eq!(network.mtu, 0x1413_1211);
        let hints = desc::<HwHints>(&response.u)?;
        assert_eq!(hints.mmio_read_timeout, 0x0201);
        assert_eq!(hints.admin_completion_timeout, 0x0605);
        let device = desc::<DeviceAttr>(&response.u)?;
        assert_eq!(device.supported_features, 0x0807_0605_0403_0201);
        assert_eq!(device.db_bar, 0x1e1d);
        assert_eq!(device.guid, 0x302f_2e2d_2c2b_2a29);
        Ok(())
    }

    #[test]
    fn a_feature_request_names_the_feature_only() {
        let request = QueueAttr2::GET.request();
        for (at, byte) in request.as_bytes().iter().enumerate() {
            assert_eq!(*byte, if at == 13 { 9 } else { 0 });
        }
        let request = SetAenqConfig { groups: 0x1e }.request();
        for (at, byte) in request.as_bytes().iter().enumerate() {
            let expected = match at {
                13 => 2,
                20 => 0x1e,
                _ => 0,
            };
            assert_eq!(*byte, expected);
        }
    }

    #[test]
    fn a_text_is_cut_and_stays_terminated() {
        let mut field = [0_u8; 4];
        set_text(&mut field, b"ab");
        assert_eq!(&field, b"ab\0\0");
        set_text(&mut field, b"abcdef");
        assert_eq!(&field, b"abc\0");
    }
}
