// SPDX-License-Identifier: GPL-2.0
//! What GET_FEATURE says of the device, from its configuration.

use vefa_spec::constants as c;
use vefa_spec::features::{
    AenqConfig, DeviceAttr, EventQueueAttr, GetFeatureResp, HwHints, NetworkAttr, QueueAttr1,
    QueueAttr2,
};
use vefa_spec::Wire;

use crate::aenq::group_bit;
use crate::config::Config;
use crate::names::{Capability, CounterEvent, Feature};

/// Where a feature's contents start in the answer.
const CONTENTS_OFFSET: usize = 8;

/// Width of the virtual addresses in memory regions, in bits.
const VIRTUAL_ADDRESS_WIDTH: u8 = 57;

/// The answer to GET_FEATURE; `None` for a feature that can only be set.
pub(crate) fn feature(config: &Config, feature: Feature, enabled_groups: u32) -> Option<Vec<u8>> {
    let answer = match feature {
        Feature::DeviceAttr => answer(&device_attr(config)),
        Feature::QueueAttr1 => answer(&queue_attr_1(config)),
        Feature::QueueAttr2 => answer(&queue_attr_2(config)),
        Feature::EventQueueAttr => answer(&EventQueueAttr {
            max_eq: config.max_eq,
            max_eq_depth: config.max_eq_depth,
            event_bitmask: c::CREATE_EQ_CMD_COMPLETION_EVENTS_MASK,
        }),
        Feature::AenqConfig => answer(&AenqConfig {
            supported_groups: config
                .aenq_groups
                .iter()
                .fold(0, |mask, group| mask | group_bit(*group)),
            enabled_groups,
        }),
        Feature::NetworkAttr => answer(&NetworkAttr {
            addr: config.gid.0,
            mtu: config.mtu,
        }),
        Feature::HwHints => answer(&HwHints {
            mmio_read_timeout: config.mmio_read_timeout_ms,
            driver_watchdog_timeout: config.driver_watchdog_timeout_ms,
            admin_completion_timeout: config.admin_completion_timeout_ms,
            poll_interval: config.poll_interval_ms,
        }),
        Feature::HostInfo => return None,
    };
    Some(answer)
}

fn answer(contents: &impl Wire) -> Vec<u8> {
    let mut entry = vec![0; GetFeatureResp::LAYOUT.size];
    contents.put(&mut entry, CONTENTS_OFFSET);
    entry
}

fn device_attr(config: &Config) -> DeviceAttr {
    DeviceAttr {
        supported_features: config
            .features
            .iter()
            .fold(1 << Feature::DeviceAttr.number(), |mask, feature| {
                mask | (1 << feature.number())
            }),
        page_size_cap: config.page_size_cap,
        fw_version: config.fw_version,
        admin_api_version: config.api_version.minor(),
        device_version: config.device_version,
        db_bar: u16::from(config.db_bar),
        phys_addr_width: config.dma_addr_width,
        virt_addr_width: VIRTUAL_ADDRESS_WIDTH,
        device_caps: config.device_caps(),
        max_rdma_size: config.max_rdma_size,
        // A GUID is in network byte order on the wire.
        guid: config.guid.swap_bytes(),
        max_link_speed_gbps: config.max_link_speed_gbps,
        ..DeviceAttr::default()
    }
}

fn queue_attr_1(config: &Config) -> QueueAttr1 {
    QueueAttr1 {
        max_qp: config.max_qp,
        max_sq_depth: config.max_sq_depth,
        inline_buf_size: config.inline_buf_size,
        max_rq_depth: config.max_rq_depth,
        max_cq: config.max_cq,
        max_cq_depth: config.max_cq_depth,
        sub_cqs_per_cq: config.sub_cqs_per_cq,
        min_sq_depth: config.min_sq_depth,
        max_wr_send_sges: config.max_wr_send_sges,
        max_wr_recv_sges: config.max_wr_recv_sges,
        max_mr: config.max_mr,
        max_mr_pages: config.max_mr_pages,
        max_pd: config.max_pd,
        max_ah: config.max_ah,
        max_llq_size: config.max_llq_size,
        max_wr_rdma_sges: config.max_wr_rdma_sges,
        max_tx_batch: config.max_tx_batch,
    }
}

fn queue_attr_2(config: &Config) -> QueueAttr2 {
    let mut attr = QueueAttr2 {
        inline_buf_size_ex: config.inline_buf_size_ex,
        ..QueueAttr2::default()
    };
    if config.has_cap(Capability::EventCounters) {
        attr.supported_event_counter_qp_events = CounterEvent::mask(&config.event_counter_events);
        attr.max_event_counters = config.max_event_counters;
        attr.event_counter_max_val = config.event_counter_max_val;
    }
    attr
}
