# SPDX-License-Identifier: GPL-2.0
"""The address handle caches of the two drivers alone: a hit and its end, again and again, in the kernel.

Both modules have a device file; each time it is opened there is a new cache. A request says how
many pairs to do, or for how long, in the low bits of its argument, and for which key in the others.
It holds a use of the key's entry meanwhile, and returns how many pairs it did.
"""

import fcntl
import os
import time

import bench
import meter
import module
from prepared import File

MODULES = ("cache_c", "cache_rust")
DEVICES = {"c": "/dev/ah_cache_c", "rust": "/dev/ah_cache_rust"}
PAIRS, MILLISECONDS, KEY_SHIFT = 0x6501, 0x6502, 24  # the kernel itself answers to 2
COUNTED, SAMPLES = 10_000, 3
# Of throughput: how many windows, and how long each is.
WINDOWS, WINDOW_MS = 40, 100
# From the decision to start until all processes are there.
START_SECONDS = 0.06
# Processes, and keys among them, by line.
SHAPES = {"cache_one": (1, 1), "cache_hit_2": (2, 1), "cache_hit_4": (4, 1), "cache_distinct_2": (2, 2)}


@bench.benchmark
def hit(_test):
    """Instructions of a pair."""
    load()
    with meter.Meter() as counter:
        return {"cache_hit": {driver: [pair_cost(counter, path) for _ in range(SAMPLES)] for driver, path in DEVICES.items()}}


def pair_cost(counter, path):
    file = File(os.open(path, os.O_RDWR))
    step = meter.Step(what=meter.IOCTL, request=PAIRS, data=COUNTED, fd=file.address).keep(file)
    try:
        return bench.cost(counter, [step], 1) / COUNTED
    finally:
        os.close(file.cell.value)


@bench.benchmark
def throughput(_test):
    """Pairs a second of one, two and four processes, each on a processor of its own."""
    load()
    lines = {line: {driver: [] for driver in DEVICES} for line in SHAPES}
    for _ in range(WINDOWS):
        for line, (processes, keys) in SHAPES.items():
            for driver, path in DEVICES.items():
                lines[line][driver].append(window(path, processes, keys))
    return lines


def load():
    bench.load_needed()
    for name in MODULES:
        if not module.loaded(name):
            module.tool("insmod", f"{bench.FILES}/{name}.ko")


def window(path, processes, keys):
    """Pairs a second of all processes together."""
    fd = os.open(path, os.O_RDWR)
    start = time.monotonic() + START_SECONDS
    pipes = [worker(fd, number, number % keys, start) for number in range(processes)]
    os.close(fd)
    done = 0
    for child, pipe in pipes:
        with os.fdopen(pipe) as answer:
            done += int(answer.read())
        os.waitpid(child, 0)
    return done * 1000 / WINDOW_MS


def worker(fd, processor, key, start):
    """A process that does pairs during the window, and writes to a pipe how many."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        return child, read_end
    os.sched_setaffinity(0, {processor})
    while time.monotonic() < start:
        pass
    done = fcntl.ioctl(fd, MILLISECONDS, key << KEY_SHIFT | WINDOW_MS)
    os.write(write_end, str(done).encode())
    os._exit(0)
