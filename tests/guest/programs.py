# SPDX-License-Identifier: GPL-2.0
"""Programs that talk to each other over the device: perftest's and libfabric's, a server and a client."""

import os
import re
import subprocess
import time

import pci
import perftest as numbers

PORT = 18515
# How often a program of perftest may print numbers that cannot be true.
ATTEMPTS = 3
# With UD perftest wants a completion of every send only if it is told to, and libefa has no others.
UD_BANDWIDTH = ("-c", "UD", "-s", "2048", "-Q", "1")


def network_up():
    """The programs find each other over TCP."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def listening(port):
    """Whether someone listens on a TCP port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as lines:
            if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(lines)[1:]):
                return True
    return False


def run_both(server, client, port, seconds=60, **environment):
    """Runs a server and, once it listens, a client; what the client printed. Both must succeed."""
    environment = {**os.environ, **environment}
    with subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as first:
        try:
            deadline = time.monotonic() + seconds
            while not listening(port):
                assert first.poll() is None, f"{server[0]}, the server: {first.stdout.read().strip()[-400:]}"
                assert time.monotonic() < deadline, f"{server[0]} does not listen"
                time.sleep(0.05)
            second = subprocess.run(
                client, capture_output=True, text=True, check=False, timeout=seconds, env=environment
            )
            said = second.stdout + second.stderr
            assert second.returncode == 0, f"{' '.join(client)}: {said.strip()[-400:]}"
            said_there, _ = first.communicate(timeout=seconds)
            assert first.returncode == 0, f"{server[0]}, the server: {said_there.strip()[-400:]}"
        finally:
            first.kill()
    print(said, flush=True)
    return said


def perftest(test, tool, *options, devices=(0, 0)):
    """One of perftest's programs between two devices; its results, by size of message."""
    network_up()
    failures = []
    while len(failures) < ATTEMPTS:
        try:
            rows = run_perftest(tool, options, devices)
        except numbers.Impossible as error:
            failures.append(str(error))
            test.note(f"{tool} {' '.join(options)}, attempt {len(failures)} of {ATTEMPTS}: {error}")
        else:
            return {"tool": tool, "options": " ".join(options), "rows": rows, "repeats": len(failures)}
    raise AssertionError(f"{tool} printed nothing that can be true: {'; '.join(failures)}")


def run_perftest(tool, options, devices):
    """One run; its rows. What was moved must have gone through the device."""
    names = [pci.Function(index).rdma() for index in devices]
    common = ["-x", "0", "-p", str(PORT), "-F", *options]
    packets = pci.Function(devices[1]).counter("tx_pkts", port=True)
    start = time.monotonic()
    said = run_both([tool, "-d", names[0], *common], [tool, "-d", names[1], *common, "127.0.0.1"], PORT)
    rows = numbers.results(said, time.monotonic() - start)
    moved = pci.Function(devices[1]).counter("tx_pkts", port=True) - packets
    iterations = int(rows[0][numbers.ITERATIONS])
    assert moved >= iterations, f"{moved} packets for {iterations} messages"
    return rows


def impossible_numbers_are_no_results(_test):
    """What the programs print when they cannot tell the time must fail a test."""
    good = (
        " 65536      200              101.82             100.83 \t\t     0.001613",
        " 64      200          173.21         153545.48      3994.74  \t       8037.03     \t9570.31\t\t59981.45 \t\t153545.48",
    )
    for row in good:
        assert len(numbers.results(f" #bytes #iterations\n{row}\n----", 10)) == 1, row
    bad = (
        "", "no numbers at all",
        " 65536      200              0.00               0.00   \t\t     0.000000",
        " 65536      200              101.82             100.83 \t\t     0.000000",
        " 65536      200              inf                inf   \t\t     inf",
        " 65536      200              -nan               -nan   \t\t     -nan",
        " 65536      200              -1.00              -1.00   \t\t     -0.1",
        " 65536      200              101.82",
        " 65536      200              0.02               0.01   \t\t     0.000001",
        " 65536      200              9999999.00         9999999.00   \t\t     9.0",
        " 64 200 0.00 0.00 0.00 0.00 0.00 0.00 0.00",
        " 64 200 173.21 153.48 3994.74 8037.03 9570.31 59981.45 153545.48",
        " 64 200 173.21 153545.48 3994.74 80370300.00 9570.31 59981.45 153545.48",
    )
    for row in bad:
        try:
            numbers.results(f"{good[0]}\n{row}\n" if row.startswith(" ") else row, 10)
        except numbers.Impossible:
            continue
        raise AssertionError(f"taken for a result: {row}")


def count(test):
    return str(test.pick(200, 2000))


def send_latency_srd(test):
    return perftest(test, "ib_send_lat", "-c", "SRD", "-s", "64", "-n", count(test))


def send_latency_ud(test):
    return perftest(test, "ib_send_lat", "-c", "UD", "-s", "64", "-n", count(test))


def send_bandwidth_srd(test):
    return perftest(test, "ib_send_bw", "-c", "SRD", "-s", "4096", "-n", count(test))


def send_bandwidth_ud(test):
    return perftest(test, "ib_send_bw", *UD_BANDWIDTH, "-n", count(test))


def read_bandwidth(test):
    return perftest(test, "ib_read_bw", "-c", "SRD", "-s", "65536", "-n", count(test))


def write_bandwidth(test):
    return perftest(test, "ib_write_bw", "-c", "SRD", "-s", "65536", "-n", count(test))


def all_between_devices(test):
    """Each of them between two devices."""
    results = []
    for tool, *options in (
        ("ib_send_lat", "-c", "SRD", "-s", "64"), ("ib_send_lat", "-c", "UD", "-s", "64"),
        ("ib_send_bw", "-c", "SRD", "-s", "4096"), ("ib_send_bw", *UD_BANDWIDTH),
        ("ib_read_bw", "-c", "SRD", "-s", "65536"), ("ib_write_bw", "-c", "SRD", "-s", "65536"),
    ):
        results.append(perftest(test, tool, *options, "-n", count(test), devices=(0, 1)))
    return results


def fi_info_finds_both_endpoints(test):
    network_up()
    said = subprocess.run(["fi_info", "-p", "efa"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr.strip()
    for word in (test.function.rdma(), "FI_EP_RDM", "FI_EP_DGRAM"):
        assert word in said.stdout, f"fi_info does not name {word}: {said.stdout[-400:]}"


def pingpong(test, endpoint):
    """libfabric's, with the data checked; it must go over the device, not over shared memory."""
    network_up()
    iterations = test.pick(50, 500)
    port = 47592
    options = ["fi_pingpong", "-p", "efa", "-e", endpoint, "-c", "-I", str(iterations), "-B", str(port)]
    client = [*options[:-2], "-P", str(port), "127.0.0.1"]
    packets = test.function.counter("tx_pkts", port=True)
    said = run_both(options, client, port, 100, FI_EFA_ENABLE_SHM_TRANSFER="0")
    rows = [line.split() for line in said.splitlines() if re.match(r"\d", line)]
    assert rows, f"fi_pingpong printed no results: {said[-400:]}"
    moved = test.function.counter("tx_pkts", port=True) - packets
    assert moved >= 2 * iterations * len(rows), f"{moved} packets for {len(rows)} sizes, {iterations} times each way"
    return {"tool": "fi_pingpong", "options": endpoint, "rows": rows}


def pingpong_rdm(test):
    return pingpong(test, "rdm")


def pingpong_dgram(test):
    return pingpong(test, "dgram")
