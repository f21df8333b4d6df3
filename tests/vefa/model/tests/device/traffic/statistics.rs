// SPDX-License-Identifier: GPL-2.0
//! GET_STATS says what went over the wire, by type, of the device and of a QP.

use vefa_model::names::{Opcode, WorkStatus};
use vefa_spec::stats::{
    BasicStats, GetStatsCmd, MessagesStats, NetworkStats, RdmaReadStats, RdmaWriteStats,
};
use vefa_spec::Wire;

use super::pair::Pair;
use super::side::{Qp, Side};
use super::wr::Wr;

/// What GET_STATS returns, of the device or of one QP.
fn get<T: Wire>(side: &mut Side, stats_type: u8, qp: Option<&Qp>) -> T {
    let command = GetStatsCmd {
        stats_type,
        scope: qp.is_some().into(),
        scope_modifier: qp.map_or(0, |qp| qp.number),
        ..Default::default()
    };
    let entry = side.driver.command(Opcode::GetStats, &command.encode());
    T::get(&entry.unwrap(), 8).unwrap()
}

/// One send, one read and two writes, each with a length of its own.
fn traffic() -> Pair {
    let mut pair = Pair::new();
    pair.receive(1, 0, 64);
    let to = pair.to_b;
    let remote = |pair: &Pair, len| pair.b.remote(0x1000, len);
    let buffer = |pair: &Pair, len| pair.a.buffer(0x2000, len);
    let requests = [
        Wr::send(1, to, &[buffer(&pair, 10)]),
        Wr::rdma_read(2, to, remote(&pair, 200), buffer(&pair, 200)),
        Wr::rdma_write(3, to, remote(&pair, 3000), buffer(&pair, 3000)),
        Wr::rdma_write(4, to, remote(&pair, 5), buffer(&pair, 5)),
    ];
    pair.send(&requests);
    let done = pair.a.all_done();
    let statuses: Vec<_> = done.iter().map(|done| done.status).collect();
    assert_eq!(statuses, [WorkStatus::Ok; 4]);
    pair.check();
    pair
}

/// All statistics of the sender hold what it sent.
fn expect_sender(side: &mut Side, qp: Option<&Qp>) {
    let messages: MessagesStats = get(side, 1, qp);
    assert_eq!((messages.send_wrs, messages.send_bytes), (1, 10));
    assert_eq!((messages.recv_wrs, messages.recv_bytes), (0, 0));
    let reads: RdmaReadStats = get(side, 2, qp);
    assert_eq!((reads.read_wrs, reads.read_bytes), (1, 200));
    let writes: RdmaWriteStats = get(side, 3, qp);
    assert_eq!((writes.write_wrs, writes.write_bytes), (2, 3005));
    let basic: BasicStats = get(side, 0, qp);
    assert!(basic.tx_bytes >= 3015 && basic.tx_pkts >= 3, "{basic:?}");
    assert_eq!(get::<NetworkStats>(side, 4, qp), NetworkStats::default());
}

#[test]
fn statistics_of_the_device_hold_what_was_sent_and_received() {
    let mut pair = traffic();
    expect_sender(&mut pair.a, None);
    let messages: MessagesStats = get(&mut pair.b, 1, None);
    assert_eq!((messages.recv_wrs, messages.recv_bytes), (1, 10));
    let reads: RdmaReadStats = get(&mut pair.b, 2, None);
    assert_eq!((reads.read_wrs, reads.read_resp_bytes), (0, 200));
    let writes: RdmaWriteStats = get(&mut pair.b, 3, None);
    assert_eq!((writes.write_wrs, writes.write_recv_bytes), (0, 3005));
}

#[test]
fn statistics_of_a_qp_are_its_own() {
    let mut pair = traffic();
    let idle = pair.a.srd();
    let busy = pair.qp_a.clone();
    expect_sender(&mut pair.a, Some(&busy));
    let side = &mut pair.a;
    let idle = Some(&idle);
    assert_eq!(get::<BasicStats>(side, 0, idle), BasicStats::default());
    assert_eq!(
        get::<MessagesStats>(side, 1, idle),
        MessagesStats::default()
    );
    assert_eq!(
        get::<RdmaReadStats>(side, 2, idle),
        RdmaReadStats::default()
    );
    assert_eq!(
        get::<RdmaWriteStats>(side, 3, idle),
        RdmaWriteStats::default()
    );
}

#[test]
fn a_reset_sets_statistics_back() {
    let mut pair = traffic();
    pair.a.driver.bring_up();
    let side = &mut pair.a;
    assert_eq!(get::<BasicStats>(side, 0, None), BasicStats::default());
    assert_eq!(
        get::<MessagesStats>(side, 1, None),
        MessagesStats::default()
    );
}
