// SPDX-License-Identifier: GPL-2.0
//! What a device is: identity, limits, capabilities. Every key has a default;
//! the defaults describe a device on which the usual test suites run.

mod checks;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answers::Answers;
use crate::gid::Gid;
use crate::names::{AenqGroup, Capability, CounterEvent, Feature, StatsType};

/// Size of the register BAR in bytes, where it holds no doorbells.
pub const REGISTER_BAR_SIZE: u64 = 16 << 10;
/// Bytes of the doorbell BAR that one UAR gets.
pub const DOORBELL_PAGE_SIZE: u64 = 4 << 10;

/// Version of the admin API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ApiVersion {
    /// The first: 64-byte submission entries, no checksums.
    #[serde(rename = "0.1")]
    V0_1,
    /// Completions carry a checksum.
    #[serde(rename = "0.2")]
    V0_2,
    /// Submission entries have 128 bytes and a checksum too.
    #[serde(rename = "0.3")]
    V0_3,
}

impl ApiVersion {
    /// The minor number; the major one is 0.
    pub fn minor(self) -> u32 {
        match self {
            Self::V0_1 => 1,
            Self::V0_2 => 2,
            Self::V0_3 => 3,
        }
    }
}

/// A configuration that no device can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct ConfigError {
    /// The key that is wrong.
    pub key: &'static str,
    /// What it must be.
    pub reason: String,
}

/// The device's configuration. Documentation/vefa.md lists the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    // PCI function; fixed once the device is there.
    /// PCI device id, 0xefa0 to 0xefa4.
    pub device_id: u16,
    /// PCI subsystem device id, which drivers report as hardware version.
    pub subsystem_device_id: u16,
    /// MSI-X vectors, the management vector included.
    pub num_vectors: u16,
    /// Number of the BAR that holds the MSI-X table and its pending bits.
    pub msix_bar: u8,
    /// Number of the BAR that holds the doorbells.
    pub db_bar: u8,
    /// Whether that BAR is there at all.
    pub has_db_bar: bool,
    /// Bytes for doorbells in that BAR.
    pub db_bar_size: u64,
    /// Whether BAR 2 (LLQ memory) is there.
    pub has_bar2: bool,
    /// Size of BAR 2 in bytes.
    pub llq_bar_size: u64,

    // Registers.
    /// Version of the admin API.
    pub api_version: ApiVersion,
    /// DEV_STS.READY.
    pub ready: bool,
    /// Width of the bus addresses that the device can use, in bits.
    pub dma_addr_width: u8,
    /// CAPS: reset timeout in units of 100 ms.
    pub reset_timeout: u8,
    /// CAPS: admin command timeout in units of 100 ms, 0 for none.
    pub admin_cmd_timeout: u8,
    /// How long RESET_IN_PROGRESS takes to follow DEV_CTL, in milliseconds.
    pub reset_delay_ms: u64,
    /// Whether register reads are answered while RESET_IN_PROGRESS is set, or about to be.
    pub reads_during_reset: bool,
    /// Offset of a register whose reads are never answered.
    pub silent_register: u32,
    /// How long each admin command takes, in microseconds.
    pub command_delay_us: u64,

    // Answers.
    /// What is in the parts of answers that the kernel's C driver does not read.
    pub answers: Answers,
    /// What noise is made from.
    pub answers_seed: u64,

    // Features and what they say.
    /// Features that the device has; DEVICE_ATTR is always there.
    pub features: Vec<Feature>,
    /// Capabilities; by default those usual for the device id.
    pub caps: Option<Vec<Capability>>,
    /// Types of statistics that the device has.
    pub stats: Vec<StatsType>,
    /// AENQ groups that the device can report.
    pub aenq_groups: Vec<AenqGroup>,
    /// Node GUID.
    pub guid: u64,
    /// The port's GID.
    pub gid: Gid,
    /// The port's MTU in bytes.
    pub mtu: u32,
    /// Firmware version.
    pub fw_version: u32,
    /// Device version.
    pub device_version: u32,
    /// Bit n: memory regions may use pages of 2^n bytes.
    pub page_size_cap: u64,
    /// Largest RDMA transfer in bytes.
    pub max_rdma_size: u32,
    /// Link speed in Gbit/s.
    pub max_link_speed_gbps: u16,
    /// Service levels that a QP may ask for.
    pub service_levels: Vec<u8>,
    /// Events that event counters can count.
    pub event_counter_events: Vec<CounterEvent>,
    /// Largest value of an event counter; 0 follows it.
    pub event_counter_max_val: u64,
    /// Interconnect that a region is received into by, `None` for not known.
    pub recv_ic_id: Option<u8>,
    /// Interconnect that a region is read into by.
    pub rdma_read_ic_id: Option<u8>,
    /// Interconnect that a region is written by others by.
    pub rdma_recv_ic_id: Option<u8>,

    // Limits.
    pub max_qp: u32,
    pub max_cq: u32,
    pub max_mr: u32,
    pub max_pd: u32,
    pub max_ah: u32,
    pub max_uar: u32,
    pub max_eq: u32,
    pub max_sq_depth: u32,
    pub min_sq_depth: u16,
    pub max_rq_depth: u32,
    pub max_cq_depth: u32,
    pub max_eq_depth: u32,
    pub max_mr_pages: u32,
    pub max_llq_size: u32,
    pub max_wr_send_sges: u16,
    pub max_wr_recv_sges: u16,
    pub max_wr_rdma_sges: u16,
    /// In units of 64 bytes, 0 for unlimited.
    pub max_tx_batch: u16,
    pub inline_buf_size: u32,
    pub inline_buf_size_ex: u16,
    pub sub_cqs_per_cq: u16,
    pub max_event_counters: u32,
    /// Where in its first page of LLQ memory a send queue starts, in bytes.
    pub llq_page_offset: u16,

    // Hints to the driver in milliseconds, 0 for none.
    pub mmio_read_timeout_ms: u16,
    pub driver_watchdog_timeout_ms: u16,
    pub admin_completion_timeout_ms: u16,
    pub poll_interval_ms: u16,

    /// Time between keep-alive events in milliseconds.
    pub keep_alive_ms: u64,

    // How SRD behaves.
    /// How long a packet waits for its answer before it is sent again, in
    /// milliseconds.
    pub retransmit_ms: u64,
    /// How often a message is sent again before its peer is given up.
    pub retransmit_limit: u32,
    /// How long a message waits for its receiver to have a buffer before it is
    /// sent again, in milliseconds.
    pub rnr_delay_ms: u64,
    /// Whether destroying a QP completes its outstanding work requests with
    /// the status "flushed".
    pub flush_on_destroy: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            device_id: 0xefa2,
            subsystem_device_id: 0xefa2,
            num_vectors: 33,
            msix_bar: 0,
            db_bar: 4,
            has_db_bar: true,
            db_bar_size: 1 << 20,
            has_bar2: true,
            llq_bar_size: 16 << 20,
            api_version: ApiVersion::V0_3,
            ready: true,
            dma_addr_width: 48,
            reset_timeout: 30,
            admin_cmd_timeout: 0,
            reset_delay_ms: 0,
            reads_during_reset: true,
            silent_register: u32::MAX,
            command_delay_us: 0,
            answers: Answers::Full,
            answers_seed: 0,
            features: Feature::ALL.to_vec(),
            caps: None,
            stats: StatsType::ALL.to_vec(),
            aenq_groups: AenqGroup::ALL.to_vec(),
            guid: 0x02ef_a000_0000_0001,
            gid: Gid([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0xef, 0xa0, 0, 0, 0, 0, 1]),
            mtu: 8928,
            fw_version: 1,
            device_version: 1,
            page_size_cap: 0x0000_001f_ffff_f000,
            max_rdma_size: 1 << 30,
            max_link_speed_gbps: 100,
            service_levels: vec![0, 8],
            event_counter_events: CounterEvent::ALL.to_vec(),
            event_counter_max_val: (1 << 48) - 1,
            recv_ic_id: Some(1),
            rdma_read_ic_id: Some(2),
            rdma_recv_ic_id: Some(3),
            max_qp: 256,
            max_cq: 512,
            max_mr: 1 << 16,
            max_pd: 256,
            max_ah: 4096,
            max_uar: 256,
            max_eq: 32,
            max_sq_depth: 4096,
            min_sq_depth: 32,
            max_rq_depth: 32768,
            max_cq_depth: 32768,
            max_eq_depth: 256,
            max_mr_pages: 1 << 24,
            max_llq_size: 1 << 19,
            max_wr_send_sges: 2,
            max_wr_recv_sges: 3,
            max_wr_rdma_sges: 1,
            max_tx_batch: 0,
            inline_buf_size: 32,
            inline_buf_size_ex: 80,
            sub_cqs_per_cq: 1,
            max_event_counters: 1024,
            llq_page_offset: 0,
            mmio_read_timeout_ms: 0,
            driver_watchdog_timeout_ms: 0,
            admin_completion_timeout_ms: 0,
            poll_interval_ms: 0,
            keep_alive_ms: 1000,
            retransmit_ms: 200,
            retransmit_limit: 5,
            rnr_delay_ms: 2,
            flush_on_destroy: true,
        }
    }
}

impl Config {
    /// Bytes of LLQ memory, which is at the start of BAR 2; 0 where there is none.
    pub fn llq_size(&self) -> u64 {
        if self.has_bar2 {
            self.llq_bar_size
        } else {
            0
        }
    }

    /// Offset of the first UAR's doorbell page in the doorbell BAR, in bytes: the pages follow what else is
    /// in that BAR.
    pub fn doorbell_base(&self) -> u64 {
        match self.db_bar {
            0 => REGISTER_BAR_SIZE,
            2 => self.llq_size(),
            _ => 0,
        }
    }

    /// Size of a BAR in bytes; `None` where the device does not have it.
    pub fn bar_size(&self, bar: u8) -> Option<u64> {
        let doorbells = if bar == self.db_bar && self.has_db_bar {
            self.db_bar_size
        } else {
            0
        };
        let own = match bar {
            0 => REGISTER_BAR_SIZE,
            2 => self.llq_size(),
            _ => 0,
        };
        match own + doorbells {
            0 => None,
            size => Some(size.next_power_of_two()),
        }
    }

    /// Offset of the doorbell page of `uar` in the doorbell BAR, in bytes.
    pub fn doorbell_page(&self, uar: u16) -> u64 {
        self.doorbell_base() + u64::from(uar) * DOORBELL_PAGE_SIZE
    }

    /// This configuration with some keys changed, each by itself of the right kind; see
    /// [`Config::validate`] for the rest.
    ///
    /// # Errors
    ///
    /// One line that names the first key that is not there, or cannot have its value.
    pub fn with(&self, values: Map<String, Value>) -> Result<Self, String> {
        let mut config = self.clone();
        let mut keys = match serde_json::to_value(self) {
            Ok(Value::Object(keys)) => keys,
            Ok(_) => Map::new(),
            Err(error) => return Err(error.to_string()),
        };
        for (key, value) in values {
            let Some(now) = keys.insert(key.clone(), value.clone()) else {
                return Err(format!("there is no key {key}"));
            };
            config = serde_json::from_value(Value::Object(keys.clone()))
                .map_err(|error| format!("{key} cannot be {value} (it is {now}): {error}"))?;
        }
        Ok(config)
    }

    /// The capability bits of DEVICE_ATTR.
    pub fn device_caps(&self) -> u32 {
        let usual = match self.device_id {
            0xefa0 => &USUAL_CAPS[..0],
            0xefa1 => &USUAL_CAPS[..2],
            _ => &USUAL_CAPS[..],
        };
        self.caps
            .as_deref()
            .unwrap_or(usual)
            .iter()
            .fold(0, |caps, cap| caps | cap.number())
    }

    /// Whether the device has a capability.
    pub fn has_cap(&self, capability: Capability) -> bool {
        self.device_caps() & capability.number() != 0
    }

    /// Whether the device has a feature.
    pub fn has_feature(&self, feature: Feature) -> bool {
        feature == Feature::DeviceAttr || self.features.contains(&feature)
    }
}

/// In the order in which device generations gained them.
const USUAL_CAPS: [Capability; 7] = [
    Capability::RdmaRead,
    Capability::RnrRetry,
    Capability::RdmaWrite,
    Capability::UnsolicitedWriteRecv,
    Capability::DataPolling128,
    Capability::EventCounters,
    Capability::Sq64BitReqId,
];
