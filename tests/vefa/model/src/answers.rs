// SPDX-License-Identifier: GPL-2.0
//! What the device's answers hold beside what the driver reads: its own values,
//! nothing, or noise. All that the driver is told passes through
//! [`EfaModel::shape`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vefa_spec::commands::{
    AllocPdResp, AllocUarResp, CreateAhResp, CreateCqResp, CreateEqResp, CreateEventCounterResp,
    CreateQpResp, QueryQpResp, RegMrResp,
};
use vefa_spec::entries::{AcqCommonDesc, AenqCommonDesc, CompEvent, Eqe};
use vefa_spec::features::{
    AenqConfig, DeviceAttr, EventQueueAttr, HwHints, NetworkAttr, QueueAttr1, QueueAttr2,
};
use vefa_spec::stats::{BasicStats, MessagesStats, NetworkStats, RdmaReadStats, RdmaWriteStats};
use vefa_spec::{reads, Layout, Wire};

use crate::command::{Command, FeatureId};
use crate::host::{GuestMemory, IrqSink, LlqMemory};
use crate::names::{Feature, Opcode, StatsType};
use crate::EfaModel;

/// What is in the parts of an answer that the kernel's C driver does not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// What belongs there; zeroes where nothing does.
    #[default]
    Full,
    /// Zeroes.
    Sparse,
    /// Noise, the same for the same seed.
    Noisy,
}

/// Numbers that look like chance, the same for the same seed (SplitMix64).
#[derive(Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as u8
    }
}

/// Which bits of an answer the driver reads, byte by byte; those beyond the end it does not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mask([u8; 64]);

impl Mask {
    fn of(layouts: &[Place]) -> Self {
        let mut mask = [0; 64];
        for (layout, offset) in layouts {
            reads::mark(&mut mask, layout, *offset);
        }
        Self(mask)
    }

    /// Of a completion; `command` where it succeeded.
    pub fn of_completion(command: Option<&Command>) -> Self {
        let mut places = vec![(&AcqCommonDesc::LAYOUT, 0)];
        places.extend(command.and_then(place));
        Self::of(&places)
    }

    /// Of an asynchronous event.
    pub fn of_async_event() -> Self {
        Self::of(&[(&AenqCommonDesc::LAYOUT, 0)])
    }

    /// Of a completion event in an event queue.
    pub fn of_completion_event() -> Self {
        Self::of(&[(&Eqe::LAYOUT, 0), (&CompEvent::LAYOUT, 8)])
    }

    /// Of a register's value.
    pub fn of_register(offset: u32) -> Self {
        let mut mask = [0; 64];
        reads::register_bits(offset).put(&mut mask, 0);
        Self(mask)
    }
}

/// A layout, and where in a completion it begins.
type Place = (&'static Layout, usize);

/// What features and statistics follow.
const CONTENTS_OFFSET: usize = AcqCommonDesc::SIZE;

/// What comes back for a command, but for the header.
fn place(command: &Command) -> Option<Place> {
    let opcode = match command {
        Command::GetFeature { feature } => match feature {
            FeatureId::Known(feature) => return feature_place(*feature),
            FeatureId::Unknown(_) => return None,
        },
        Command::GetStats { stats_type, .. } => {
            return StatsType::from_number(*stats_type).map(stats_place)
        }
        Command::AllocPd {} => Opcode::AllocPd,
        Command::CreateAh { .. } => Opcode::CreateAh,
        Command::AllocUar {} => Opcode::AllocUar,
        Command::CreateEq(_) => Opcode::CreateEq,
        Command::CreateCq(_) => Opcode::CreateCq,
        Command::RegMr(_) => Opcode::RegMr,
        Command::CreateQp(_) => Opcode::CreateQp,
        Command::QueryQp { .. } => Opcode::QueryQp,
        Command::CreateCounter { .. } => Opcode::CreateEventCounter,
        Command::SetAenqConfig { .. }
        | Command::SetHostInfo { .. }
        | Command::SetFeature { .. }
        | Command::DeallocPd { .. }
        | Command::DestroyAh { .. }
        | Command::DeallocUar { .. }
        | Command::DestroyEq { .. }
        | Command::DestroyCq { .. }
        | Command::DeregMr { .. }
        | Command::ModifyQp(_)
        | Command::DestroyQp { .. }
        | Command::DestroyCounter { .. }
        | Command::AttachCounter(_)
        | Command::DetachCounter(_)
        | Command::ModifyCounter(_)
        | Command::Unsupported {} => return None,
    };
    places(opcode).into_iter().next()
}

/// What can come back for commands of an opcode, but for the header.
fn places(opcode: Opcode) -> Vec<Place> {
    let layout = match opcode {
        Opcode::GetFeature => {
            let features = Feature::ALL.iter().copied();
            return features.filter_map(feature_place).collect();
        }
        Opcode::GetStats => return StatsType::ALL.iter().copied().map(stats_place).collect(),
        Opcode::CreateQp => &CreateQpResp::LAYOUT,
        Opcode::QueryQp => &QueryQpResp::LAYOUT,
        Opcode::CreateAh => &CreateAhResp::LAYOUT,
        Opcode::RegMr => &RegMrResp::LAYOUT,
        Opcode::CreateCq => &CreateCqResp::LAYOUT,
        Opcode::AllocPd => &AllocPdResp::LAYOUT,
        Opcode::AllocUar => &AllocUarResp::LAYOUT,
        Opcode::CreateEq => &CreateEqResp::LAYOUT,
        Opcode::CreateEventCounter => &CreateEventCounterResp::LAYOUT,
        _ => return Vec::new(),
    };
    vec![(layout, 0)]
}

fn feature_place(feature: Feature) -> Option<Place> {
    let layout = match feature {
        Feature::DeviceAttr => &DeviceAttr::LAYOUT,
        Feature::AenqConfig => &AenqConfig::LAYOUT,
        Feature::NetworkAttr => &NetworkAttr::LAYOUT,
        Feature::QueueAttr1 => &QueueAttr1::LAYOUT,
        Feature::HwHints => &HwHints::LAYOUT,
        Feature::EventQueueAttr => &EventQueueAttr::LAYOUT,
        Feature::QueueAttr2 => &QueueAttr2::LAYOUT,
        Feature::HostInfo => return None,
    };
    Some((layout, CONTENTS_OFFSET))
}

fn stats_place(stats_type: StatsType) -> Place {
    let layout = match stats_type {
        StatsType::Basic => &BasicStats::LAYOUT,
        StatsType::Messages => &MessagesStats::LAYOUT,
        StatsType::RdmaRead => &RdmaReadStats::LAYOUT,
        StatsType::RdmaWrite => &RdmaWriteStats::LAYOUT,
        StatsType::Network => &NetworkStats::LAYOUT,
    };
    (layout, CONTENTS_OFFSET)
}

/// Checks the fields that a fault is to change in answers to commands of an opcode.
///
/// # Errors
/// Names the first field that no such answer has, or that cannot have its value.
pub(crate) fn check_fields(opcode: Opcode, fields: &Map<String, Value>) -> Result<(), String> {
    for (name, value) in fields {
        let mut places = places(opcode).into_iter();
        let field = places
            .find_map(|(layout, _)| layout.field(name))
            .filter(|field| field.size <= 8 && field.name != "acq_common_desc")
            .ok_or_else(|| format!("no answer to {} has {name}", opcode.name()))?;
        let fits = |value: u64| field.size == 8 || value >> (8 * field.size) == 0;
        if !value.as_u64().is_some_and(fits) {
            return Err(format!(
                "{name} has {} bytes, and cannot be {value}",
                field.size
            ));
        }
    }
    Ok(())
}

/// Changes the fields that the answer to a command has of these.
pub(crate) fn put_fields(command: &Command, fields: &Map<String, Value>, entry: &mut [u8]) {
    let Some((layout, offset)) = place(command) else {
        return;
    };
    for (name, value) in fields {
        if let (Some(field), Some(value)) = (layout.field(name), value.as_u64()) {
            let bytes = entry
                .iter_mut()
                .skip(offset + field.offset)
                .take(field.size);
            for (to, from) in bytes.zip(value.to_le_bytes()) {
                *to = from;
            }
        }
    }
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> EfaModel<M, I, L> {
    /// Makes of an answer what the driver gets: what it does not read becomes what the
    /// configuration says.
    pub(crate) fn shape(&mut self, answer: &mut [u8], mask: &Mask) {
        let answers = self.config.answers;
        let read = mask.0.iter().chain(std::iter::repeat(&0));
        for (byte, read) in answer.iter_mut().zip(read) {
            let other = match answers {
                Answers::Full => return,
                Answers::Sparse => 0,
                Answers::Noisy => self.noise.byte(),
            };
            *byte = (*byte & read) | (other & !read);
        }
    }
}
