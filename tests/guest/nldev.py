# SPDX-License-Identifier: GPL-2.0
"""What the RDMA core tells any user by netlink: the requests that `rdma statistic` and `rdma resource`
send, without a process for each."""

import socket
import struct

PROTOCOL, NLDEV = 20, 5  # NETLINK_RDMA, and its part with devices
DEVICES, QUEUE_PAIRS, STATISTICS = 1, 10, 17  # enum rdma_nldev_command
REQUEST, DUMP = 1, 0x300
ERROR, DONE = 2, 3
# enum rdma_nldev_attr
DEVICE_INDEX, DEVICE_NAME, PORT_INDEX = 1, 2, 3
RES_QP, LQPN, STATE = 19, 21, 27
DRIVER_DETAILS = 97
HWCOUNTERS, COUNTER_NAME, COUNTER_VALUE = 80, 82, 83


def align(length):
    return (length + 3) & ~3


def attributes(data):
    """The attributes in `data`, in order: type and value."""
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:length]
        data = data[align(length) :]


def number(value):
    return int.from_bytes(value, "little")


class Nldev:
    """A socket to the RDMA core, for one device."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, PROTOCOL)
        self.socket.bind((0, 0))
        devices = [dict(attributes(data)) for data in self.ask(DEVICES, DUMP)]
        (self.index,) = [
            number(device[DEVICE_INDEX]) for device in devices if device[DEVICE_NAME].rstrip(b"\0").decode() == name
        ]

    def ask(self, command, flags=0, **values):
        """Sends a request; the payloads of its answer's messages."""
        kinds = {"device": (DEVICE_INDEX, 4), "port": (PORT_INDEX, 4), "details": (DRIVER_DETAILS, 1)}
        payload = b""
        for name, value in values.items():
            kind, size = kinds[name]
            payload += struct.pack("=HH", 4 + size, kind) + value.to_bytes(align(size), "little")
        header = struct.pack("=IHHII", 16 + len(payload), NLDEV << 10 | command, REQUEST | flags, 0, 0)
        self.socket.send(header + payload)
        answer = []
        while True:
            data = self.socket.recv(1 << 16)
            while data:
                length, kind = struct.unpack_from("=IH", data)
                payload, data = data[16:length], data[align(length) :]
                if kind == ERROR:
                    raise OSError(-struct.unpack_from("=i", payload)[0], "refused by netlink")
                if kind == DONE:
                    return answer
                answer.append(payload)
            if not flags & DUMP:
                return answer

    def port_counters(self):
        """The port's counters by name."""
        (answer,) = self.ask(STATISTICS, device=self.index, port=1)
        entries = [dict(attributes(entry)) for _, entry in attributes(dict(attributes(answer))[HWCOUNTERS])]
        return {entry[COUNTER_NAME].rstrip(b"\0").decode(): number(entry[COUNTER_VALUE]) for entry in entries}

    def queue_pairs(self):
        """The states of all queue pairs by their numbers; with details, else SRD is left out."""
        states = {}
        for answer in self.ask(QUEUE_PAIRS, DUMP, device=self.index, details=1):
            for _, entry in attributes(dict(attributes(answer)).get(RES_QP, b"")):
                found = dict(attributes(entry))
                states[number(found[LQPN])] = number(found[STATE])
        return states
