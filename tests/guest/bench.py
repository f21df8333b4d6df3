# SPDX-License-Identifier: GPL-2.0
"""What benchmarks share: loading one driver after another."""

import contextlib
import glob
import os
import statistics
import time

import module

FILES = "/mnt/bench"
DRIVERS = {"c": f"{FILES}/efa-c.ko", "rust": f"{FILES}/efa-rust.ko", "floor": f"{FILES}/floor.ko"}
PARTS, PAUSE_SECONDS = 20, 0.02
MODULES = {"c": "efa", "rust": "efa", "floor": "floor"}


@contextlib.contextmanager
def loaded(driver):
    """The driver is loaded, and its device is there."""
    load_needed()
    module.tool("insmod", DRIVERS[driver])
    try:
        yield
    finally:
        module.tool("rmmod", MODULES[driver])


def load_needed():
    """Loads what the drivers need."""
    for path in module.files()[:-1]:
        if not os.path.exists(f"/sys/module/{module.name(path)}"):
            module.tool("insmod", path)


def node():
    """The uverbs device node."""
    return f"/dev/infiniband/{os.path.basename(glob.glob('/sys/class/infiniband_verbs/uverbs*')[0])}"


def compare(measure, rounds, drivers=("c", "rust")):
    """Calls measure() on each driver in turn, so often; {driver: what it returned}."""
    results = {driver: [] for driver in drivers}
    for _ in range(rounds):
        for driver in drivers:
            with loaded(driver):
                results[driver].append(measure())
    return results


def by_line(results):
    """From {driver: [{line: value}]} to {line: {driver: [value]}}."""
    lines = {}
    for driver, samples in results.items():
        for sample in samples:
            for line, value in sample.items():
                lines.setdefault(line, {}).setdefault(driver, []).append(value)
    return lines


def cost(counter, steps, rounds):
    """Instructions of one round of the steps: what is typical of some parts of the rounds. Between these the kernel gets
    round to freeing what waits for a grace period, or later rounds would pay for what earlier ones left."""
    counter.cost(steps, max(rounds // PARTS, 1))
    parts = []
    for _ in range(min(PARTS, rounds)):
        time.sleep(PAUSE_SECONDS)
        parts.append(counter.cost(steps, max(rounds // PARTS, 1)))
    return statistics.median(parts)


def kernel_memory():
    """Bytes that the kernel has in slabs, and in memory that is contiguous for itself alone."""
    with open("/proc/meminfo", encoding="ascii") as file:
        fields = dict(line.split(":") for line in file)
    return sum(int(fields[name].split()[0]) * 1024 for name in ("Slab", "VmallocUsed"))


def benchmark(program):
    """A program that takes care of the drivers itself."""
    program.bare = True
    return program
