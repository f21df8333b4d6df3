// SPDX-License-Identifier: GPL-2.0
//! Two devices, and the packets between them.

use std::time::Duration;

use vefa_model::names::QpType;
use vefa_model::Config;
use vefa_spec::commands::CreateQpCmd;

use super::side::{Qp, Side};
use super::wr::Wr;
use crate::driver::gid;

/// Lets packets move between the devices.
pub fn carry(sides: &mut [&mut Side]) {
    let mut models: Vec<_> = sides
        .iter_mut()
        .map(|side| &mut side.driver.model)
        .collect();
    vefa_fabric::carry(&mut models);
}

/// Lets time pass, in steps of a millisecond, while packets move.
pub fn pass(sides: &mut [&mut Side], ms: u64) {
    for _ in 0..ms {
        for side in &mut *sides {
            side.driver.pass(Duration::from_millis(1));
        }
        carry(sides);
    }
}

/// Two devices with these configurations and other GIDs.
pub fn pair_of(config: &Config) -> (Side, Side) {
    let side = |n| {
        Side::new(Config {
            gid: gid(n),
            keep_alive_ms: 1 << 30,
            ..config.clone()
        })
    };
    (side(1), side(2))
}

/// Two devices with an SRD QP and an AH for the other each: what each sends to.
pub struct Pair {
    pub a: Side,
    pub b: Side,
    pub qp_a: Qp,
    pub qp_b: Qp,
    /// From the first to the second: AH and QP number.
    pub to_b: (u16, u16),
    /// Back.
    pub to_a: (u16, u16),
}

impl Pair {
    pub fn new() -> Self {
        Self::with(&Config::default(), QpType::Srd, |_| ())
    }

    pub fn with(config: &Config, kind: QpType, change: impl Fn(&mut CreateQpCmd)) -> Self {
        let (mut a, mut b) = pair_of(config);
        let (qp_a, qp_b) = (a.qp(kind, &change), b.qp(kind, &change));
        let to_b = (a.ah(b.gid()), qp_b.number);
        let to_a = (b.ah(a.gid()), qp_a.number);
        Self {
            a,
            b,
            qp_a,
            qp_b,
            to_b,
            to_a,
        }
    }

    pub fn carry(&mut self) {
        carry(&mut [&mut self.a, &mut self.b]);
    }

    pub fn pass(&mut self, ms: u64) {
        pass(&mut [&mut self.a, &mut self.b], ms);
    }

    /// Sends from the first and lets packets move.
    pub fn send(&mut self, requests: &[Wr]) {
        self.a.send(&mut self.qp_a, requests);
        self.carry();
    }

    /// Posts a receive request at the second.
    pub fn receive(&mut self, id: u16, at: u64, len: u32) {
        let buffer = self.b.buffer(at, len);
        self.b.receive(&mut self.qp_b, id, &[buffer]);
    }

    /// No driver broke a rule.
    pub fn check(&mut self) {
        assert_eq!(self.a.driver.broken(), []);
        assert_eq!(self.b.driver.broken(), []);
    }
}

/// Bytes that tell where they came from.
pub fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len)
        .map(|i| (i as u8).wrapping_mul(7) ^ (i >> 8) as u8 ^ seed)
        .collect()
}
