# SPDX-License-Identifier: GPL-2.0
"""The memory of queues counts as the memory of the process that makes them."""

import contextlib
import errno
import os

import memory
import pci
import uverbs
from ah_cache import wait_until
from queues import RECV_BYTES
from uapi import error_of

ROOT = "/sys/fs/cgroup"
# Each CPU may have charged so much more than is used, and the objects themselves are small.
SLACK = 1 << 20


class Group:
    """A memory cgroup, in which a process is only while it makes objects: what it needs itself is charged
    elsewhere."""

    def __init__(self, name):
        if not os.path.exists(f"{ROOT}/cgroup.procs"):
            assert os.system(f"mount -t cgroup2 cgroup2 {ROOT}") == 0
        pci.write(f"{ROOT}/cgroup.subtree_control", "+memory")
        self.path = f"{ROOT}/{name}"
        os.mkdir(self.path)

    @contextlib.contextmanager
    def inside(self):
        pci.write(f"{self.path}/cgroup.procs", str(os.getpid()))
        try:
            yield
        finally:
            pci.write(f"{ROOT}/cgroup.procs", str(os.getpid()))

    def charged(self):
        return int(pci.read(f"{self.path}/memory.current"))

    def records(self):
        """The part of it that is in small pieces. The kernel adds it up every two seconds."""
        stat = dict(line.split() for line in pci.read(f"{self.path}/memory.stat").splitlines())
        return int(stat["slab"])

    def used(self):
        """The same without what CPUs have charged in advance: they give it back when memory.high is passed."""
        for high in ("0", "max"):
            pci.write(f"{self.path}/memory.high", high)
        return self.charged()

    def limit(self, length):
        pci.write(f"{self.path}/memory.max", str(length))

    def killed(self):
        """How many processes were killed for its limit."""
        events = dict(line.split() for line in pci.read(f"{self.path}/memory.events").splitlines())
        return int(events["oom_kill"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.path)


class Objects:
    """What a process can make that has a ring, by name: how, and the ring's bytes."""

    def __init__(self, context):
        self.context, self.pd, self.cq = context, context.alloc_pd(), context.create_cq(16)

    def cq_of(self, length):
        return self.context.create_cq(length // (16 * self.context.limits.sub_cqs_per_cq))

    def qp_of(self, length):
        return self.pd.create_qp(self.cq, recv_depth=length // RECV_BYTES, sges=(1, 1))


def check(group, make, length, count):
    """Makes `count` objects with rings of `length` bytes, and destroys them."""
    before = group.charged()
    with group.inside():
        made = [make(length) for _ in range(count)]
    grown, expected = group.charged() - before, count * length
    assert abs(grown - expected) < SLACK, f"{grown} bytes charged for {expected}"
    for one in made:
        one.destroy()
    left = group.charged() - before
    assert left < SLACK, f"{left} bytes charged when all were destroyed"


def rings_are_charged(test):
    """memory.current grows by what the rings have, and shrinks when they are destroyed."""
    with Group("rings") as group, uverbs.Context(test.function.uverbs()) as context:
        objects = Objects(context)
        check(group, objects.cq_of, 128 << 10, 64)
        check(group, objects.qp_of, 64 << 10, 64)


def records_are_charged(test):
    """Small objects as well: what the driver keeps of each address handle, memory region and protection domain."""
    least = 64
    with Group("records") as group, uverbs.Context(test.function.uverbs()) as context:
        pd, region = context.alloc_pd(), memory.Memory(memory.PAGE)
        for count, make, destroy in (
            (500, lambda at: pd.create_ah(uverbs.gid(at)), uverbs.Ah.destroy),
            (500, lambda _: pd.reg_mr(region), uverbs.Mr.dereg),
            # As many as the device has, but for a few.
            (240, lambda _: context.alloc_pd(), uverbs.Pd.dealloc),
        ):
            before = group.records()
            with group.inside():
                made = [make(at) for at in range(count)]
            charged = wait_until(lambda: group.records() - before >= count * least)
            assert charged, f"{group.records() - before} bytes charged for {count} objects"
            for one in made:
                destroy(one)
            # Entries of the cache are freed after a grace period.
            gone = wait_until(lambda: group.records() - before < count * least / 2)
            assert gone, f"{group.records() - before} bytes charged when all were destroyed"


def limit_holds(test):
    """Asking for more memory than the limit leaves fails, whatever the size, and kills no process. What is
    destroyed can be made again, and outside the group nothing is different."""
    with Group("limit") as group, uverbs.Context(test.function.uverbs()) as context:
        objects = Objects(context)
        for make, length in ((objects.cq_of, 128 << 10), (objects.qp_of, 64 << 10), (objects.qp_of, 32 << 10)):
            with group.inside():
                made = [make(length) for _ in range(4)]
            # Less than one more ring, and enough for what Python needs meanwhile.
            group.limit(group.used() + length - memory.PAGE)
            with group.inside():
                error = error_of(lambda: made.append(make(length)))
            assert error == errno.ENOMEM, f"one more ring of {length} bytes: errno {error}"
            made.append(make(length))
            made.pop(0).destroy()
            with group.inside():
                made.append(make(length))
            for one in made:
                one.destroy()
            group.limit("max")
        assert not group.killed(), "a process was killed"
