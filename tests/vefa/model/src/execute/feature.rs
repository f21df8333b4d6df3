// SPDX-License-Identifier: GPL-2.0
//! Features: what the device says of itself, and what the driver tells it.

use vefa_spec::features::HostInfo;

use super::{Answer, Outcome, Refusal};
use crate::aenq::group_bit;
use crate::command::FeatureId;
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Feature, Status};
use crate::rules::Rule;
use crate::{attributes, EfaModel};

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    pub(super) fn get_feature(&mut self, feature: FeatureId) -> Outcome {
        let enabled = self.queues.aenq.as_ref().map_or(0, |q| q.enabled_groups);
        match feature {
            FeatureId::Known(feature) if self.config.has_feature(feature) => {
                attributes::feature(&self.config, feature, enabled)
                    .map(Answer::entry)
                    .ok_or_else(|| Status::UnsupportedOpcode.into())
            }
            _ => Err(Status::UnsupportedOpcode.into()),
        }
    }

    pub(super) fn set_aenq_config(&mut self, groups: u32) -> Outcome {
        if !self.config.has_feature(Feature::AenqConfig) {
            return Err(Status::UnsupportedOpcode.into());
        }
        let supported = self.config.aenq_groups.iter();
        let supported = supported.fold(0, |mask, group| mask | group_bit(*group));
        if groups & !supported != 0 {
            let text = format!("groups {groups:#x} enabled of supported {supported:#x}");
            return Err(Refusal::illegal(Rule::AenqGroupUnsupported, text));
        }
        self.enable_groups(groups);
        Ok(Answer::default())
    }

    pub(super) fn set_host_info(
        &mut self,
        length: u32,
        address: u64,
        has_control_buffer: bool,
    ) -> Outcome {
        if !self.config.has_feature(Feature::HostInfo) {
            return Err(Status::UnsupportedOpcode.into());
        }
        let mut buffer = [0; HostInfo::LAYOUT.size];
        if !has_control_buffer || length as usize != buffer.len() {
            let text = format!("control buffer of {length} bytes, valid: {has_control_buffer}");
            return Err(Refusal::illegal(Rule::HostInfoBuffer, text));
        }
        self.bus
            .read(self.config.dma_addr_width, address, &mut buffer)?;
        let Some(info) = HostInfo::parse(&buffer) else {
            return Err(Status::MalformedRequest.into());
        };
        Ok(Answer::default()
            .with("os_dist", text(&info.os_dist_str))
            .with("os_type", info.os_type)
            .with("kernel_version", text(&info.kernel_ver_str))
            .with("kernel_version_code", info.kernel_ver)
            .with("driver_version", info.driver_ver)
            .with("bdf", info.bdf)
            .with("spec_version", info.spec_ver)
            .with("flags", info.flags))
    }
}

/// The text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
