# SPDX-License-Identifier: GPL-2.0
"""The driver's files in debugfs."""

import collections
import errno
import os
import threading
import time

import module
import uverbs
from ah_cache import wait_until
from uapi import error_of
from vefa import full

ROOT = "/sys/kernel/debug/efa"
# Part of the line about an interrupt that is lost.
NO_INTERRUPT = "didn't receive any MSI-X interrupt"


def path(test, name):
    return f"{ROOT}/{test.function.address}/{name}"


def text(test, name):
    with open(path(test, name), encoding="ascii") as file:
        return file.read()


def numbers(test, name):
    """A file of names and values."""
    return {key: int(value) if value.isdigit() else value for key, value in map(str.split, text(test, name).splitlines())}


def rows(table):
    """The lines of the cache's table: (pd, gid, ah, users, state)."""
    head, *lines = table.splitlines()
    assert head.split() == ["pd", "gid", "ah", "users", "state"], head
    return [(int(pd), gid, int(ah), int(users), state) for pd, gid, ah, users, state in map(str.split, lines)]


def table_shows_every_handle(test):
    """A line for each (PD, GID), with the device's number and as many users as there are handles."""
    assert rows(text(test, "ah_cache")) == []
    with uverbs.Context(test.function.uverbs()) as context:
        pds = [context.alloc_pd(), context.alloc_pd()]
        handles, expected = [], []
        for users, (pd, number) in enumerate(((pds[0], 1), (pds[0], 2), (pds[1], 1)), 1):
            same = [pd.create_ah(uverbs.gid(number)) for _ in range(users)]
            expected.append((pd.number, full(uverbs.gid(number)), same[0].number, users, "live"))
            handles += same
        assert sorted(rows(text(test, "ah_cache"))) == sorted(expected)
        assert numbers(test, "ah_counters")["entries"] == 3
        handles.pop(0).destroy()
        assert sorted(rows(text(test, "ah_cache"))) == sorted(expected[1:])
        for handle in handles:
            handle.destroy()
        assert rows(text(test, "ah_cache")) == []
        for pd in pds:
            pd.dealloc()


def table_tells_parked_and_busy(test):
    """What the device refused to destroy is parked; what a command runs for is busy."""
    gid = uverbs.gid(1)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handle = pd.create_ah(gid)
        number = handle.number
        test.device.fail("destroy_ah")
        handle.destroy()
        assert rows(text(test, "ah_cache")) == [(pd.number, full(gid), number, 0, "parked")]
        handle = pd.create_ah(gid)
        assert rows(text(test, "ah_cache")) == [(pd.number, full(gid), number, 1, "live")]
        handle.destroy()
        test.device.fault("create_ah", "delay", ms=1000)
        made = []
        thread = threading.Thread(target=lambda: made.append(pd.create_ah(gid)))
        seen = test.device.seen("create_ah")
        thread.start()
        while test.device.seen("create_ah") == seen:
            time.sleep(0.01)
        (row,) = rows(text(test, "ah_cache"))
        assert (row[:2], row[3:]) == ((pd.number, full(gid)), (0, "busy")), row
        thread.join()
        made[0].destroy()
        pd.dealloc()


def totals_are_those_of_the_device(test):
    """The cache's counters agree with what the device was sent, and with what was asked of the cache."""
    def device():
        counts = test.device.counters()["commands"]
        return [counts.get(name, {}).get(key, 0) for name in ("create_ah", "destroy_ah") for key in ("ok", "failed")]

    def driver():
        found = numbers(test, "ah_counters")
        return [found[name] for name in ("creates", "create_failures", "destroys", "destroy_failures")]

    before, device_before, driver_before = numbers(test, "ah_counters"), device(), driver()
    rounds = test.pick(20, 500)
    asked = failed = 0
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for number in range(rounds):
            if number % 5 == 0:
                test.device.fail("create_ah")
            if number % 4 == 0:
                test.device.fail("destroy_ah")
            handles = []
            for _ in range(3):
                asked += 1
                try:
                    handles.append(pd.create_ah(uverbs.gid(number % 7)))
                except OSError:
                    failed += 1
            for handle in handles:
                handle.destroy()
            test.device.clear_faults()
        pd.dealloc()
    sent = [now - then for now, then in zip(device(), device_before)]
    counted = [now - then for now, then in zip(driver(), driver_before)]
    assert counted == sent, f"the driver counted {counted}, the device {sent}"
    after = numbers(test, "ah_counters")
    more = {name: after[name] - before[name] for name in after}
    found = more["hits"] + more["waits"] + more["reuses"]
    assert found + more["creates"] == asked - failed, more
    assert more["create_failures"] == failed, more
    assert more["misses"] == more["creates"] + more["create_failures"], more
    assert more["reuses"] > 0 and more["retired"] > 0, more
    assert after["entries"] == 0


def waits_are_counted(test):
    """Threads that meet one CREATE_AH on its way wait for it, and are counted."""
    before = numbers(test, "ah_counters")
    test.device.fault("create_ah", "delay", ms=1000)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        made = []
        threads = [threading.Thread(target=lambda: made.append(pd.create_ah(uverbs.gid(1)))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = numbers(test, "ah_counters")
        more = {name: after[name] - before[name] for name in after}
        assert more["creates"] == 1 and more["misses"] == 1, more
        assert more["waits"] + more["hits"] == 3 and more["waits"] > 0, more
        for handle in made:
            handle.destroy()
        pd.dealloc()


def long_table_is_read_in_pieces(test):
    """A table of many entries: each is there once; and those that stay are there while others come and go."""
    count = test.pick(3000, 60_000)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handles = [pd.create_ah(uverbs.gid(number)) for number in range(count)]
        kept = {handle.number for handle in handles}
        start = time.monotonic()
        listed = [row[2] for row in rows(text(test, "ah_cache"))]
        took = time.monotonic() - start
        assert len(listed) == count and set(listed) == kept, f"{len(listed)} lines for {count} handles"
        assert [row[2] for row in rows(in_bytes(test, 100))] == listed, "another order when it is read in small pieces"

        others = []
        stop = threading.Event()

        def change():
            number = count
            while not stop.is_set():
                others.append(pd.create_ah(uverbs.gid(number)))
                number += 1
                if len(others) > 500:
                    others.pop(0).destroy()

        thread = threading.Thread(target=change)
        thread.start()
        for _ in range(3):
            missing = kept - {row[2] for row in rows(in_bytes(test, 1000))}
            assert not missing, f"{len(missing)} entries were not listed"
        stop.set()
        thread.join()
        for handle in handles + others:
            handle.destroy()
        pd.dealloc()
    return {"entries": count, "seconds": took}


def table_grows_and_shrinks(test):
    """The hash table has buckets for the entries that there are, and gives them back when those go."""
    def buckets():
        return numbers(test, "ah_counters")["buckets"]

    least, count = buckets(), test.pick(3000, 60_000)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handles = [pd.create_ah(uverbs.gid(number)) for number in range(count)]
        assert wait_until(lambda: buckets() > count), f"{buckets()} buckets for {count} entries"
        most = buckets()
        for handle in handles:
            handle.destroy()
        assert wait_until(lambda: buckets() <= least), f"{buckets()} buckets for no entry, {least} at first"
        pd.dealloc()
    return {"entries": count, "least": least, "most": most}


def in_bytes(test, size):
    """The table, read a few bytes at a time."""
    with open(path(test, "ah_cache"), "rb", buffering=0) as file:
        return b"".join(iter(lambda: file.read(size), b"")).decode()


def quarantine_is_listed(test):
    """What the device did not take back is listed until it does."""
    assert text(test, "quarantine").splitlines()[1:] == []
    test.device.fail("dealloc_pd", count=0)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        number = pd.number
        pd.dealloc()

        def listed(*lines):
            # Not while it is tried.
            return wait_until(lambda: [line.split() for line in text(test, "quarantine").splitlines()[1:]] == [*lines])

        assert listed(["PD", str(number)]), text(test, "quarantine")
        test.device.clear_faults()
        assert listed(), text(test, "quarantine")
        assert test.device.objects()["pd"] == 0


def interrupts_that_never_come_cost_a_slice_each(test):
    """After the first that is lost, the next ones are not waited for."""
    count, before = 10, numbers(test, "admin")
    test.device.keep_alive(False)
    with uverbs.Context(test.function.uverbs()) as context:
        test.device.fault("alloc_pd", "drop_interrupt", count=count)
        start = time.monotonic()
        pds = [context.alloc_pd() for _ in range(count)]
        took = time.monotonic() - start
        for pd in pds:
            pd.dealloc()
    test.device.keep_alive(True)
    after = numbers(test, "admin")
    assert after["lost_interrupts"] - before["lost_interrupts"] == count
    # All of them waited for would take ten seconds.
    assert took < 5, f"{took:.1f} s for {count} commands"


def admin_faults_are_counted(test):
    """What else only the log tells: lost and late interrupts, bad completions, unknown events."""
    before = numbers(test, "admin")
    assert before["queue"] == "open"
    test.device.keep_alive(False)  # its interrupt would make up for the one that is lost
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for action in ("drop_interrupt", "wrong_id", "wrong_id"):
            test.device.fault("create_ah", action)
            pd.create_ah(uverbs.gid(1)).destroy()
        pd.dealloc()
        assert len(test.log.matching(NO_INTERRUPT)) == 1, "a lost interrupt is one line"
        for ms in (200, 500):
            test.device.fault("alloc_pd", "late_interrupt", ms=ms)
            context.alloc_pd().dealloc()
    test.device.keep_alive(True)
    after = numbers(test, "admin")
    expected = {"lost_interrupts": 1, "late_interrupts": 2, "bad_completions": 2, "no_completion_cmds": 0}
    more = {name: after[name] - before[name] for name in expected}
    assert more == expected, more
    assert len(test.log.matching(NO_INTERRUPT)) == 1, "a late interrupt is a line"
    assert after["submitted_cmds"] - before["submitted_cmds"] >= 8
    assert after["submitted_cmds"] == after["completed_cmds"]


def timeout_closes_the_queue(test):
    """A command that is not completed is counted, and the queue is closed until the device is bound again."""
    before = numbers(test, "admin")
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        test.device.fault("create_ah", "mute")
        assert error_of(lambda: pd.create_ah(uverbs.gid(1))) == errno.ETIME
        after = numbers(test, "admin")
    assert after["queue"] == "closed"
    assert after["no_completion_cmds"] - before["no_completion_cmds"] == 1
    test.device.clear_faults()
    test.function.unbind()
    test.function.bind()
    assert numbers(test, "admin")["queue"] == "open"


def open_file_survives_an_unbind(test):
    """A file that is open when the device goes: EIO from then on, and only the module must wait for it."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        handles = [pd.create_ah(uverbs.gid(number)) for number in range(200)]
        fd = os.open(path(test, "ah_cache"), os.O_RDONLY)
        try:
            assert os.read(fd, 4096)
            test.function.unbind()
            assert error_of(lambda: os.read(fd, 4096)) == errno.EIO
            assert not os.path.exists(path(test, "ah_cache"))
            try:
                module.unload()
                raise AssertionError("the module went though a file of it is open")
            except OSError as refusal:
                assert "in use" in str(refusal), refusal
            assert handles
        finally:
            os.close(fd)
    module.unload()
    assert not os.path.exists(ROOT)
    module.load()
    assert rows(text(test, "ah_cache")) == []


def reading_races_with_an_unbind(test):
    """Readers that never stop while the device comes and goes."""
    stop = threading.Event()
    failures, reads = [], collections.Counter()

    def read():
        while not stop.is_set():
            for name in ("ah_cache", "ah_counters", "admin", "quarantine"):
                try:
                    text(test, name)
                    reads[name] += 1
                except OSError as error:
                    if error.errno not in (errno.EIO, errno.ENOENT):
                        failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(test.pick(5, 100)):
        test.function.unbind()
        test.function.bind()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    assert len(reads) == 4, f"files that were read while the device was there: {dict(reads)}"


def kernel_may_have_no_debugfs(test):
    """Where debugfs is off the driver works without it."""
    assert not os.path.exists(ROOT)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        pd.create_ah(uverbs.gid(1)).destroy()
        pd.dealloc()
