# SPDX-License-Identifier: GPL-2.0
"""Address handles: what went wrong for people who use them."""

import errno
import ipaddress
import re
import subprocess
import threading
import time

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.device import Context as LibraryContext
from pyverbs.pd import PD
from pyverbs.providers.efa.efadv import EfaAH

import checkers
import module
import uverbs
import vefa

# Of each thread that creates and destroys handles, however slow the machine is.
LEAST_ROUNDS = 10
# What the driver must make of each status of the device.
ERRNO_OF_STATUS = {
    "resource_allocation_failure": errno.ENOMEM,
    "unsupported_opcode": errno.EOPNOTSUPP,
    "bad_opcode": errno.EINVAL,
    "malformed_request": errno.EINVAL,
    "illegal_parameter": errno.EINVAL,
    "unknown_error": errno.EINVAL,
    "resource_busy": errno.EINVAL,
}


def create_error(pd, gid, **more):
    """The errno with which creating fails; None if it does not fail."""
    try:
        handle = pd.create_ah(gid, **more)
    except OSError as error:
        return error.errno
    handle.destroy()
    return None


def shared_handle_lives_until_last_user(test):
    """A1, as the device sees it: one CREATE_AH for two handles, DESTROY_AH after the second."""
    creates, destroys = test.device.seen("create_ah", "destroy_ah")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        first, second = pd.create_ah(uverbs.gid(1)), pd.create_ah(uverbs.gid(1))
        assert first.number == second.number, f"handles {first.number} and {second.number}"
        assert test.device.seen("create_ah") - creates == 1
        first.destroy()
        assert test.device.seen("destroy_ah") == destroys, "DESTROY_AH while a user is left"
        assert [ah["id"] for ah in test.device.live("ah")] == [second.number]
        second.destroy()
        assert test.device.seen("destroy_ah") - destroys == 1
        assert test.device.live("ah") == []
        pd.dealloc()


def refused_gid_is_reported_and_forgotten(test):
    """A2: EINVAL, one count, the GID in the log but not without end, and a later retry works."""
    gid = uverbs.gid(2)
    errors = test.function.counter("create_ah_err")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        test.device.refuse(gid)
        try:
            assert create_error(pd, gid) == errno.EINVAL
            assert test.function.counter("create_ah_err") - errors == 1
            assert test.device.live("ah") == []
            lines = [line for line in test.log.read() if names_gid(line, gid)]
            assert lines, "the kernel log does not name the refused GID"
            for _ in range(100):
                assert create_error(pd, gid) == errno.EINVAL
            lines = [line for line in test.log.read() if names_gid(line, gid)]
            assert len(lines) < 60, f"{len(lines)} lines in the log: not rate-limited"
        finally:
            test.device.accept(gid)
        creates = test.device.seen("create_ah")
        handle = pd.create_ah(gid)
        assert test.device.seen("create_ah") - creates == 1
        handle.destroy()
        pd.dealloc()


def names_gid(line, gid):
    """Whether a log line holds the GID, in whatever spelling."""
    for word in re.findall(r"[0-9a-fA-F:]{6,}", line):
        try:
            if ipaddress.IPv6Address(word.strip(":") if not word.endswith("::") else word) == ipaddress.IPv6Address(gid):
                return True
        except ValueError:
            continue
    return False


def every_status_is_an_errno(test):
    """A3: whatever the device says, user space gets the errno that stands for it."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for status, expected in ERRNO_OF_STATUS.items():
            test.device.fail("create_ah", status=status)
            error = create_error(pd, uverbs.gid(3))
            assert error == expected, f"{status}: errno {error}, expected {expected}"
        assert create_error(pd, uverbs.gid(3)) is None, "no retry after the failures"
        pd.dealloc()


def no_route_is_refused(test):
    """A4: without a global route there is no peer, so nothing is sent to the device."""
    creates = test.device.seen("create_ah")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        errors = {
            "without a route": create_error(pd, "::", is_global=False),
            "with a GID but no route": create_error(pd, uverbs.gid(4), is_global=False),
        }
        pd.dealloc()
    sent = test.device.seen("create_ah") - creates
    assert sent == 0, f"{sent} CREATE_AH sent for no peer; errno {errors}"
    assert set(errors.values()) == {errno.EINVAL}, f"errno {errors}"


def library_shows_the_devices_number(test):
    """A5: what efadv_query_ah says is what the device handed out."""
    with LibraryContext(name=test.function.rdma()) as context, PD(context) as pd:
        for number in range(5, 9):
            route = GlobalRoute(dgid=GID(vefa.full(uverbs.gid(number))), sgid_index=0)
            handle = EfaAH(pd, attr=AHAttr(gr=route, is_global=1, port_num=1))
            live = [ah["id"] for ah in test.device.live("ah") if ah["gid"] == vefa.full(uverbs.gid(number))]
            assert live == [handle.query_efa_ah().ahn]
            handle.close()


def recycled_pd_gets_a_fresh_handle(test):
    """A6: a failed DESTROY_AH must not leave its number to the next owner of the PD number."""
    gid = uverbs.gid(6)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handle = pd.create_ah(gid)
        test.device.fail("destroy_ah")
        handle.destroy()
        pd.dealloc()
        again, others = pd_with_number(context, pd.number)
        creates = test.device.seen("create_ah")
        fresh = again.create_ah(gid)
        assert test.device.seen("create_ah") - creates == 1, "no CREATE_AH for the new owner of the PD number"
        live = [ah for ah in test.device.live("ah") if ah["gid"] == vefa.full(gid)]
        assert [(ah["id"], ah["pd"]) for ah in live] == [(fresh.number, again.number)]
        fresh.destroy()
        for other in [again, *others]:
            other.dealloc()
    assert test.device.live("ah") == [], "a handle is left on the device"
    module.reload()
    assert not test.log.matching("WARNING"), "the unloading warned"


def pd_with_number(context, number):
    """A PD that has a given number, and those that came before it."""
    others = []
    while len(others) < 100:
        pd = context.alloc_pd()
        if pd.number == number:
            return pd, others
        others.append(pd)
    raise AssertionError(f"the device does not hand out PD {number} again")


def creating_and_destroying_at_once(test):
    """A7: threads on the same few GIDs; the device refuses a second handle for one key."""
    seconds = test.pick(10, 60)
    end = time.monotonic() + seconds
    errors = []

    def work(context, pd, offset):
        count = 0
        try:
            while time.monotonic() < end or count < LEAST_ROUNDS:
                pd.create_ah(uverbs.gid(10 + (count + offset) % 3)).destroy()
                count += 1
        except OSError as error:
            errors.append(error)

    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        threads = [threading.Thread(target=work, args=(context, pd, number)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pd.dealloc()
    assert not errors, f"{errors[0]}"


def many_peers(test):
    """A8: handles to many peers; no operation gets slower, and no memory stays."""
    total = test.pick(4000, 60000)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        creating, destroying = fill_and_empty(pd, total)
        # What is allocated once and kept is not a leak: a second round must not need more.
        before = memory()
        fill_and_empty(pd, total)
        lost, slab = (now - then for now, then in zip(memory(), before))
        pd.dealloc()
    for name, times in (("create", creating), ("destroy", destroying)):
        early, late = typical(times[total // 10:4 * total // 10]), typical(times[-3 * total // 10:])
        assert late < 2 * early, f"{name}: {early * 1e6:.0f} us with few peers, {late * 1e6:.0f} us with many"
    if checkers.there():  # KASAN holds back what is freed; kmemleak is asked when the machine has done all its tests
        return
    # An entry of the cache takes 192 bytes: less than those of the short round.
    assert slab < 512 << 10, f"{slab >> 10} KiB of slabs stay"
    assert lost < 8 << 20, f"{lost >> 10} KiB are gone"


def fill_and_empty(pd, total):
    """Creates handles to `total` peers, then destroys them. The seconds of each operation."""
    handles, creating, destroying = [], [], []
    for number in range(total):
        creating.append(timed(lambda: handles.append(pd.create_ah(uverbs.gid(100 + number)))))
    for handle in handles:
        destroying.append(timed(handle.destroy))
    return creating, destroying


def timed(call):
    start = time.monotonic()
    call()
    return time.monotonic() - start


def typical(times):
    """What an operation takes when nothing else gets in its way: a busy host delays many of them."""
    return sorted(times)[len(times) // 10]


def memory():
    """Bytes that the kernel has for itself, and those of slabs among them: not what is free, a process's or a file's."""
    time.sleep(0.5)  # grace periods end
    subprocess.run(["sh", "-c", "echo 3 > /proc/sys/vm/drop_caches"], check=True)
    with open("/proc/meminfo", encoding="ascii") as info:
        kib = {line.split(":")[0]: int(line.split()[1]) for line in info}
    others = sum(kib[name] for name in ("MemFree", "Buffers", "Cached", "AnonPages"))
    return (kib["MemTotal"] - others) * 1024, kib["Slab"] * 1024
