# SPDX-License-Identifier: GPL-2.0
"""The verbs requests that the RDMA core takes by ioctl(): methods of objects, with attributes.

The numbers are those of the kernel's include/uapi/rdma/{ib_user_ioctl_cmds,efa-abi}.h.
"""

import ctypes
import fcntl
import struct

from wire import Layout

RDMA_VERBS_IOCTL = 3 << 30 | 24 << 16 | 0x1B << 8 | 1
DRIVER_EFA = 17
MANDATORY = 1
HEADER = 24
DRIVER_NAMESPACE = 1 << 12

DEVICE, CQ, QP, MR, COMP_CNTR = 0, 3, 4, 7, 19
UHW_IN, UHW_OUT = DRIVER_NAMESPACE, DRIVER_NAMESPACE + 1


class Out:
    """Room for an attribute that the kernel writes, here or at an address."""

    def __init__(self, length, at=None):
        self.memory = ctypes.create_string_buffer(max(length, 1))
        self.length = length
        self.address = ctypes.addressof(self.memory) if at is None else at

    def number(self):
        return int.from_bytes(self.memory.raw, "little")


class Handle(int):
    """The handle of an object, or, with a negative one, the place for a new object's."""


class Fd(int):
    """A file descriptor."""


class Const(int):
    """A number that the kernel takes as 64 bits."""


class Message:
    """A call of a method, encoded. `attributes` are pairs of an id and a Handle, an Fd, a Const, an Out or bytes."""

    def __init__(self, obj, method, attributes):
        self.kept, self.places, self.new = [], {}, None
        encoded = b""
        for index, (number, value) in enumerate(attributes):
            length, data = self.encode(value)
            if isinstance(value, Handle) and value < 0:
                self.new = index
            self.places[number] = HEADER + len(encoded) + 8
            encoded += struct.pack("<HHHHQ", number, length, MANDATORY, 0, data)
        size = HEADER + len(encoded)
        header = struct.pack("<HHHHQII", size, obj, method, len(attributes), 0, DRIVER_EFA, 0)
        self.buffer = ctypes.create_string_buffer(header + encoded, size)

    def encode(self, value):
        """The length and the data of an attribute."""
        if isinstance(value, Handle):
            return 0, max(value, 0)
        if isinstance(value, Fd):
            return 0, value & (1 << 64) - 1
        if isinstance(value, Const):
            return 8, value & (1 << 64) - 1
        if isinstance(value, Out):
            self.kept.append(value)
            return value.length, value.address
        if len(value) <= 8:
            return len(value), int.from_bytes(value, "little")
        memory = ctypes.create_string_buffer(value, len(value))
        self.kept.append(memory)
        return len(value), ctypes.addressof(memory)

    def address(self, number):
        """Where the data of an attribute is: in the message, or, if it is long, where the message points."""
        place = self.places[number]
        length = struct.unpack_from("<H", self.buffer, place - 6)[0]
        return self.word(place) if length > 8 else ctypes.addressof(self.buffer) + place

    def word(self, place):
        return struct.unpack_from("<Q", self.buffer, place)[0]

    def send(self, fd):
        """The handle of the object it made, or None. OSError with the errno where it fails."""
        fcntl.ioctl(fd, RDMA_VERBS_IOCTL, self.buffer)
        return None if self.new is None else struct.unpack_from("<I", self.buffer, HEADER + 16 * self.new + 8)[0]


def call(fd, obj, method, attributes):
    """Calls a method; what Message says."""
    return Message(obj, method, attributes).send(fd)


def port_speed(context):
    """The speed of the port, in units of 100 Mbit/s."""
    speed = Out(8)
    call(context.fd, DEVICE, 7, [(0, Const(1)), (1, speed)])
    return speed.number()


def write(context, request, core, private=b""):
    """Sends a request that write() takes, and has an answer, by ioctl(), which takes it all the same."""
    # Such a request begins with the address of its answer, which does not count here.
    attributes = [(0, bytes(8) + request.core.pack(**core)), (1, Out(request.answer.size)), (2, Const(request.number))]
    if private:
        attributes.append((UHW_IN, private))
    call(context.fd, DEVICE, 0, attributes)


def buffer(address, length, kind=1, fd=-1, flags=0):
    """A description of a buffer; kind 0 is a dma-buf, 1 user memory."""
    return struct.pack("<IiIIQQ", kind, fd, flags, 0, address, length)


class CreateCq:
    """The creation of a CQ, in the form of a request of requests.py: drivers with a verb for CQs of user
    space have it by ioctl alone."""

    core = Layout("user_handle:Q cqe:I comp_vector:I comp_channel:i flags:I")
    driver = Layout("comp_mask:I cq_entry_size:I num_sub_cqs:H flags:B reserved:5s")
    answer = Layout("handle:I cqe:I")
    driver_answer = Layout(
        "comp_mask:I reserved:4s q_mmap_key:Q q_mmap_size:Q index:H reserved2:2s db_off:I db_mmap_key:Q"
    )

    def send(self, fd, core, driver=None, room=None, at=None, more=()):
        """As Request.send; `at` is where the driver's answer goes, `more` are further attributes."""
        room = self.driver_answer.size if room is None else room
        cqe, answer = Out(4), Out(room, at)
        handle = self.message(core, driver, cqe, answer, more).send(fd)
        core_answer = self.answer.unpack(struct.pack("<II", handle, cqe.number()))
        return core_answer, self.driver_answer.unpack(answer.memory.raw[:room])

    def message(self, core, driver, cqe, answer, more=()):
        """The request, encoded. `cqe` and `answer` are room for the core's and the driver's answer."""
        values = self.core.unpack(self.core.pack(**{"comp_channel": -1, **core}))
        driver = self.driver.pack(**(driver or {})) if not isinstance(driver, bytes) else driver
        attributes = [
            (0, Handle(-1)), (1, struct.pack("<I", values.cqe)), (2, struct.pack("<Q", values.user_handle)),
            (4, struct.pack("<I", values.comp_vector)), (5, struct.pack("<I", values.flags)), (6, cqe),
        ]
        if values.comp_channel >= 0:
            attributes.append((3, Fd(values.comp_channel)))
        if driver:
            attributes.append((UHW_IN, driver))
        if answer.length:
            attributes.append((UHW_OUT, answer))
        return Message(CQ, 0, [*attributes, *more])


CREATE_CQ = CreateCq()


class CompCntr:
    """A completion counter: the device counts into two words of user memory."""

    def __init__(self, context, comp, err):
        self.context = context
        attributes = [(0, Handle(-1)), (DRIVER_NAMESPACE, comp), (DRIVER_NAMESPACE + 1, err)]
        self.handle = call(context.fd, COMP_CNTR, 0, attributes)

    def destroy(self):
        call(self.context.fd, COMP_CNTR, 1, [(0, Handle(self.handle))])

    def modify(self, entry, op, value):
        attributes = [(0, Handle(self.handle)), (1, Const(entry)), (2, Const(op)), (3, struct.pack("<Q", value))]
        call(self.context.fd, COMP_CNTR, 2, attributes)

    def attach(self, qp, op_mask):
        attributes = [(0, Handle(qp.handle)), (1, Handle(self.handle)), (2, struct.pack("<I", op_mask))]
        call(self.context.fd, QP, 2, attributes)


def interconnects(context, mr):
    """What the driver says of an MR's interconnects: validity bits and three ids."""
    outs = [Out(2) for _ in range(4)]
    ids = [(DRIVER_NAMESPACE + 1 + index, out) for index, out in enumerate(outs)]
    call(context.fd, MR, DRIVER_NAMESPACE, [(DRIVER_NAMESPACE, Handle(mr.handle)), *ids])
    return [out.number() for out in outs]


def register_dmabuf(pd, fd, offset, length, iova, access):
    """Registers a dma-buf; (handle, lkey, rkey)."""
    lkey, rkey = Out(4), Out(4)
    numbers = [(2, offset), (3, length), (4, iova)]
    attributes = [(0, Handle(-1)), (1, Handle(pd.handle))]
    attributes += [(number, struct.pack("<Q", value)) for number, value in numbers]
    attributes += [(5, struct.pack("<i", fd)), (6, struct.pack("<I", access)), (7, lkey), (8, rkey)]
    return call(pd.context.fd, MR, 4, attributes), lkey.number(), rkey.number()
