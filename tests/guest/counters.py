# SPDX-License-Identifier: GPL-2.0
"""Counters that exporters read: their names, and that they are the device's."""

import os
import subprocess
import time

import regions
import uverbs
from endpoint import pair
from traffic import deliver, filled
from uapi import error_of
from identity import DEVICE_COUNTERS, device_counters

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
# Nothing is lost on the way, so nothing is sent again.
USED = set(PORT_COUNTERS) - {"network"}
STATUSES = [
    "resource_allocation_failure", "bad_opcode", "unsupported_opcode", "malformed_request", "illegal_parameter",
    "unknown_error", "resource_busy",
]


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
    """O1: 22 of the port, 12 of the device, and ours beside them."""
    base = f"/sys/class/infiniband/{test.function.rdma()}"
    names = set(os.listdir(f"{base}/ports/1/hw_counters")) - {"lifespan"}
    assert names == NAMES, f"missing {NAMES - names}, unknown {names - NAMES}"
    assert len(names) == 22
    names = set(os.listdir(f"{base}/hw_counters")) - {"lifespan"}
    assert names == device_counters(test) and len(DEVICE_COUNTERS) == 12, names


def handles_are_counted_for_everyone(test):
    """Who is not root reads how address handles are used, and the numbers are those of debugfs."""
    base = f"/sys/class/infiniband/{test.function.rdma()}/hw_counters"
    names = ["entries", "hits", "waits", "reuses", "misses", "create_failures", "destroy_failures"]

    def read():
        time.sleep(0.05)  # for so long values are kept, and a bit longer
        command = ["setpriv", "--reuid=65534", "--clear-groups", "cat", *(f"{base}/ah_{name}" for name in names)]
        values = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50).stdout.split()
        return dict(zip(names, map(int, values), strict=True))

    before = read()
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handles = [pd.create_ah(uverbs.gid(1)) for _ in range(3)]
        test.device.fail("create_ah")
        assert error_of(lambda: pd.create_ah(uverbs.gid(2)))
        now = read()
        for handle in handles:
            handle.destroy()
        pd.dealloc()
    grown = {name: now[name] - before[name] for name in names if now[name] != before[name]}
    assert grown == {"entries": 1, "hits": 2, "misses": 2, "create_failures": 1}, grown
    with open(f"/sys/kernel/debug/efa/{test.function.address}/ah_counters", encoding="ascii") as file:
        numbers = dict(line.split() for line in file)
    after = read()
    assert {name: int(numbers[name]) for name in names} == after, f"{numbers}, {after}"


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


def refused_type_keeps_its_values(test):
    """O2: while the device refuses one type of statistics its counters stay, and the rest is right."""
    some_traffic(test)
    all_types = list(PORT_COUNTERS)
    try:
        for refused in all_types:
            values = port_counters(test)
            test.device.set(stats=[kind for kind in all_types if kind != refused])
            some_traffic(test)
            found = port_counters(test)
            back = {name for name in NAMES if found[name] < values[name]}
            assert not back, f"{refused} refused: {back} went back"
            grown = kinds_that_grew(values, found)
            assert grown == USED - {refused}, f"{refused} refused: only {grown} have grown"
            test.device.set(stats=all_types)
            some_traffic(test)
            grown = kinds_that_grew(found, port_counters(test))
            assert grown == USED, f"{refused} told again: only {grown} have grown"
    finally:
        test.device.set(stats=all_types)


def passing_refusal_changes_nothing(test):
    """O2: one command for counters is refused, for whatever reason: they stay as they are."""
    some_traffic(test)
    values = port_counters(test)
    for status in STATUSES:
        for command in range(1, len(PORT_COUNTERS) + 1):
            test.device.fail("get_stats", nth=command, status=status)
            found = port_counters(test)
            changed = {name: (values[name], found[name]) for name in NAMES if found[name] != values[name]}
            assert not changed, f"{status} of command {command}: {changed}"
            assert not test.device.faults(), "no command failed"
    assert port_counters(test) == values


def missing_type_reads_as_zeroes(test):
    """O2: a device without one type of statistics: the probe works, all names are there, the rest is right."""
    all_types = list(PORT_COUNTERS)
    try:
        for missing in all_types:
            regions.rebound(test, stats=[kind for kind in all_types if kind != missing])
            assert set(os.listdir(f"/sys/class/infiniband/{test.function.rdma()}/ports/1/hw_counters")) >= NAMES
            before = port_counters(test)
            some_traffic(test)
            after = port_counters(test)
            assert kinds_that_grew(before, after) == USED - {missing}, f"without {missing}: {after}"
            assert not any(after[name] for name in PORT_COUNTERS[missing]), f"without {missing}: {after}"
    finally:
        restore(test)


def missing_type_is_asked_for_once(test):
    """A type of statistics that the device does not have costs one command in a probe, and is no error."""
    all_types, reads = list(PORT_COUNTERS), 5
    try:
        for missing in all_types:
            regions.rebound(test, stats=[kind for kind in all_types if kind != missing])
            assert test.log.matching("statistics: their counters stay 0"), "nothing is said of it"
            sent = test.device.seen("get_stats")
            for _ in range(reads):
                port_counters(test)
            sent = test.device.seen("get_stats") - sent
            assert sent == reads * (len(all_types) - 1), f"without {missing}: {sent} commands for {reads} reads"
            assert test.function.counter("cmds_err") == 0, f"{missing} is missing: an error"
    finally:
        restore(test)


def type_that_was_refused_once_is_asked_for_again(test):
    """The first command for statistics fails since the device is busy, or out of something."""
    for status in ("resource_allocation_failure", "unknown_error", "resource_busy"):
        for command in range(1, len(PORT_COUNTERS) + 1):
            test.function.unbind()
            test.device.fail("get_stats", nth=command, status=status)
            test.function.bind()
            assert not test.device.faults(), "no command failed"
            assert test.function.counter("cmds_err") == 1
            before = port_counters(test)
            some_traffic(test)
            grown = kinds_that_grew(before, port_counters(test))
            assert grown == USED, f"{status} of command {command} in the probe: only {grown} have grown"


def kinds_that_grew(before, after):
    """The types of statistics that have a counter which grew."""
    return {kind for kind, names in PORT_COUNTERS.items() if any(after[name] > before[name] for name in names)}


def restore(test):
    """All types of statistics are there again, whether or not the driver took the device."""
    if test.function.bound():
        test.function.unbind()
    test.device.set(stats=list(PORT_COUNTERS))
    test.function.bind()
