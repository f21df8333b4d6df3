// SPDX-License-Identifier: GPL-2.0
//! The network between EFA devices of one process: it takes packets from the
//! device that sent them to the device that has the destination's GID, which
//! may be the same one.
//!
//! It keeps nothing and loses nothing but packets to a GID that no device has:
//! their sender finds the peer unreachable. What else can happen on a network
//! is scripted at the device that sends (`vefa_model::data::network`).
#![forbid(unsafe_code)]

use vefa_model::{EfaModel, Gid, GuestMemory, IrqSink, LlqMemory, Packet};

/// Packets, and bytes that they carry, after which one call of [`carry`] delivers no more, so that no
/// guest waits long for its device.
const MAX_PACKETS: usize = 512;
const MAX_BYTES: usize = 256 << 10;

/// A device on the network.
pub trait Port {
    /// Its GID.
    fn gid(&self) -> Gid;

    /// Takes some of the packets that it sends; none when there are no more.
    fn take_packets(&mut self) -> Vec<Packet>;

    /// Takes a packet in.
    fn deliver(&mut self, packet: Packet);
}

impl<M: GuestMemory, I: IrqSink, L: LlqMemory> Port for EfaModel<M, I, L> {
    fn gid(&self) -> Gid {
        self.config().gid
    }

    fn take_packets(&mut self) -> Vec<Packet> {
        Self::take_packets(self)
    }

    fn deliver(&mut self, packet: Packet) {
        Self::deliver(self, packet);
    }
}

/// Carries packets between `ports`, and those that they cause, until there are
/// none, or many have been delivered. A port that has more to send then says so
/// when it is polled.
pub fn carry<P: Port>(ports: &mut [P]) {
    let (mut delivered, mut bytes) = (0, 0);
    while delivered < MAX_PACKETS && bytes < MAX_BYTES {
        let packets: Vec<_> = ports.iter_mut().flat_map(P::take_packets).collect();
        if packets.is_empty() {
            return;
        }
        delivered += packets.len();
        for packet in packets {
            bytes += packet.payload();
            let mut ports = ports.iter_mut();
            if let Some(port) = ports.find(|port| port.gid() == packet.destination) {
                port.deliver(packet);
            }
        }
    }
}

impl<P: Port> Port for &mut P {
    fn gid(&self) -> Gid {
        (**self).gid()
    }

    fn take_packets(&mut self) -> Vec<Packet> {
        (**self).take_packets()
    }

    fn deliver(&mut self, packet: Packet) {
        (**self).deliver(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use vefa_model::data::packet::Body;

    /// Sends what it is told to, and answers what it gets while it has answers.
    struct Peer {
        gid: Gid,
        outgoing: VecDeque<Packet>,
        answers: usize,
        received: Vec<u16>,
    }

    impl Port for Peer {
        fn gid(&self) -> Gid {
            self.gid
        }

        fn take_packets(&mut self) -> Vec<Packet> {
            self.outgoing.pop_front().into_iter().collect()
        }

        fn deliver(&mut self, packet: Packet) {
            self.received.push(packet.source_qp);
            if self.answers > 0 {
                self.answers -= 1;
                let answer = packet_to(self.gid, packet.source, packet.source_qp + 1);
                self.outgoing.push_back(answer);
            }
        }
    }

    fn peer(n: u8, answers: usize) -> Peer {
        Peer {
            gid: Gid([n; 16]),
            outgoing: VecDeque::new(),
            answers,
            received: Vec::new(),
        }
    }

    fn packet_to(source: Gid, destination: Gid, source_qp: u16) -> Packet {
        Packet {
            source,
            destination,
            source_qp,
            destination_qp: 0,
            body: Body::Datagram {
                qkey: 0,
                immediate: None,
                data: Vec::new(),
            },
        }
    }

    #[test]
    fn packets_and_their_answers_reach_the_device_with_the_gid() {
        let mut ports = [peer(1, 1), peer(2, 2)];
        let packet = packet_to(ports[0].gid, ports[1].gid, 10);
        ports[0].outgoing.push_back(packet);
        carry(&mut ports);
        assert_eq!(ports[0].received, [11, 13]);
        assert_eq!(ports[1].received, [10, 12]);
    }

    #[test]
    fn a_device_reaches_itself() {
        let mut ports = [peer(1, 0)];
        let packet = packet_to(ports[0].gid, ports[0].gid, 10);
        ports[0].outgoing.push_back(packet);
        carry(&mut ports);
        assert_eq!(ports[0].received, [10]);
    }

    #[test]
    fn packets_to_nobody_are_lost() {
        let mut ports = [peer(1, 0), peer(2, 0)];
        let packet = packet_to(ports[0].gid, Gid([3; 16]), 10);
        ports[0].outgoing.push_back(packet);
        carry(&mut ports);
        assert!(ports.iter().all(|port| port.received.is_empty()));
    }

    #[test]
    fn devices_that_never_stop_are_left_after_a_while() {
        let mut ports = [peer(1, usize::MAX)];
        let packet = packet_to(ports[0].gid, ports[0].gid, 0);
        ports[0].outgoing.push_back(packet);
        carry(&mut ports);
        assert_eq!(ports[0].received.len(), MAX_PACKETS);
        assert_eq!(ports[0].outgoing.len(), 1);
    }

    #[test]
    fn large_packets_are_left_sooner() {
        let mut ports = [peer(1, 0)];
        let mut packet = packet_to(ports[0].gid, ports[0].gid, 0);
        packet.body = Body::Datagram {
            qkey: 0,
            immediate: None,
            data: vec![0; MAX_BYTES / 4],
        };
        ports[0].outgoing.extend(vec![packet; 6]);
        carry(&mut ports);
        assert_eq!(ports[0].received.len(), 4);
        assert_eq!(ports[0].outgoing.len(), 2);
    }
}
