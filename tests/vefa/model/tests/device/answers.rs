// SPDX-License-Identifier: GPL-2.0
//! Answers of which only that is right which the kernel's C driver reads.

use serde_json::json;
use vefa_model::names::{Feature, Opcode, QpType, StatsType};
use vefa_model::{Answers, ApiVersion, Config};
use vefa_spec::commands::{
    AllocPdResp, AllocUarResp, CreateAhCmd, CreateAhResp, CreateCqResp, CreateEqCmd, CreateEqResp,
    CreateEventCounterCmd, CreateEventCounterResp, CreateQpResp, DestroyAhCmd, QueryQpCmd,
    QueryQpResp, RegMrResp,
};
use vefa_spec::entries::{AcqCommonDesc, AenqCommonDesc, CompEvent, Eqe};
use vefa_spec::features::{
    AenqConfig, DeviceAttr, EventQueueAttr, GetFeatureCmd, HwHints, NetworkAttr, QueueAttr1,
    QueueAttr2,
};
use vefa_spec::stats::{
    BasicStats, GetStatsCmd, MessagesStats, NetworkStats, RdmaReadStats, RdmaWriteStats,
};
use vefa_spec::{reads, regs, Layout};

use crate::driver::{feature_common, gid, versions, Driver, AENQ, BUFFER};
use crate::verbs::{address, cq_command, mr_command, qp_command};

/// Where the contents of features and statistics begin.
const CONTENTS: usize = 8;

const CHECKSUM: std::ops::Range<usize> = 4..6;

/// One answer, and which of its bits the C driver reads.
struct Answer {
    what: String,
    bytes: Vec<u8>,
    mask: Vec<u8>,
}

/// What a device answers in the life of a driver that uses all of it.
struct Session {
    driver: Driver,
    answers: Vec<Answer>,
}

impl Session {
    fn run(config: Config) -> Vec<Answer> {
        let mut session = Self {
            driver: Driver::up(config),
            answers: Vec::new(),
        };
        session.registers();
        session.features_and_statistics();
        session.objects();
        session.events();
        assert_eq!(session.driver.broken(), []);
        session.answers
    }

    fn add(&mut self, what: &str, bytes: &[u8], places: &[(&Layout, usize)]) {
        let mut mask = vec![0; bytes.len()];
        for (layout, offset) in places {
            reads::mark(&mut mask, layout, *offset);
        }
        self.answers.push(Answer {
            what: what.to_owned(),
            bytes: bytes.to_vec(),
            mask,
        });
    }

    fn registers(&mut self) {
        for register in [
            regs::VERSION_OFF,
            regs::CONTROLLER_VERSION_OFF,
            regs::CAPS_OFF,
            regs::DEV_STS_OFF,
            regs::AQ_CAPS_OFF,
        ] {
            let value = self.driver.read_register(register).unwrap();
            self.answers.push(Answer {
                what: format!("register {register:#x}"),
                bytes: value.to_le_bytes().to_vec(),
                mask: reads::register_bits(register).to_le_bytes().to_vec(),
            });
        }
    }

    /// Runs a command that succeeds, with an answer of this layout.
    fn command(&mut self, opcode: Opcode, payload: &[u8], layout: &Layout, at: usize) -> [u8; 64] {
        let entry = self.driver.command(opcode, payload).unwrap();
        let places = [(&AcqCommonDesc::LAYOUT, 0), (layout, at)];
        self.add(
            &format!("{} {}", opcode.name(), layout.name),
            &entry,
            &places,
        );
        entry
    }

    fn features_and_statistics(&mut self) {
        for (feature, layout) in [
            (Feature::DeviceAttr, &DeviceAttr::LAYOUT),
            (Feature::AenqConfig, &AenqConfig::LAYOUT),
            (Feature::NetworkAttr, &NetworkAttr::LAYOUT),
            (Feature::QueueAttr1, &QueueAttr1::LAYOUT),
            (Feature::HwHints, &HwHints::LAYOUT),
            (Feature::EventQueueAttr, &EventQueueAttr::LAYOUT),
            (Feature::QueueAttr2, &QueueAttr2::LAYOUT),
        ] {
            let command = GetFeatureCmd {
                feature_common: feature_common(feature.number()),
                ..Default::default()
            };
            self.command(Opcode::GetFeature, &command.encode(), layout, CONTENTS);
        }
        for (stats_type, layout) in [
            (StatsType::Basic, &BasicStats::LAYOUT),
            (StatsType::Messages, &MessagesStats::LAYOUT),
            (StatsType::RdmaRead, &RdmaReadStats::LAYOUT),
            (StatsType::RdmaWrite, &RdmaWriteStats::LAYOUT),
            (StatsType::Network, &NetworkStats::LAYOUT),
        ] {
            let command = GetStatsCmd {
                stats_type: stats_type.number(),
                ..Default::default()
            };
            self.command(Opcode::GetStats, &command.encode(), layout, CONTENTS);
        }
    }

    fn objects(&mut self) {
        let entry = self.command(Opcode::AllocPd, &[], &AllocPdResp::LAYOUT, 0);
        let pd = AllocPdResp::parse(&entry).unwrap().pd;
        let entry = self.command(Opcode::AllocUar, &[], &AllocUarResp::LAYOUT, 0);
        let uar = AllocUarResp::parse(&entry).unwrap().uar;
        let command = CreateAhCmd {
            dest_addr: gid(7).0,
            pd,
            ..Default::default()
        };
        self.command(
            Opcode::CreateAh,
            &command.encode(),
            &CreateAhResp::LAYOUT,
            0,
        );
        let command = CreateEqCmd {
            depth: 16,
            msix_vec: 1,
            caps: 4,
            ba: address(BUFFER),
            event_bitmask: 1,
            ..Default::default()
        };
        self.command(
            Opcode::CreateEq,
            &command.encode(),
            &CreateEqResp::LAYOUT,
            0,
        );
        let command = cq_command(uar).encode();
        let entry = self.command(Opcode::CreateCq, &command, &CreateCqResp::LAYOUT, 0);
        let cq = CreateCqResp::parse(&entry).unwrap().cq_idx;
        let command = mr_command(pd).encode();
        self.command(Opcode::RegMr, &command, &RegMrResp::LAYOUT, 0);
        let command = qp_command(QpType::Srd, pd, uar, cq).encode();
        let entry = self.command(Opcode::CreateQp, &command, &CreateQpResp::LAYOUT, 0);
        let qp_handle = CreateQpResp::parse(&entry).unwrap().qp_handle;
        let command = QueryQpCmd { qp_handle }.encode();
        self.command(Opcode::QueryQp, &command, &QueryQpResp::LAYOUT, 0);
        let command = CreateEventCounterCmd {
            uar,
            paddr: BUFFER + 0x1000,
            ..Default::default()
        };
        let layout = &CreateEventCounterResp::LAYOUT;
        self.command(Opcode::CreateEventCounter, &command.encode(), layout, 0);

        // One whose answer has a header alone, and one that fails.
        let command = DestroyAhCmd { ah: 1, pd }.encode();
        let header = &AcqCommonDesc::LAYOUT;
        self.command(Opcode::DestroyAh, &command, header, 0);
        self.driver.control(json!({
            "op": "fault", "command": "create_ah", "action": "status", "status": "unknown_error",
        }));
        let entry = self.driver.entry(Opcode::CreateAh.number(), 0, &[0; 20]);
        let completion = self.driver.submit(&entry).unwrap();
        self.add("a command that fails", &completion.entry, &[(header, 0)]);
    }

    fn events(&mut self) {
        self.driver
            .control(json!({"op": "keep_alive", "on": false}));
        self.driver.enable_groups(0x1e).unwrap();
        self.driver
            .control(json!({"op": "event", "group": "warning", "syndrome": 0x1234}));
        let event = self.driver.memory.get::<64>(AENQ);
        self.add("warning", &event, &[(&AenqCommonDesc::LAYOUT, 0)]);
        self.driver
            .control(json!({"op": "completion_event", "eq": 0, "cq": 0x4321}));
        let event = self.driver.memory.get::<16>(BUFFER);
        let places = [(&Eqe::LAYOUT, 0), (&CompEvent::LAYOUT, 8)];
        self.add("completion event", &event, &places);
    }
}

fn answers(answers: Answers, answers_seed: u64, base: &Config) -> Vec<Answer> {
    Session::run(Config {
        answers,
        answers_seed,
        ..base.clone()
    })
}

/// Compares what the device says with what it says on `full`, but for checksums, which the small
/// driver has checked.
fn compare(full: &[Answer], other: &[Answer], right: impl Fn(u8, u8, u8) -> bool) {
    assert_eq!(full.len(), other.len());
    for (full, other) in full.iter().zip(other) {
        let bytes = full.bytes.iter().zip(&other.bytes).zip(&full.mask);
        for (at, ((full_byte, byte), mask)) in bytes.enumerate() {
            let is_checksum = full.bytes.len() == 64 && CHECKSUM.contains(&at);
            assert!(
                is_checksum || right(*full_byte, *byte, *mask),
                "{}, byte {at}: {full_byte:#x} became {byte:#x}, of which {mask:#x} is read",
                full.what
            );
        }
    }
}

fn bytes(answers: &[Answer]) -> Vec<&[u8]> {
    answers.iter().map(|answer| &answer.bytes[..]).collect()
}

#[test]
fn sparse_answers_have_what_is_read_and_zeroes() {
    for config in versions() {
        let full = answers(Answers::Full, 0, &config);
        let sparse = answers(Answers::Sparse, 0, &config);
        compare(&full, &sparse, |full, sparse, mask| sparse == full & mask);
        // The depth of a CQ, the firmware's version, and the syndrome of an event.
        for (what, at) in [
            ("create_cq efa_admin_create_cq_resp", 10),
            ("get_feature efa_admin_feature_device_attr_desc", 24),
            ("warning", 2),
        ] {
            let of = |answers: &[Answer]| {
                let mut answers = answers.iter();
                answers.find(|answer| answer.what == what).unwrap().bytes[at]
            };
            assert!(of(&full) != 0 && of(&sparse) == 0, "{what}");
        }
    }
}

#[test]
fn noisy_answers_have_what_is_read_and_noise() {
    for config in versions() {
        let full = answers(Answers::Full, 0, &config);
        let mut changed = [0; 256];
        let mut sessions = 0;
        for seed in 1..=8 {
            let noisy = answers(Answers::Noisy, seed, &config);
            compare(&full, &noisy, |full, noisy, mask| {
                noisy & mask == full & mask
            });
            for (full, noisy) in full.iter().zip(&noisy) {
                let unread = full.mask.iter().filter(|mask| **mask == 0).count();
                let same = full.bytes.iter().zip(&noisy.bytes).filter(|(a, b)| a == b);
                assert!(
                    unread < 8 || same.count() < full.bytes.len(),
                    "{}",
                    full.what
                );
            }
            changed[usize::from(noisy[5].bytes[63])] += 1;
            sessions += 1;
        }
        // No byte is always the same.
        assert!(changed.iter().all(|count| *count < sessions));
    }
}

#[test]
fn noise_is_the_same_for_the_same_seed() {
    let config = Config::default();
    let first = answers(Answers::Noisy, 7, &config);
    let again = answers(Answers::Noisy, 7, &config);
    let other = answers(Answers::Noisy, 8, &config);
    assert_eq!(bytes(&first), bytes(&again));
    assert_ne!(bytes(&first), bytes(&other));

    // Also where it is set on a device that runs.
    let mut driver = Driver::default_up();
    let mut noise = || {
        driver.control(json!({"op": "set", "answers": "noisy", "answers_seed": 0}));
        driver.control(json!({"op": "set", "answers_seed": 7}));
        driver.read_register(regs::AQ_CAPS_OFF).unwrap()
    };
    assert_eq!(noise(), noise());
}

#[test]
fn without_checksums_their_place_is_one_that_nobody_reads() {
    let base = &versions()[0];
    assert_eq!(base.api_version, ApiVersion::V0_1);
    let noisy = answers(Answers::Noisy, 1, base);
    let completions = noisy.iter().filter(|answer| answer.bytes.len() == 64);
    assert!(completions
        .into_iter()
        .any(|it| it.bytes[CHECKSUM] != [0, 0]));
}

#[test]
fn a_scripted_field_is_in_the_answer_and_the_checksum_over_it() {
    let mut driver = Driver::default_up();
    driver.control(json!({
        "op": "fault", "command": "alloc_pd", "action": "answer", "fields": {"pd": 0x1234},
    }));
    assert_eq!(driver.alloc_pd(), Ok(0x1234));
    assert_ne!(driver.alloc_pd(), Ok(0x1234));
    driver.control(json!({
        "op": "fault", "command": "get_feature", "action": "answer", "count": 0,
        "fields": {"mtu": 0, "max_mr": 5},
    }));
    let network: NetworkAttr = driver.get_feature(Feature::NetworkAttr.number()).unwrap();
    assert_eq!(network.mtu, 0);
    let queues: QueueAttr1 = driver.get_feature(Feature::QueueAttr1.number()).unwrap();
    assert_eq!((queues.max_mr, queues.max_qp), (5, 256));
}

#[test]
fn a_field_that_no_answer_has_is_not_scripted() {
    let mut driver = Driver::default_up();
    for (command, fields) in [
        ("alloc_pd", json!({"uar": 1})),
        ("alloc_pd", json!({"pd": 0x10000})),
        ("alloc_pd", json!({"pd": "one"})),
        ("alloc_pd", json!({"acq_common_desc": 1})),
        ("get_feature", json!({"addr": 1})),
        ("dealloc_pd", json!({"pd": 1})),
        ("*", json!({"pd": 1})),
        ("alloc_pd", json!({})),
    ] {
        let reply = driver.try_control(json!({
            "op": "fault", "command": command, "action": "answer", "fields": fields,
        }));
        assert!(!reply.ok, "{command} {fields}");
    }
    let reply = driver.try_control(json!({
        "op": "fault", "command": "alloc_pd", "action": "hold", "fields": {"pd": 1},
    }));
    assert!(!reply.ok);
}
