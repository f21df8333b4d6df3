# SPDX-License-Identifier: GPL-2.0
"""What address handles cost."""

import ctypes
import ipaddress

import bench
import meter
import requests
import uverbs
from prepared import Command, File, pair

ROUNDS = 3
CACHED, UNCACHED = 4000, 300
# How many address handles are there while a pair is measured.
SIZES = (1, 1000, 10000, 60000)


@bench.benchmark
def pairs(_test):
    """Creating and destroying an address handle, where another one for its key is there, and where none is."""
    lines = bench.by_line(bench.compare(driver_pairs, ROUNDS))
    floor = bench.compare(floor_pair, ROUNDS, ("floor",))
    return {**lines, "uverbs_floor_pair": {"rust": floor["floor"]}}


def driver_pairs():
    with uverbs.Context(bench.node()) as context, meter.Meter() as counter:
        pd = context.alloc_pd()
        uncached = bench.cost(counter, pair_of(pd), UNCACHED)
        hold(counter, pd, 0, 1)
        return {"ah_uncached_pair": uncached, "ah_cached_pair": bench.cost(counter, pair_of(pd), CACHED)}


def floor_pair():
    """As a cached pair. With a second object in the context, as there: the table of handles then keeps its node."""
    with uverbs.Context(bench.node()) as context, meter.Meter() as counter:
        pd = context.alloc_pd()
        hold(counter, pd, 0, 1)
        return bench.cost(counter, pair_of(pd), CACHED)


@bench.benchmark
def growth(_test):
    """A cached pair with more and more address handles, and the memory that these take."""
    lines = bench.by_line(bench.compare(grow, 1))
    first, last = lines["ah_growth_1"], lines["ah_growth_60000"]
    ratio = {driver: [last[driver][0] / first[driver][0]] for driver in last}
    return {**lines, "ah_growth_60000": ratio, "ah_pair_60000": last}


def grow():
    found = {}
    with uverbs.Context(bench.node()) as context, meter.Meter() as counter:
        pd = context.alloc_pd()
        held, memory = 0, bench.kernel_memory()
        for size in SIZES:
            hold(counter, pd, held, size - held)
            held = size
            found[f"ah_growth_{size}"] = bench.cost(counter, pair_of(pd, keys=size), CACHED)
        found["ah_memory"] = (bench.kernel_memory() - memory) / held
    return found


def hold(counter, pd, first, number):
    """Creates address handles for keys from `first` on. They go when the context is closed."""
    create = Command(File(pd.context.fd), requests.CREATE_AH, attributes(pd))
    word = create.field("gid") + 12
    ctypes.c_uint32.from_address(word).value += first
    counter.cost([create.step(count=word, limit=1 << 31)], number)


def pair_of(pd, keys=1):
    """The steps that create and destroy an address handle, for the first `keys` keys in turn."""
    file = File(pd.context.fd)
    create = Command(file, requests.CREATE_AH, attributes(pd))
    destroy = Command(file, requests.DESTROY_AH)
    create_step, destroy_step = pair(create, destroy)
    create_step.count, create_step.limit = create.field("gid") + 12, keys
    return [create_step, destroy_step]


def attributes(pd):
    """Those of an address handle for the first key; the last word of the GID counts keys."""
    gid = ipaddress.IPv6Address("fe80::ef:a100:0:0").packed
    return {"pd": pd.handle, "gid": gid, "hop_limit": 64, "is_global": 1, "port": 1}
