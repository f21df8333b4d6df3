// SPDX-License-Identifier: GPL-2.0
//! Messages between queue pairs, through the server: work requests come by shared memory, doorbells by
//! message, and packets reach the devices of one server.

mod common;

use common::objects::*;
use common::*;
use vefa_model::{ApiVersion, Config, Gid};
use vefa_spec::io_constants::COMP_STATUS_OK;

fn config(gid: Gid, db_bar: u8) -> Config {
    Config {
        api_version: ApiVersion::V0_1,
        gid,
        db_bar,
        ..Config::default()
    }
}

const FIRST: Gid = Gid([1; 16]);
const SECOND: Gid = Gid([2; 16]);

/// Sends more messages than a ring has entries, and checks each on arrival.
fn exchange(sender: &mut Endpoint, receiver: &mut Endpoint, to: Gid) {
    let ah = sender.create_ah(to);
    for n in 0..DEPTH * 5 / 2 {
        let message = n.to_le_bytes().repeat(100);
        receiver.post_receive(4096);
        sender.send(ah, receiver.qp, &message);
        let received = receiver.completion();
        assert_eq!(u32::from(received.status), COMP_STATUS_OK);
        assert_eq!(
            (received.qp_num, u32::from(received.req_id)),
            (receiver.qp, n)
        );
        assert_eq!(receiver.guest.bytes::<400>(TARGET)[..], message);
        let sent = sender.completion();
        assert_eq!(u32::from(sent.status), COMP_STATUS_OK);
        assert_eq!((sent.qp_num, u32::from(sent.req_id)), (sender.qp, n));
    }
}

#[test]
fn messages_reach_another_device_wherever_doorbells_are() {
    for db_bar in [0, 1, 2, 4, 5] {
        let server = start_all(vec![config(FIRST, db_bar), config(SECOND, db_bar)]);
        let mut sender = Endpoint::new(&server, 0, db_bar);
        let mut receiver = Endpoint::new(&server, 1, db_bar);
        exchange(&mut sender, &mut receiver, SECOND);
        assert_eq!(server.violations(), [""; 0], "BAR {db_bar}");
        server.stop();
    }
}

#[test]
fn what_is_sent_while_the_guest_does_nothing_arrives() {
    let server = start_all(vec![config(FIRST, 4), config(SECOND, 4)]);
    let mut sender = Endpoint::new(&server, 0, 4);
    let mut receiver = Endpoint::new(&server, 1, 4);
    let ah = sender.create_ah(SECOND);
    let script = r#"{"op":"network","delay_ms":30}"#;
    assert_eq!(server.control_of(0).request(script)["ok"], true);
    receiver.post_receive(4096);
    sender.send(ah, receiver.qp, b"late");
    assert_eq!(receiver.guest.bytes(TARGET), [0; 4]);
    assert_eq!(u32::from(receiver.completion().status), COMP_STATUS_OK);
    assert_eq!(receiver.guest.bytes(TARGET), *b"late");
    assert_eq!(u32::from(sender.completion().status), COMP_STATUS_OK);
    server.stop();
}
