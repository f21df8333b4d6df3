# SPDX-License-Identifier: GPL-2.0
"""The control socket of a virtual device, reached through a serial port."""

import ipaddress

import serial_line

ANSWER_SECONDS = 20
# Serial ports that lead to devices; further devices of a machine can only be used, not asked.
CONTROL_PORTS = 2


class Refused(Exception):
    """The device does not carry out a request."""


class Device:
    """The control connection of virtual device number `index`."""

    def __init__(self, index=0):
        self.line = serial_line.Line(f"/dev/ttyS{2 + index}")

    def ask(self, op, **fields):
        self.line.send({"op": op, **fields})
        answer = self.line.receive(ANSWER_SECONDS)
        if not answer.pop("ok"):
            raise Refused(f"{op}: {answer.get('error')}")
        return answer

    def counters(self):
        return self.ask("counters")["counters"]

    def seen(self, *commands):
        """How many of each command the device has been sent. One number for one command."""
        counts = self.counters()["commands"]
        numbers = tuple(counts.get(command, {}).get("seen", 0) for command in commands)
        return numbers[0] if len(commands) == 1 else numbers

    def objects(self, detail=False):
        return self.ask("objects", detail=detail)["objects"]

    def live(self, kind):
        """The live objects of one kind (`pd`, `ah`, `uar`, `eq`), each with its owner."""
        return [entry for entry in self.ask("objects", detail=True)["detail"] if entry["kind"] == kind]

    def next_seq(self):
        """The sequence number of the command log's next entry."""
        return self.ask("log", since=2**63)["next"]

    def log(self, since=0):
        return self.ask("log", since=since)["log"]

    def violations(self, clear=False):
        return self.ask("violations", clear=clear)["violations"]

    def fault(self, command, action, nth=1, count=1, **more):
        return self.ask("fault", command=command, action=action, nth=nth, count=count, **more)["fault"]

    def fail(self, command, nth=1, count=1, status="unknown_error"):
        """Lets a command fail with a status."""
        return self.fault(command, "status", nth=nth, count=count, status=status)

    def faults(self):
        return self.ask("faults")["faults"]

    def clear_faults(self):
        self.ask("clear_faults")

    def work_fault(self, action, nth=1, count=1, **more):
        """Lets a work request that is to come go wrong."""
        self.ask("work_fault", action=action, nth=nth, count=count, **more)

    def network(self, **what):
        """What happens to packets that the device sends: reorder, lose, repeat, delay_ms, unreachable."""
        self.ask("network", **what)

    def hold_completions(self, on, **which):
        self.ask("hold_completions", on=on, **which)

    def reach(self):
        """What guest memory the device knows, and a digest of what is in it: by (what, number, address)."""
        known = self.ask("reach")["reach"]
        return {(entry["of"], entry.get("id"), entry["address"]): entry["digest"] for entry in known}

    def completion_event(self, eq, cq):
        """An event of a completion queue, whether or not there is one of that number."""
        self.ask("completion_event", eq=eq, cq=cq)

    def event(self, group, syndrome=0):
        self.ask("event", group=group, syndrome=syndrome)

    def keep_alive(self, on):
        self.ask("keep_alive", on=on)

    def set(self, **keys):
        self.ask("set", **keys)

    def refuse(self, gid, status="illegal_parameter"):
        self.ask("refuse", gid=full(gid), status=status)

    def accept(self, gid):
        self.ask("accept", gid=full(gid))

    def reset_stats(self):
        self.ask("reset_stats")


def full(gid):
    """A GID in the form the device's messages use."""
    return ipaddress.IPv6Address(gid).exploded
