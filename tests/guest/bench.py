# SPDX-License-Identifier: GPL-2.0
"""What benchmarks share: loading one driver after another."""

import contextlib
import glob
import os

import module

FILES = "/mnt/bench"
DRIVERS = {"c": f"{FILES}/efa-c.ko", "rust": f"{FILES}/efa-rust.ko", "floor": f"{FILES}/floor.ko"}
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
    """Instructions of one round of the steps, once the kernel's allocators have got used to them."""
    counter.cost(steps, rounds)
    return counter.cost(steps, rounds)


def kernel_memory():
    """Bytes that the kernel has in slabs, and in memory that is contiguous for itself alone."""
    with open("/proc/meminfo", encoding="ascii") as file:
        fields = dict(line.split(":") for line in file)
    return sum(int(fields[name].split()[0]) * 1024 for name in ("Slab", "VmallocUsed"))


def benchmark(program):
    """A program that takes care of the drivers itself."""
    program.bare = True
    return program
