# SPDX-License-Identifier: GPL-2.0
"""Completion events: channels, event queues and their vectors, and completions that come late."""

import errno
import os
import select
import threading
import time

import ioctl
import pci
import uverbs
from endpoint import Endpoint, pair
from processes import Child
from uapi import Room, error_of

EVENT_BYTES = 8
CPU1 = "/sys/devices/system/cpu/cpu1/online"
# How often, in messages, a sender lets its receiver fall asleep, and for how long.
PAUSE_EVERY = 8
PAUSE_SECONDS = 0.002


def event_comes(channel, seconds=5):
    """Waits for an event of a channel and takes it; whether one came."""
    ready, _, _ = select.select([channel], [], [], seconds)
    if ready:
        os.read(channel, EVENT_BYTES)
    return bool(ready)


def every_vector_brings_events(test):
    """C1: a completion raises one event where the CQ is armed, and none where it is not."""
    with uverbs.Context(test.function.uverbs()) as context:
        vectors = context.num_comp_vectors
    for vector in range(vectors):
        with pair(test, second={"channel": True, "vector": vector}) as (one, two):
            for armed in (True, False, True):
                if armed:
                    two.ring.arm()
                two.receive()
                one.send(two)
                assert one.statuses() == ["ok"]
                two.wait()
                came = event_comes(two.channel, 5 if armed else 0.3)
                assert came == armed, f"vector {vector}: armed {armed}, an event {came}"
                two.ring.events += came


def vectors_are_on_their_cpus(test):
    """Completion vector i is hinted to CPU i, whichever CPUs are on, and the management vector to the first that is."""
    try:
        for on in ("1", "0"):
            pci.write(CPU1, on)
            test.function.unbind()
            test.function.bind()
            with open("/proc/interrupts", encoding="ascii") as table:
                lines = [line.split() for line in table if f"@pci:{test.function.address}" in line]
            hints = {line[-1].split("@")[0]: pci.read(f"/proc/irq/{line[0].rstrip(':')}/affinity_hint") for line in lines}
            found = {name: int(mask.replace(",", ""), 16) for name, mask in hints.items()}
            expected = {f"efa-comp{index}": 1 << index for index in range(len(lines) - 1)}
            assert found == {**expected, "efa-mgmnt": 1}, f"CPU 1 {on}: {found}"
            assert len(lines) >= 3, f"only {len(lines)} vectors"
    finally:
        pci.write(CPU1, "1")
        test.function.unbind()
        test.function.bind()


def no_event_of_a_queue_that_was_not_created(test):
    """An event names a queue whose creation fails just then: it must not reach the channel.

    The answer cannot be written, so the driver gives the queue back, which the device makes take
    long; meanwhile there is an event with its number, as a queue before it may have left one. The
    channel would keep it, and with it a pointer to an object that is freed.
    """
    device = test.device
    with uverbs.Context(test.function.uverbs()) as context:
        channel = context.channel()
        first, errors = device.next_seq(), []
        device.fault("destroy_cq", "delay", ms=1000)

        def create():
            core = {"cqe": 16, "comp_channel": channel}
            driver = {"cq_entry_size": 16, "num_sub_cqs": context.limits.sub_cqs_per_cq, "flags": uverbs.CQ_CHANNEL}
            errors.append(error_of(lambda: ioctl.CREATE_CQ.send(context.fd, core, driver, at=Room(0).address)))

        creation = threading.Thread(target=create)
        creation.start()
        while not (given_back := [entry for entry in device.log(first) if entry["command"] == "destroy_cq"]):
            assert creation.is_alive(), f"it failed before: errno {errors}"
        created = next(entry for entry in device.log(first) if entry["command"] == "create_cq")
        device.completion_event(created["eq"], given_back[0]["cq"])
        creation.join()
        assert errors == [errno.EFAULT], f"errno {errors}"
        assert not event_comes(channel, 0.5), "an event of a queue that nobody has"
        os.close(channel)


def no_event_queue_is_refused(test):
    """C1: a device without event queues: no capability, and a raw request for a channel fails."""
    with uverbs.Context(test.function.uverbs()) as context:
        assert not context.query_device().device_caps & 4, "completion events are announced"
        created = test.device.seen("create_cq")
        channel = context.channel()
        for vector in range(context.num_comp_vectors):
            error = error_of(lambda: context.create_cq(16, channel=channel, vector=vector))
            assert error == errno.EOPNOTSUPP, f"vector {vector}: errno {error}"
        assert test.device.seen("create_cq") == created, "a command was sent"
        os.close(channel)
        context.create_cq(16).destroy()


def vectors_and_queues_agree(test):
    """C2: as many completion vectors as there are event queues, interrupts and processors for them."""
    sizes = [(queues, vectors) for queues in (0, 1, 32) for vectors in (1, 2, 33)]
    assert len(pci.functions()) == len(sizes)
    wrong = []
    for online in (2, 1):
        pci.write(CPU1, str(online - 1))
        for index, (queues, vectors) in enumerate(sizes):
            function = pci.Function(index)
            function.unbind()
            function.bind()
            usable = min(queues, vectors - 1, online)
            with uverbs.Context(function.uverbs()) as context:
                can = bool(context.query_device().device_caps & 4)
                found = (context.num_comp_vectors, can)
            if found != (max(usable, 1), usable > 0):
                wrong.append(f"{queues} queues, {vectors} vectors, {online} CPUs: {found}")
            elif usable and index < len(test.devices):
                event_on_last_vector(function, found[0])
    pci.write(CPU1, "1")
    assert not wrong, "; ".join(wrong)


def event_on_last_vector(function, vectors):
    end = Endpoint(function, channel=True, vector=vectors - 1)
    end.ring.arm()
    end.receive()
    end.send(end)
    assert event_comes(end.channel), f"no event on vector {vectors - 1}"
    end.wait(2)
    end.close()


def no_wake_up_is_lost(test):
    """C3: a receiver that sleeps whenever nothing is there is woken for every message."""
    total = test.pick(1500, 100_000)
    two = Endpoint(test.function, channel=True)
    number, gid = two.qp.number, two.gid

    def send_all(say):
        one = Endpoint(test.function, rnr_retry=7)
        handle = one.pd.create_ah(gid)
        began = time.monotonic()
        for index in range(total):
            if index % PAUSE_EVERY == 0:
                # As long as it took to send: the receiver has the time to find nothing, however slow it all is.
                time.sleep(max(PAUSE_SECONDS, time.monotonic() - began))
                began = time.monotonic()
            one.qp.send_queue.send(handle, number, [one.place()])
            assert one.statuses() == ["ok"]
        say("done")

    for _ in range(8):
        two.receive()
    sender = Child(send_all)
    taken = slept = 0
    while taken < total:
        two.ring.arm()
        found = two.ring.poll()
        if found is None:
            slept += 1
            if not event_comes(two.channel, 10):
                late = two.ring.poll()
                raise AssertionError(f"no event after {taken} messages; a completion was there: {late is not None}")
            two.ring.events += 1
            continue
        assert found.status == "ok", found
        two.receive()
        taken += 1
    assert sender.heard() == "done"
    sender.end()
    assert slept > total // 20, f"slept {slept} times in {total} messages: nothing was tested"
    two.close()


def completions_stay_with_their_qp(test):
    """C4: queue pairs come and go under traffic; none has a completion of the one before it."""
    with pair(test, first={"cq_depth": 1024}) as (one, two):
        numbers = set()
        for round_number in range(test.pick(150, 3000)):
            old = one.qp.number
            tag = round_number % 250 << 8
            for number in range(8):
                one.send(two, req_id=tag | number, ring=number % 4 == 3)  # no receive: some wait
            one.replace_qp()
            while one.ring.poll():
                pass
            numbers.add(one.qp.number)
            assert one.qp.number != old, f"QP number {old} was given out again at once"
            two.receive()
            one.send(two, req_id=tag | 99)
            entry = one.wait()[0]
            assert (entry.qp, entry.req_id, entry.status) == (one.qp.number, tag | 99, "ok"), f"{entry}, old QP {old}"
            assert one.ring.poll() is None, "a second completion on a new QP"
            two.wait()
        assert len(numbers) > 100, f"only {len(numbers)} QP numbers"
