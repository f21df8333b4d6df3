# SPDX-License-Identifier: GPL-2.0
"""What any user can read costs the device a bounded number of commands."""

import time

import uverbs
from endpoint import Endpoint, pair
from nldev import Nldev
from queues import FIRST, LAST, WANT_COMPLETION
from traffic import deliver, filled

# Documentation/architecture.md: for how long values are good.
COUNTERS_SECONDS, LISTED_SECONDS = 0.1, 1
# GET_STATS for all counters of the port.
COMMANDS = 5
READS = 1000


def check_reads(test, read):
    """Values that were read last are good for a while, and fresh after it."""
    before, start = test.device.seen("get_stats"), time.monotonic()
    for _ in range(READS):
        read()
    took, sent = time.monotonic() - start, test.device.seen("get_stats") - before
    most = COMMANDS * (took / COUNTERS_SECONDS + 2)
    assert 0 < sent <= most, f"{sent} commands for {READS} reads in {took:.1f} s, at most {most:.0f}"
    test.note(f"{sent} commands for {READS} reads in {took:.1f} s")
    with pair(test) as (one, two):
        for count in range(3):
            sent = read()
            deliver(one, two, filled(100))
            time.sleep(COUNTERS_SECONDS + 0.05)
            assert read() == sent + 1, f"{read()} sends are counted, not {sent + 1}"


def counters_in_sysfs(test):
    path = f"/sys/class/infiniband/{test.function.rdma()}/ports/1/hw_counters/send_wrs"

    def read():
        with open(path, encoding="ascii") as file:
            return int(file.read())

    check_reads(test, read)


def counters_by_netlink(test):
    """`rdma statistic show`, for which the core does not keep values."""
    nldev = Nldev(test.function.rdma())
    check_reads(test, lambda: nldev.port_counters()["send_wrs"])


def list_of_queue_pairs(test):
    """`rdma resource show qp` queries each queue pair of each process."""
    nldev, count = Nldev(test.function.rdma()), 20
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        qps = [pd.create_qp(cq) for _ in range(count)]
        before, start = test.device.seen("query_qp"), time.monotonic()
        for _ in range(READS // count):
            states = nldev.queue_pairs()
            assert states == {qp.number: uverbs.RESET for qp in qps}, states
        took, sent = time.monotonic() - start, test.device.seen("query_qp") - before
        most = count * (took / LISTED_SECONDS + 2)
        assert count <= sent <= most, f"{sent} commands for {READS} queries in {took:.1f} s, at most {most:.0f}"
        # What a process changes is seen at once.
        for state in (uverbs.INIT, uverbs.RTR):
            if state == uverbs.INIT:
                qps[0].modify(uverbs.INIT, pkey_index=0, port_num=1, qkey=1)
            else:
                qps[0].modify(state)
            assert nldev.queue_pairs()[qps[0].number] == state
            # And a process that asks is told what the device says.
            before = test.device.seen("query_qp")
            for _ in range(10):
                assert qps[0].query().qp_state == state
            assert test.device.seen("query_qp") - before == 10


def list_shows_what_the_device_changed(test):
    """Not at once, but after a while."""
    nldev, end = Nldev(test.function.rdma()), Endpoint(test.function)
    assert nldev.queue_pairs()[end.qp.number] == uverbs.RTS
    # A descriptor of the wrong phase.
    end.qp.send_queue.write(bytes(32), ctrl2=FIRST | LAST | WANT_COMPLETION | 1)
    assert end.statuses() == ["qp_internal_error"]
    time.sleep(LISTED_SECONDS + 0.1)
    assert nldev.queue_pairs()[end.qp.number] == uverbs.ERR
    end.close()
