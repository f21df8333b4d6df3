// SPDX-License-Identifier: GPL-2.0
//! Whatever a guest writes to queues, LLQ memory and doorbells, and whenever it takes its memory away: each
//! access is answered before long, and the devices serve on.

mod common;

use common::guest::*;
use common::objects::*;
use common::*;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use vefa_model::{ApiVersion, Config, Gid};
use vefa_server::vfio_user::Command;
use vefa_spec::io::{RemoteMemAddr, RxDesc, TxBufDesc, TxMetaDesc};
use vefa_spec::{io_constants as io, Wire};

/// Well below the five seconds after which QEMU gives a device up.
const MOST_FOR_AN_ACCESS: Duration = Duration::from_secs(2);
/// A queue pair does not live long here: each round has new ones.
const ROUNDS: u32 = 300;
const ACCESSES: u32 = 60;
const DOORBELL_BAR: u8 = 4;
const GIDS: [Gid; 2] = [Gid([1; 16]), Gid([2; 16])];

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

    /// `usual`, but for one time in twenty.
    fn mostly(&mut self, usual: u64) -> u64 {
        match self.below(20) {
            0 => self.next() >> self.below(64),
            _ => usual,
        }
    }
}

/// What the guest knows of itself and of its peer.
struct Known {
    endpoint: Endpoint,
    ah: u16,
    peer_qp: u16,
    mapped: bool,
    /// Of the send, the receive and the completion queue.
    produced: [u64; 3],
}

impl Known {
    fn new(server: &Running, device: usize, random: &mut Random) -> Self {
        let mut endpoint = Endpoint::new(server, device, DOORBELL_BAR);
        let ah = endpoint.create_ah(GIDS[random.below(2) as usize]);
        let peer_qp = endpoint.qp;
        Known {
            endpoint,
            ah,
            peer_qp,
            mapped: true,
            produced: [0; 3],
        }
    }

    fn act(&mut self, random: &mut Random) {
        match random.below(16) {
            0..3 => self.write_send_descriptors(random),
            3..5 => self.write_receive_descriptors(random),
            5..12 => self.ring(random),
            12 => self.write_anywhere(random),
            13 if random.below(8) == 0 => self.change_mapping(random),
            14 if random.below(8) == 0 => self.change_bus_master(random),
            15 => {
                let garbage = random.next().to_le_bytes();
                let at = self.endpoint.llq_offset + random.below(4096);
                self.endpoint.llq.write_all_at(&garbage, at).unwrap();
            }
            _ => (),
        }
    }

    fn write_send_descriptors(&mut self, random: &mut Random) {
        for slot in 0..u64::from(DEPTH) {
            let descriptor = self.send_descriptor(random);
            let at = self.endpoint.llq_offset + slot * 64;
            self.endpoint.llq.write_all_at(&descriptor, at).unwrap();
        }
    }

    fn send_descriptor(&mut self, random: &mut Random) -> [u8; 64] {
        let op = random.below(5);
        let op = random.mostly(op) as u8 & io::TX_META_DESC_OP_TYPE_MASK as u8;
        let ends = io::TX_META_DESC_FIRST_MASK | io::TX_META_DESC_LAST_MASK;
        let meta = TxMetaDesc {
            req_id: random.next() as u16,
            ctrl1: random.mostly(io::TX_META_DESC_META_DESC_MASK.into()) as u8 & 0xf0 | op,
            ctrl2: random.mostly((ends | io::TX_META_DESC_COMP_REQ_MASK).into()) as u8,
            dest_qp_num: random.mostly(self.peer_qp.into()) as u16,
            length: random.mostly(1) as u16,
            ah: random.mostly(self.ah.into()) as u16,
            qkey: random.mostly(QKEY.into()) as u32,
            ..TxMetaDesc::default()
        };
        let (length, address) = (random.below(16 << 10), BASE + SOURCE);
        let key = self.endpoint.lkey;
        let remote = RemoteMemAddr {
            length: random.mostly(length) as u32,
            rkey: random.mostly(self.endpoint.rkey.into()) as u32,
            buf_addr_lo: random.mostly(BASE + TARGET) as u32,
            buf_addr_hi: random.mostly(0) as u32,
        };
        let local = TxBufDesc {
            length: random.mostly(length) as u32,
            lkey: random.mostly(key.into()) as u32,
            buf_addr_lo: random.mostly(address) as u32,
            buf_addr_hi: random.mostly(0) as u32,
        };
        let mut descriptor = [0; 64];
        meta.put(&mut descriptor, 0);
        if u32::from(op) == io::SEND {
            local.put(&mut descriptor, TxMetaDesc::SIZE);
        } else {
            remote.put(&mut descriptor, TxMetaDesc::SIZE);
            local.put(&mut descriptor, TxMetaDesc::SIZE + RemoteMemAddr::SIZE);
        }
        descriptor
    }

    fn write_receive_descriptors(&mut self, random: &mut Random) {
        for slot in 0..DEPTH {
            let ends = io::RX_DESC_FIRST_MASK | io::RX_DESC_LAST_MASK;
            let descriptor = RxDesc {
                buf_addr_lo: random.mostly(BASE + TARGET) as u32,
                buf_addr_hi: random.mostly(0) as u32,
                req_id: random.next() as u16,
                length: random.mostly(4096) as u16,
                lkey_ctrl: random.mostly((self.endpoint.lkey | ends).into()) as u32,
            };
            self.endpoint.write_receive_descriptor(slot, descriptor);
        }
    }

    fn ring(&mut self, random: &mut Random) {
        let doorbells = [
            self.endpoint.send_doorbell,
            self.endpoint.receive_doorbell,
            self.endpoint.cq_doorbell,
        ];
        let which = random.below(3) as usize;
        self.produced[which] += random.below(4);
        let value = random.mostly(self.produced[which]) as u32;
        self.endpoint.ring(doorbells[which], value);
    }

    fn write_anywhere(&mut self, random: &mut Random) {
        let bar = [u32::from(DOORBELL_BAR), LLQ_BAR][random.below(2) as usize];
        let len = 1 << random.below(4);
        let offset = random.below(Config::default().db_bar_size - len);
        let data = random.next().to_le_bytes();
        let client = &mut self.endpoint.guest.client;
        client.write(bar, offset, &data[..len as usize]);
        client.read(bar, offset, len as u32);
    }

    fn change_mapping(&mut self, random: &mut Random) {
        let guest = &mut self.endpoint.guest;
        if self.mapped {
            guest
                .client
                .ok(Command::DmaUnmap, &dma_unmap(0, BASE, SIZE));
        }
        self.mapped = random.mostly(1) & 1 == 1;
        if self.mapped {
            let window = dma_map(random.mostly(3) as u32 & 3, 0, BASE, SIZE);
            let fds = [guest.memory.as_fd()];
            guest.client.ok_with(Command::DmaMap, &window, &fds);
        }
    }

    fn change_bus_master(&mut self, random: &mut Random) {
        let on = vefa_pci::regs::COMMAND_BUS_MASTER;
        let command = random.mostly(on.into()) as u16 & on;
        let offset = vefa_pci::regs::COMMAND as u64;
        let client = &mut self.endpoint.guest.client;
        client.write(CONFIG_REGION, offset, &command.to_le_bytes());
    }
}

fn two_devices() -> Running {
    let configs = GIDS.map(|gid| Config {
        api_version: ApiVersion::V0_1,
        gid,
        ..Config::default()
    });
    start_all(configs.to_vec())
}

#[test]
fn nothing_that_a_guest_writes_holds_up_or_ends_the_devices() {
    let server = two_devices();
    let mut random = Random(0x5eed_0003);
    for round in 0..ROUNDS {
        let mut guests = [0, 1].map(|device| Known::new(&server, device, &mut random));
        for access in 0..ACCESSES {
            let started = Instant::now();
            guests[random.below(2) as usize].act(&mut random);
            let took = started.elapsed();
            assert!(took < MOST_FOR_AN_ACCESS, "{round}.{access}: {took:?}");
        }
    }

    let answer = server.control().request(r#"{"op":"counters"}"#);
    for outcome in [
        "ok",
        "local_error_invalid_lkey",
        "local_error_qp_internal_error",
    ] {
        let count = &answer["counters"]["completions"][outcome];
        assert!(count.as_u64() > Some(10), "{outcome}: {count}");
    }

    let mut sender = Endpoint::new(&server, 0, DOORBELL_BAR);
    let mut receiver = Endpoint::new(&server, 1, DOORBELL_BAR);
    let ah = sender.create_ah(GIDS[1]);
    receiver.post_receive(4096);
    sender.send(ah, receiver.qp, b"well");
    let status = u32::from(receiver.completion().status);
    assert_eq!(status, io::COMP_STATUS_OK);
    assert_eq!(receiver.guest.bytes(TARGET), *b"well");
    server.stop();
}

#[test]
fn a_peer_that_goes_away_takes_nobody_with_it() {
    let server = two_devices();
    let mut sender = Endpoint::new(&server, 0, DOORBELL_BAR);
    let mut gone = Endpoint::new(&server, 1, DOORBELL_BAR);
    let ah = sender.create_ah(GIDS[1]);
    gone.post_receive(4096);
    sender.send(ah, gone.qp, b"in time");
    assert_eq!(u32::from(sender.completion().status), io::COMP_STATUS_OK);

    let to = gone.qp;
    drop(gone);
    let mut next = server.client_of(1);
    sender.send(ah, to, b"too late");
    assert_ne!(u32::from(sender.completion().status), io::COMP_STATUS_OK);
    assert_eq!(next.read(CONFIG_REGION, 0, 2), [0x0f, 0x1d]);
    server.stop();
}
