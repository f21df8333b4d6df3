# SPDX-License-Identifier: GPL-2.0
"""What address handles cost."""

import ipaddress

import bench
import meter
import prepared
import requests
import uverbs

ROUNDS = 3
PAIRS = 2000
WARM_UP = 200


@bench.benchmark
def pairs(_test):
    """Creating and destroying an address handle, from user space."""
    return bench.by_line(bench.compare(cached_pair, ROUNDS))


def cached_pair():
    """Another handle for the same key is there all the time."""
    with uverbs.Context(bench.node()) as context, meter.Meter() as counter:
        pd = context.alloc_pd()
        pd.create_ah(uverbs.gid(1))
        return {"ah_cached_pair": cost(counter, pair_of(pd, uverbs.gid(1)), PAIRS)}


def cost(counter, steps, rounds):
    counter.cost(steps, WARM_UP)
    return counter.cost(steps, rounds)


def pair_of(pd, gid):
    """The system calls that create and destroy an address handle."""
    fd = pd.context.fd
    destroy = prepared.Prepared(fd, requests.DESTROY_AH, {"handle": 0})
    create = prepared.Prepared(fd, requests.CREATE_AH, attributes(pd, gid))
    return [create.step(handle_to=destroy.field("handle")), destroy.step()]


def attributes(pd, gid):
    return {"pd": pd.handle, "gid": ipaddress.IPv6Address(gid).packed, "hop_limit": 64, "is_global": 1, "port": 1}
