# SPDX-License-Identifier: GPL-2.0
"""Allocations that fail: each in turn, for everything that a process or a probe asks for.

The kernel counts down the allocations of a thread (and the copies from and to its memory, where it can let those
fail) and lets the one fail that comes to zero. What was asked for then fails with the errno of it, or is done all the
same; nothing may be left behind, and the next one must succeed.
"""

import contextlib
import glob
import os
import threading

from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.libibverbs_enums import ibv_access_flags, ibv_qp_type
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr

import uverbs

FAILSLAB = "/sys/kernel/debug/failslab"
# Allocations of a fixed size for a fixed purpose (an entry of /proc) are left alone: what the kernel's core makes of
# their failure is not the driver's doing, and at times a warning.
CACHES = "/sys/kernel/slab/kmalloc-*/failslab"


@contextlib.contextmanager
def injection():
    """Lets the general allocations fail, also those that may sleep, and the kernel not write a book about each."""
    settings = {path: "1" for path in glob.glob(CACHES)}
    assert settings, f"nothing to fail: no {CACHES}"
    settings |= {f"{FAILSLAB}/cache-filter": "Y", f"{FAILSLAB}/ignore-gfp-wait": "N", f"{FAILSLAB}/verbose": "0"}
    before = {path: read(path) for path in settings}
    try:
        for path, value in settings.items():
            write(path, value)
        yield
    finally:
        for path, value in before.items():
            write(path, value)


def with_failure(number, action):
    """Does `action` with its thread's allocation `number` failing; whether there was such a one, and the outcome."""
    control = os.open(f"/proc/self/task/{threading.get_native_id()}/fail-nth", os.O_RDWR)
    try:
        os.write(control, b"%d" % number)
        try:
            outcome = action()
        except (OSError, PyverbsRDMAError) as error:
            outcome = error
        try:
            left = int(os.pread(control, 16, 0))
            os.write(control, b"0")
        except OSError:  # what was to fail was not yet reached: it is this copy
            left = 1
    finally:
        os.close(control)
    return left == 0, outcome


def each_allocation(test, action, undo, step=1):
    """Fails the first allocation of `action`, then the second, until there are no more; how many there were.

    Which errno it becomes is often the kernel's own word (a BAR that cannot be noted down as taken is busy to it).
    """
    before = test.device.objects()
    number = 1
    while True:
        failed, outcome = with_failure(number, action)
        if isinstance(outcome, Exception):
            code = getattr(outcome, "error_code", None) or getattr(outcome, "errno", None)
            assert failed, f"failed without an injected failure: {outcome}"
            assert code, f"allocation {number}: an error without an errno, {outcome!r}"
        else:
            undo(outcome)
        after = test.device.objects()
        assert after == before, f"allocation {number}: {before} became {after}; the last commands: {test.device.log()[-8:]}"
        if not failed:
            return number - 1
        number += step


def every_allocation_of_a_verb_may_fail(test):
    """Opening the device and making each kind of object, with each allocation failing in turn."""
    counts = {}
    with injection(), Context(name=test.function.rdma()) as context, PD(context) as pd:
        with CQ(context, 16) as cq:
            for name, action in verbs(test, context, pd, cq).items():
                counts[name] = each_allocation(test, action, lambda made: made.close())
    assert all(counts.values()), f"no allocation to fail: {counts}"
    return counts


def verbs(test, context, pd, cq):
    node = test.function.uverbs()
    route = GlobalRoute(dgid=GID("fe80:0000:0000:0000:00ef:a100:0000:0001"), sgid_index=0)
    cap = QPCap(max_send_wr=4, max_recv_wr=4)
    attributes = QPInitAttr(qp_type=ibv_qp_type.IBV_QPT_UD, scq=cq, rcq=cq, cap=cap)
    return {
        "open": lambda: uverbs.Context(node),
        "pd": lambda: PD(context),
        "ah": lambda: AH(pd, attr=AHAttr(gr=route, is_global=1, port_num=1)),
        "mr": lambda: MR(pd, 64 * 4096, ibv_access_flags.IBV_ACCESS_LOCAL_WRITE),
        "cq": lambda: CQ(context, 16),
        "channel": lambda: CompChannel(context),
        "qp": lambda: QP(pd, attributes),
    }


def every_allocation_of_a_probe_may_fail(test):
    """Probing the device, with one allocation after another failing: it works, or fails with an errno and is undone."""
    function = test.function

    def undo(_):
        if function.bound():
            function.unbind()

    undo(None)
    try:
        with injection():
            count = each_allocation(test, function.bind, undo, test.pick(9, 1))
    finally:
        if not function.bound():
            function.bind()
    assert count > 20, f"only {count} allocations: the probe did not run in this thread"
    return count


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
