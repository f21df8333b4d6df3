// SPDX-License-Identifier: GPL-2.0
//! A hostile guest: random accesses and random entries never make the device
//! panic, and its counts stay sound.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;
use vefa_model::names::Opcode;
use vefa_model::{Config, GuestMemory};
use vefa_spec::regs;

use crate::driver::{versions, Driver, AQ, MEMORY_BASE};

/// A xorshift generator: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }
}

/// Counts agree with the list of objects, no key has two AHs, and every AH's
/// PD is alive.
fn check(driver: &mut Driver) {
    let reply = driver.control(json!({"op": "objects", "detail": true}));
    let detail = reply["detail"].as_array().unwrap();
    let ids = |kind: &str| -> Vec<_> {
        let of_kind = detail.iter().filter(|object| object["kind"] == kind);
        of_kind.map(|object| object["id"].clone()).collect()
    };
    for kind in ["pd", "ah", "uar", "eq"] {
        assert_eq!(ids(kind).len() as u64, reply["objects"][kind], "{kind}");
    }
    let mut keys = HashSet::new();
    for ah in detail.iter().filter(|object| object["kind"] == "ah") {
        assert!(ids("pd").contains(&ah["pd"]));
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

#[test]
fn random_rings_under_scripted_faults_never_panic() {
    let mut random = Random(0x5eed_0003);
    let actions = [
        "delay",
        "drop_completion",
        "drop_interrupt",
        "bad_crc",
        "wrong_id",
        "duplicate",
        "early_phase",
        "mute",
    ];
    for config in versions() {
        let mut driver = Driver::up(config);
        for _ in 0..500 {
            let action = actions[random.below(8) as usize];
            let mut fault = json!({
                "op": "fault", "command": "*", "nth": 1 + random.below(40),
                "count": random.below(3), "action": action
            });
            if action == "delay" {
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
