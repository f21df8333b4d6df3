# SPDX-License-Identifier: GPL-2.0
"""Counters that exporters read: their names, and that they are the device's."""

import os

import pci
import regions
from endpoint import pair
from traffic import deliver, filled
from identity import DEVICE_COUNTERS

# By the type of statistics they come from.
PORT_COUNTERS = {
    "basic": {"tx_bytes", "tx_pkts", "rx_bytes", "rx_pkts", "rx_drops"},
    "messages": {"send_bytes", "send_wrs", "recv_bytes", "recv_wrs"},
    "rdma_read": {"rdma_read_wrs", "rdma_read_bytes", "rdma_read_wr_err", "rdma_read_resp_bytes"},
    "rdma_write": {"rdma_write_wrs", "rdma_write_bytes", "rdma_write_wr_err", "rdma_write_recv_bytes"},
    "network": {
        "retrans_bytes", "retrans_pkts", "retrans_timeout_events", "unresponsive_remote_events",
        "impaired_remote_conn_events",
    },
}
NAMES = set().union(*PORT_COUNTERS.values())


def port_counters(test):
    return test.function.counters(sorted(NAMES), port=True)


def some_traffic(test):
    with pair(test, slots=32) as (one, two):
        for _ in range(5):
            deliver(one, two, filled(1000))
        one.handle(two), two.handle(one)
        one.read(two, length=5000)
        one.write(two, length=7000)
        assert one.statuses(2) == ["ok", "ok"]
        one.qp.send_queue.rdma(1, one.handle(two), two.qp.number, one.place(), (1, 1))
        one.qp.send_queue.rdma(2, one.handle(two), two.qp.number, one.place(), (1, 1))
        assert one.statuses(2) == ["remote_bad_address"] * 2


def names_are_those_of_c(test):
    """O1: 22 of the port, 12 of the device."""
    base = f"/sys/class/infiniband/{test.function.rdma()}"
    names = set(os.listdir(f"{base}/ports/1/hw_counters")) - {"lifespan"}
    assert names == NAMES, f"missing {NAMES - names}, unknown {names - NAMES}"
    assert len(names) == 22
    names = set(os.listdir(f"{base}/hw_counters")) - {"lifespan"}
    assert names == DEVICE_COUNTERS and len(names) == 12, names


def values_are_the_devices(test):
    """O1: what was sent is what is counted."""
    before = port_counters(test)
    some_traffic(test)
    after = port_counters(test)
    grown = {name: after[name] - before[name] for name in NAMES}
    expected = {
        "send_wrs": 5, "send_bytes": 5000, "recv_wrs": 5, "recv_bytes": 5000, "rdma_read_wrs": 1,
        "rdma_read_bytes": 5000, "rdma_read_wr_err": 1, "rdma_read_resp_bytes": 5000, "rdma_write_wrs": 1,
        "rdma_write_bytes": 7000, "rdma_write_wr_err": 1, "rdma_write_recv_bytes": 7000, "rx_drops": 0,
    }
    wrong = {name: grown[name] for name, value in expected.items() if grown[name] != value}
    # Whether a failed work request counts as one, too, is the device's choice.
    for name in ("rdma_read_wrs", "rdma_write_wrs"):
        if wrong.get(name) == 2:
            del wrong[name]
    assert not wrong, f"{wrong}, expected {expected}"
    assert grown["tx_pkts"] >= 7 and grown["rx_pkts"] >= 7 and grown["tx_bytes"] >= 17_000, grown


def refused_type_blanks_only_itself(test):
    """O2: the device refuses one type of statistics: the probe works, all names are there, the rest is right."""
    some_traffic(test)
    values = port_counters(test)
    all_types = list(PORT_COUNTERS)
    try:
        for refused in all_types:
            left = [name for name in all_types if name != refused]
            test.device.set(stats=left)
            check_blank(test, refused, values)
            if refused == "network":  # and when it is so from the start
                regions.rebound(test, stats=left)
                assert set(os.listdir(f"/sys/class/infiniband/{test.function.rdma()}/ports/1/hw_counters")) >= NAMES
                check_blank(test, refused, None)
    finally:
        test.device.set(stats=all_types)
        if not test.function.bound():
            test.function.bind()
    assert pci.Function(0).bound()


def check_blank(test, refused, values):
    found = port_counters(test)
    for kind, names in PORT_COUNTERS.items():
        for name in names:
            expected = 0 if kind == refused else values[name] if values else found[name]
            assert found[name] == expected, f"{refused} refused: {name} is {found[name]}, not {expected}"
