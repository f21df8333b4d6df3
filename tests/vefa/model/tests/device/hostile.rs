// SPDX-License-Identifier: GPL-2.0
//! A hostile guest: random accesses and random entries never make the device
//! panic, and its counts stay sound.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::json;
use vefa_model::names::{Opcode, QpType, Status};
use vefa_model::{Config, GuestMemory};
use vefa_spec::commands::{CreateEventCounterCmd, ModifyQpCmd};
use vefa_spec::regs;

use crate::driver::{versions, Completion, Driver, AQ, BUFFER, MEMORY_BASE};
use crate::verbs::{cq_command, mr_command, qp_command};

/// A xorshift generator: the same numbers for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }
}

/// What an object's field names, and of what kind that is.
const OWNERS: [(&str, &str); 5] = [
    ("pd", "pd"),
    ("uar", "uar"),
    ("eq", "eq"),
    ("send_cq", "cq"),
    ("recv_cq", "cq"),
];

/// Counts agree with the list of objects, no key has two AHs, and whatever an
/// object belongs to or reports to is alive.
fn check(driver: &mut Driver) {
    let reply = driver.control(json!({"op": "objects", "detail": true}));
    let detail = reply["detail"].as_array().unwrap();
    let ids = |kind: &str| -> Vec<_> {
        let of_kind = detail.iter().filter(|object| object["kind"] == kind);
        of_kind.map(|object| object["id"].clone()).collect()
    };
    for (kind, count) in reply["objects"].as_object().unwrap() {
        assert_eq!(ids(kind).len() as u64, *count, "{kind}");
    }
    for object in detail {
        for (field, kind) in OWNERS {
            let owner = &object[field];
            assert!(owner.is_null() || ids(kind).contains(owner), "{object}");
        }
    }
    let mut keys = HashSet::new();
    for ah in detail.iter().filter(|object| object["kind"] == "ah") {
        assert!(keys.insert((ah["pd"].to_string(), ah["gid"].to_string())));
    }
    for count in driver.counters().commands.values() {
        assert_eq!(count.seen, count.ok + count.failed);
    }
}

#[test]
fn random_accesses_to_the_bars_never_panic() {
    let mut random = Random(0x5eed_0001);
    for config in versions() {
        let mut driver = Driver::up(config);
        for round in 0..20_000u64 {
            let bar = [0, 0, 0, 0, 2, 4, 5, 255][random.below(8) as usize];
            let offset = match random.below(4) {
                0 => random.next(),
                1 => random.below(0x4000),
                _ => random.below(0x1c) * 4,
            };
            let mut data = vec![0; [4, 4, 4, 4, 1, 2, 8, 0][random.below(8) as usize]];
            match random.below(3) {
                0 => random.fill(&mut data),
                1 => data.fill(0),
                _ => {
                    let address = MEMORY_BASE + random.below(0x1_0000);
                    for (to, from) in data.iter_mut().zip(address.to_le_bytes()) {
                        *to = from;
                    }
                }
            }
            driver.model.bar_write(bar, offset, &data);
            driver.model.bar_read(bar, offset, &mut data);
            driver.model.set_bus_master(random.below(20) != 0);
            if random.below(50) == 0 {
                driver.pass(Duration::from_millis(random.below(3000)));
            }
            if random.below(1000) == 0 {
                driver.model.function_reset();
            }
            if round % 5000 == 0 {
                check(&mut driver);
            }
        }
        check(&mut driver);
    }
}

#[test]
fn random_commands_never_panic_and_never_break_ownership() {
    let mut random = Random(0x5eed_0002);
    for config in versions() {
        let mut driver = Driver::up(Config {
            max_pd: 8,
            max_ah: 16,
            max_uar: 8,
            max_eq: 4,
            ..config
        });
        for round in 0..10_000u64 {
            let mut payload = [0; 20];
            let opcode = if random.below(8) == 0 {
                random.fill(&mut payload);
                random.next() as u8
            } else {
                // Few numbers and few GIDs, so that many commands succeed.
                for at in [0, 1, 16, 17] {
                    payload[at] = random.below(2) as u8 * random.below(8) as u8;
                }
                payload[2] = random.below(4) as u8;
                Opcode::ALL[random.below(19) as usize].number()
            };
            let mut entry = driver.entry(opcode, 0, &payload);
            if random.below(20) == 0 {
                let at = random.below(entry.len() as u64) as usize;
                entry[at] = random.next() as u8;
            }
            driver.submit(&entry);
            while driver.completion().is_some() {}
            if round % 1000 == 0 {
                check(&mut driver);
            }
        }
        check(&mut driver);
        let counters = driver.counters();
        for command in ["alloc_pd", "create_ah", "alloc_uar"] {
            assert!(counters.commands[command].ok > 0, "{command} never worked");
        }
    }
}

/// What the device called the objects that a command made, the newest last.
#[derive(Default)]
struct Known(HashMap<Opcode, Vec<u32>>);

impl Known {
    fn learn(&mut self, opcode: Opcode, completion: &Completion) {
        if completion.status == Status::Success {
            let name = completion.entry[8..12].try_into().unwrap();
            let names = self.0.entry(opcode).or_default();
            names.push(u32::from_le_bytes(name));
        }
    }

    /// One of the last few that `opcode` made.
    fn recent(&self, opcode: Opcode, random: &mut Random) -> u32 {
        let names = self.0.get(&opcode).into_iter().flatten();
        names
            .rev()
            .nth(random.below(9) as usize)
            .map_or(0, |name| *name)
    }
}

/// A command of the data path, with few numbers, so that many succeed.
fn data_path_command(random: &mut Random, known: &Known) -> (Opcode, Vec<u8>) {
    let handle = known.recent(Opcode::CreateQp, random);
    let lkey = known.recent(Opcode::RegMr, random);
    let counter = known.recent(Opcode::CreateEventCounter, random);
    let mut small = |limit| random.below(limit) as u16;
    let (pd, uar, cq) = (small(2), small(2), small(4));
    let opcode = match small(12) {
        0 => Opcode::CreateCq,
        1 => Opcode::DestroyCq,
        2 => Opcode::RegMr,
        3 => Opcode::DeregMr,
        4 | 5 => Opcode::CreateQp,
        6 => Opcode::ModifyQp,
        7 => Opcode::DestroyQp,
        8 => Opcode::CreateEventCounter,
        9 => Opcode::DestroyEventCounter,
        10 => Opcode::AttachEventCounter,
        _ => [Opcode::DeallocPd, Opcode::DeallocUar, Opcode::DestroyEq][usize::from(small(3))],
    };
    let payload = match opcode {
        Opcode::CreateCq => {
            let mut command = cq_command(uar);
            (command.cq_caps_1, command.eqn) = ((small(2) << 5) as u8, small(2));
            command.encode().to_vec()
        }
        Opcode::RegMr => mr_command(pd).encode().to_vec(),
        Opcode::CreateQp => {
            let kind = QpType::ALL[usize::from(small(2))];
            let mut command = qp_command(kind, pd, uar, cq);
            command.recv_cq_idx = small(4).into();
            command.encode().to_vec()
        }
        Opcode::ModifyQp => ModifyQpCmd {
            modify_mask: 3 | (u32::from(small(2) * small(16)) << 2),
            qp_handle: handle,
            qp_state: (small(2) * small(7)).into(),
            cur_qp_state: (small(2) * small(7)).into(),
            ..Default::default()
        }
        .encode()
        .to_vec(),
        Opcode::DestroyQp => handle.to_le_bytes().to_vec(),
        Opcode::CreateEventCounter => {
            let command = CreateEventCounterCmd {
                uar,
                paddr: BUFFER,
                ..Default::default()
            };
            command.encode().to_vec()
        }
        Opcode::AttachEventCounter => {
            let mut bytes = vec![0; 16];
            bytes[..4].copy_from_slice(&counter.to_le_bytes());
            bytes[8..12].copy_from_slice(&handle.to_le_bytes());
            bytes
        }
        Opcode::DeregMr => lkey.to_le_bytes().to_vec(),
        Opcode::DestroyEventCounter => counter.to_le_bytes().to_vec(),
        _ => u32::from(cq).to_le_bytes().to_vec(),
    };
    (opcode, payload)
}

#[test]
fn random_commands_of_the_data_path_never_panic_and_never_break_ownership() {
    let mut random = Random(0x5eed_0004);
    for config in versions() {
        let mut driver = Driver::up(Config {
            max_qp: 8,
            max_cq: 4,
            max_mr: 8,
            max_event_counters: 4,
            ..config
        });
        let mut known = Known::default();
        for round in 0..10_000u64 {
            if round % 200 == 0 {
                driver.bring_up();
            }
            if round % 50 == 0 {
                let _ = (driver.alloc_pd(), driver.alloc_uar());
                let _ = driver.create_eq(16, 1, 4);
            }
            let (opcode, mut payload) = data_path_command(&mut random, &known);
            if random.below(8) == 0 {
                let at = random.below(payload.len() as u64) as usize;
                payload[at] = random.next() as u8;
            }
            let flags = [0, 0, 0, 0, 0, 2, 4, 6][random.below(8) as usize];
            let entry = driver.entry(opcode.number(), flags, &payload);
            known.learn(opcode, &driver.submit(&entry).unwrap());
            if round % 100 == 0 {
                check(&mut driver);
            }
        }
        let counters = driver.counters();
        for command in [
            "create_cq",
            "destroy_cq",
            "reg_mr",
            "dereg_mr",
            "create_qp",
            "modify_qp",
            "destroy_qp",
            "create_event_counter",
            "attach_event_counter",
            "destroy_event_counter",
            "dealloc_uar",
            "destroy_eq",
        ] {
            let count = counters.commands[command];
            assert!(count.ok > 0, "{command} never worked");
            assert!(count.failed > 0, "{command} never failed");
        }
    }
}

#[test]
fn random_rings_under_scripted_faults_never_panic() {
    let mut random = Random(0x5eed_0003);
    let actions = [
        "delay",
        "drop_completion",
        "drop_interrupt",
        "late_interrupt",
        "bad_crc",
        "wrong_id",
        "duplicate",
        "early_phase",
        "mute",
    ];
    for config in versions() {
        let mut driver = Driver::up(config);
        for _ in 0..500 {
            let action = actions[random.below(9) as usize];
            let mut fault = json!({
                "op": "fault", "command": "*", "nth": 1 + random.below(40),
                "count": random.below(3), "action": action
            });
            if action == "delay" || action == "late_interrupt" {
                fault["ms"] = json!(random.next());
            }
            driver.control(fault);
            let mut ring = vec![0; 0x1000];
            random.fill(&mut ring);
            driver.memory.write(AQ, &ring).unwrap();
            driver.write_register(regs::AQ_PROD_DB_OFF, random.next() as u32);
            driver.pass(Duration::from_millis(random.below(10)));
            if random.below(10) == 0 {
                driver.control(json!({"op": "clear_faults"}));
                driver.bring_up();
            }
        }
    }
}
