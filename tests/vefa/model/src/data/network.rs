// SPDX-License-Identifier: GPL-2.0
//! What a script does to packets on their way out: delay, reorder, lose and
//! repeat them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::data::packet::Packet;
use crate::gid::Gid;

/// How long a group of packets that is to be reordered waits to be full.
const GROUP_WAIT: Duration = Duration::from_millis(20);

/// What happens to packets that the device sends, as the control socket asks
/// for it. What is left out is off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkScript {
    /// Each packet arrives this much later, in milliseconds.
    pub delay_ms: u64,
    /// Packets go out in groups of this many, the last first. A group waits
    /// 20 ms to be full.
    pub reorder: u32,
    /// The next so many packets are lost.
    pub lose: u32,
    /// The next so many packets arrive twice.
    pub repeat: u32,
    /// Packets to these GIDs are lost.
    pub unreachable: BTreeSet<Gid>,
}

/// The script in force, and the packets it holds back.
#[derive(Debug, Default)]
pub(crate) struct Network {
    script: NetworkScript,
    group: Vec<Packet>,
    /// When the group goes out even though it is not full.
    group_due: Duration,
    delayed: Vec<(Duration, Packet)>,
}

impl Network {
    /// Replaces the script; what is held back still comes.
    pub fn set(&mut self, script: NetworkScript) {
        self.script = script;
    }

    /// A packet leaves the device at `now`.
    pub fn send(&mut self, packet: Packet, now: Duration) {
        if self.script.unreachable.contains(&packet.destination) || take_one(&mut self.script.lose)
        {
            return;
        }
        if take_one(&mut self.script.repeat) {
            self.send_one(packet.clone(), now);
        }
        self.send_one(packet, now);
    }

    /// Takes the packets that are through at `now`, until they carry `enough` bytes.
    pub fn take(&mut self, now: Duration, enough: usize) -> Vec<Packet> {
        if !self.group.is_empty() && self.group_due <= now {
            self.close_group(now);
        }
        let mut bytes = 0_usize;
        let (through, later): (Vec<_>, _) = std::mem::take(&mut self.delayed)
            .into_iter()
            .partition(|(due, packet)| {
                let goes = *due <= now && bytes < enough;
                bytes += if goes { packet.payload() } else { 0 };
                goes
            });
        self.delayed = later;
        through.into_iter().map(|(_, packet)| packet).collect()
    }

    /// When the next packet is through.
    pub fn due(&self) -> Option<Duration> {
        let group = (!self.group.is_empty()).then_some(self.group_due);
        self.delayed.iter().map(|(due, _)| *due).chain(group).min()
    }

    fn send_one(&mut self, packet: Packet, now: Duration) {
        if self.script.reorder < 2 {
            self.delay(packet, now);
            return;
        }
        if self.group.is_empty() {
            self.group_due = now.saturating_add(GROUP_WAIT);
        }
        self.group.push(packet);
        if self.group.len() as u64 >= u64::from(self.script.reorder) {
            self.close_group(now);
        }
    }

    fn close_group(&mut self, now: Duration) {
        for packet in std::mem::take(&mut self.group).into_iter().rev() {
            self.delay(packet, now);
        }
    }

    fn delay(&mut self, packet: Packet, now: Duration) {
        let delay = Duration::from_millis(self.script.delay_ms);
        self.delayed.push((now.saturating_add(delay), packet));
    }
}

/// Counts down; whether there was one left.
fn take_one(count: &mut u32) -> bool {
    let left = count.checked_sub(1);
    *count = left.unwrap_or(0);
    left.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::packet::Body;

    fn packet(n: u16) -> Packet {
        Packet {
            source: Gid([1; 16]),
            destination: Gid([2; 16]),
            source_qp: n,
            destination_qp: 0,
            body: Body::Datagram {
                qkey: 0,
                immediate: None,
                data: Vec::new(),
            },
        }
    }

    fn network(script: NetworkScript) -> Network {
        let mut network = Network::default();
        network.set(script);
        for n in 0..5 {
            network.send(packet(n), Duration::ZERO);
        }
        network
    }

    fn take(network: &mut Network, ms: u64) -> Vec<u16> {
        let packets = network.take(Duration::from_millis(ms), 1 << 20);
        packets.iter().map(|packet| packet.source_qp).collect()
    }

    #[test]
    fn without_a_script_packets_pass_in_order() {
        let mut network = network(NetworkScript::default());
        assert_eq!(take(&mut network, 0), [0, 1, 2, 3, 4]);
        assert_eq!(network.due(), None);
    }

    #[test]
    fn groups_are_turned_round_and_an_unfinished_one_waits() {
        let mut network = network(NetworkScript {
            reorder: 3,
            ..NetworkScript::default()
        });
        assert_eq!(take(&mut network, 0), [2, 1, 0]);
        assert_eq!(network.due(), Some(GROUP_WAIT));
        assert!(take(&mut network, 19).is_empty());
        assert_eq!(take(&mut network, 20), [4, 3]);
    }

    #[test]
    fn packets_are_lost_and_repeated_as_often_as_asked() {
        let mut network = network(NetworkScript {
            lose: 2,
            repeat: 1,
            ..NetworkScript::default()
        });
        assert_eq!(take(&mut network, 0), [2, 2, 3, 4]);
    }

    #[test]
    fn packets_to_an_unreachable_gid_are_lost() {
        let mut network = network(NetworkScript {
            unreachable: [Gid([2; 16])].into(),
            ..NetworkScript::default()
        });
        assert!(take(&mut network, 1000).is_empty());
    }

    #[test]
    fn delayed_packets_come_when_they_are_due() {
        let mut network = network(NetworkScript {
            delay_ms: 10,
            ..NetworkScript::default()
        });
        assert!(take(&mut network, 9).is_empty());
        assert_eq!(network.due(), Some(Duration::from_millis(10)));
        network.send(packet(9), Duration::from_millis(5));
        assert_eq!(take(&mut network, 10), [0, 1, 2, 3, 4]);
        assert_eq!(take(&mut network, 15), [9]);
    }

    #[test]
    fn packets_that_are_through_go_out_in_pieces() {
        let mut network = Network::default();
        for n in 0..5 {
            let mut packet = packet(n);
            packet.body = Body::Datagram {
                qkey: 0,
                immediate: None,
                data: vec![0; 100],
            };
            network.send(packet, Duration::ZERO);
        }
        let mut take = || network.take(Duration::ZERO, 150).len();
        assert_eq!([take(), take(), take(), take()], [2, 2, 1, 0]);
    }
}
