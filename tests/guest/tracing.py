# SPDX-License-Identifier: GPL-2.0
"""The driver's tracepoints as the kernel's own trace file shows them."""

import errno
import os
import re
import threading

import comp_cntr
import events
import module
import uverbs
from endpoint import pair
from uapi import error_of
from vefa import full

TRACEFS = "/sys/kernel/tracing"
LINE = re.compile(r"\[\d+\] +\S+ +(?P<seconds>[\d.]+): (?P<name>efa_\w+): (?P<device>[\w:.]+): (?P<text>.*)")
OPCODE = re.compile(r"(?P<command>[A-Z_]+) id=")
VALUE = re.compile(r"(\w+)=(\S+)(?: \(([^)]*)\))?")


NUMBER = re.compile(r"-?(0x[0-9a-f]+|\d+)")


class Event:
    """One event: its name, the device, its fields as attributes, and the words that explain some of them."""

    def __init__(self, match):
        self.name, self.device, self.text = match["name"], match["device"], match["text"]
        found = OPCODE.match(self.text)
        self.command = found["command"].lower() if found else None
        self.words = {}
        for key, value, words in VALUE.findall(self.text):
            setattr(self, key, int(value, 0) if NUMBER.fullmatch(value) else value)
            self.words[key] = words

    def __repr__(self):
        return f"{self.name}: {self.text}"


class Trace:
    """Listens to all events of the driver, or to one kind of them."""

    def __init__(self, event=None):
        self.switch = f"events/efa/{event}/enable" if event else "events/efa/enable"
        write("tracing_on", "1")
        write("trace", "")
        write(self.switch, "1")

    def stop(self):
        """Listens no longer; what was heard."""
        write(self.switch, "0")
        return self.heard()

    def take(self):
        """What was heard so far, and is forgotten then."""
        heard = self.heard()
        write("trace", "")
        return heard

    def heard(self):
        with open(f"{TRACEFS}/trace", encoding="ascii") as file:
            lines = list(file)
        return [Event(match) for match in map(LINE.search, lines) if match]


def write(name, text):
    with open(f"{TRACEFS}/{name}", "w", encoding="ascii") as file:
        file.write(text)


def named(events_heard, *names):
    return [event for event in events_heard if event.name in names]


def every_command_is_seen(test):
    """Each command that the device saw is submitted and completed once, with its name, id and status."""
    since = test.device.next_seq()
    trace = Trace()
    test.function.unbind()
    test.function.bind()
    with pair(test, first={"channel": True}) as (one, two):
        two.receive()
        one.send(two)
        one.wait()
        one.qp.query()
        counter = comp_cntr.Counter(one.context)
        counter.attach(one.qp, comp_cntr.SEND)
        counter.modify(comp_cntr.SET, 0, 1)
        one.replace_qp()
        counter.close()
    test.function.counter("tx_pkts", port=True)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        test.device.fail("create_ah", status="resource_busy")
        try:
            pd.create_ah(uverbs.gid(1))
        except OSError:
            pass
        pd.dealloc()
    heard = trace.stop()
    seen = [entry for entry in test.device.log(since) if "id" in entry]
    submitted = [(event.command, event.id) for event in named(heard, "efa_admin_submit")]
    assert submitted == [(entry["command"], entry["id"]) for entry in seen], f"{submitted}\n{seen}"
    completed = [
        (event.command, event.id, event.words["status"].replace(" ", "_")) for event in named(heard, "efa_admin_complete")
    ]
    assert completed == [(entry["command"], entry["id"], entry["status"]) for entry in seen], f"{completed}\n{seen}"
    assert len({command for command, _ in submitted}) > 20, f"few kinds of commands: {submitted}"
    assert all(event.latency_ns > 0 for event in named(heard, "efa_admin_complete"))
    assert {event.device for event in heard} == {test.function.address}


def latency_is_that_of_the_command(test):
    """A command that the device completes late has that latency, the next one has not."""
    delay_ms = 300
    with uverbs.Context(test.function.uverbs()) as context:
        test.device.fault("alloc_pd", "delay", ms=delay_ms)
        trace = Trace()
        pd = context.alloc_pd()
        pd.dealloc()
        slow, fast = named(trace.stop(), "efa_admin_complete")
    assert (slow.command, fast.command) == ("alloc_pd", "dealloc_pd")
    assert slow.latency_ns >= delay_ms * 1_000_000, slow
    assert fast.latency_ns < slow.latency_ns, fast


def timeout_is_seen(test):
    """A command that is never completed has a timeout in place of a completion."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        test.device.fault("create_ah", "mute")
        trace = Trace()
        try:
            pd.create_ah(uverbs.gid(1))
            raise AssertionError("a command on a mute device succeeded")
        except OSError:
            pass
        heard = [event for event in trace.stop() if event.name.startswith("efa_admin_")]
    submitted, given_up = heard
    assert (submitted.name, given_up.name) == ("efa_admin_submit", "efa_admin_timeout"), heard
    assert (given_up.command, given_up.id) == ("create_ah", submitted.id), heard
    assert given_up.latency_ns >= 2_000_000_000, given_up
    test.device.clear_faults()
    test.function.unbind()
    test.function.bind()


def device_events_are_seen(test):
    """Asynchronous events with group and syndrome; completion events with the numbers of EQ and CQ."""
    trace = Trace()
    test.device.event("warning", 0x17)
    test.device.event("notification", 0x2A)
    with pair(test, second={"channel": True}) as (one, two):
        number = two.cq.index
        two.ring.arm()
        two.receive()
        one.send(two)
        assert events.event_comes(two.channel)
        one.wait()
        two.wait()
        two.ring.events += 1
        queues = {entry["id"] for entry in test.device.live("eq")}
    heard = trace.stop()
    reported = [event for event in named(heard, "efa_aenq") if event.words["group"] != "keep-alive"]
    assert [(event.words["group"], event.syndrome) for event in reported] == [("warning", 0x17), ("notification", 0x2A)]
    (completion,) = named(heard, "efa_eq")
    assert (completion.type, completion.cqn) == (0, number), completion
    assert completion.eqn in queues, f"{completion}, there are {queues}"


def resets_are_seen(test):
    """Unbinding and binding reset the device once each, and say why and how it went."""
    trace = Trace()
    test.function.unbind()
    test.function.bind()
    resets = named(trace.stop(), "efa_reset")
    assert [(event.words["reason"], event.result) for event in resets] == [("normal", 0)] * 2, resets
    test.function.unbind()
    test.device.fail("create_eq")
    trace = Trace()
    try:
        test.function.bind()
        raise AssertionError("a device that refuses an event queue was taken")
    except OSError:
        pass
    resets = named(trace.stop(), "efa_reset")
    test.function.bind()
    assert [(event.words["reason"], event.result) for event in resets] == [("normal", 0), ("failed probe", 0)], resets


def nothing_is_on_by_itself(test):
    """No event is on before somebody asks for it, and none after."""
    for name in os.listdir(f"{TRACEFS}/events/efa"):
        path = f"{TRACEFS}/events/efa/{name}/enable"
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                assert file.read().strip() == "0", f"{name} is on"
    trace = Trace()
    trace.stop()
    trace.take()  # a keep-alive may have come while they were on
    with uverbs.Context(test.function.uverbs()) as context:
        context.alloc_pd().dealloc()
    assert not trace.heard()


def handles_are_seen(test):
    """Each act of the cache is one event, with PD, GID, number, users and latency."""
    gid = uverbs.gid(1)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        trace = Trace()
        handles = [pd.create_ah(gid) for _ in range(3)]
        number = handles[0].number
        for handle in handles[:2]:
            handle.destroy()
        test.device.fail("destroy_ah")
        handles[2].destroy()
        again = pd.create_ah(gid)
        again.destroy()
        test.device.fail("create_ah")
        assert error_of(lambda: pd.create_ah(gid)) == errno.EINVAL
        heard = trace.stop()
        pd.dealloc()
    cache = [event for event in heard if event.name.startswith("efa_ah_")]
    assert {(event.pd, event.gid) for event in cache} == {(pd.number, full(gid))}
    acts = [
        ("efa_ah_miss",),
        ("efa_ah_create", number, 1),
        ("efa_ah_hit", number, 2, "at once"),
        ("efa_ah_hit", number, 3, "at once"),
        ("efa_ah_failure", number, "DESTROY_AH", -errno.EINVAL),
        ("efa_ah_hit", number, 1, "parked"),
        ("efa_ah_destroy", number, 0),
        ("efa_ah_miss",),
        ("efa_ah_failure", 0, "CREATE_AH", -errno.EINVAL),
    ]
    assert [act(event) for event in cache] == acts, cache
    for event in named(cache, "efa_ah_create", "efa_ah_destroy", "efa_ah_failure"):
        assert event.latency_ns > 0, event


def act(event):
    """What an event of the cache says happened, without PD, GID and time."""
    if event.name == "efa_ah_miss":
        return (event.name,)
    if event.name == "efa_ah_failure":
        return event.name, event.ah, event.words["opcode"], event.error
    words = [event.words["how"]] if event.name == "efa_ah_hit" else []
    return event.name, event.ah, event.users, *words


def waiting_for_a_handle_is_a_hit(test):
    """Who waits while another thread creates the handle has a hit that says so."""
    test.device.fault("create_ah", "delay", ms=1000)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        trace = Trace()
        made = []
        threads = [threading.Thread(target=lambda: made.append(pd.create_ah(uverbs.gid(1)))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        heard = trace.stop()
        for handle in made:
            handle.destroy()
        pd.dealloc()
    (hit,) = named(heard, "efa_ah_hit")
    assert (hit.words["how"], hit.users) == ("waited", 2), hit
    (create,) = named(heard, "efa_ah_create")
    assert create.latency_ns >= 1_000_000_000, create


def module_goes_while_it_is_traced(test):
    """The module is removed while somebody listens and processes use the device: what was heard can be read
    without it, and a module that comes back is not listened to."""
    for _ in range(test.pick(2, 20)):
        stop = threading.Event()

        def use():
            while not stop.is_set():
                try:
                    with uverbs.Context(test.function.uverbs()) as context:
                        context.alloc_pd().create_ah(uverbs.gid(1))
                except (OSError, TypeError):  # the device, or its node, is not there now
                    pass

        trace = Trace()
        users = [threading.Thread(target=use) for _ in range(3)]
        for user in users:
            user.start()
        uverbs.Context(test.function.uverbs()).close()
        try:
            module.unload()
            assert not os.path.exists(f"{TRACEFS}/events/efa"), "events of a module that is gone"
            with open(f"{TRACEFS}/trace", encoding="ascii") as file:
                file.read()
            module.load()
        finally:
            stop.set()
            for user in users:
                user.join()
        with open(f"{TRACEFS}/events/efa/enable", encoding="ascii") as file:
            assert file.read().strip() == "0", "the new module is listened to"
        assert not named(trace.stop(), "efa_admin_submit"), "heard of a module that nobody listened to"
