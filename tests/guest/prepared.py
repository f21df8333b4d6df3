# SPDX-License-Identifier: GPL-2.0
"""Requests that are encoded once and then sent again and again, in the way that rdma-core sends them."""

import ctypes
import struct

import ioctl
import meter

DEVICE, INVOKE_WRITE = 0, 0
CORE_IN, CORE_OUT, COMMAND = 0, 1, 2
EXTENDED = 1 << 31


class File:
    """The number of an open file, where a Step finds it."""

    def __init__(self, fd=-1):
        self.cell = ctypes.c_int32(fd)

    @property
    def address(self):
        return ctypes.addressof(self.cell)


class Prepared:
    """A message that asks for something, and may be answered with a handle, of the open file `file`."""

    def __init__(self, file, message, handle=None):
        self.file, self.message, self.handle = file, message, handle

    def step(self, handle_to=None, count=None, limit=1):
        """The system call. `handle_to` is the address of the word that gets the handle of what it made; `count` is
        that of a word to count up, modulo `limit`."""
        return meter.Step(
            what=meter.IOCTL, limit=limit, request=ioctl.RDMA_VERBS_IOCTL,
            data=ctypes.addressof(self.message.buffer), fd=self.file.address,
            source=self.handle if handle_to else None, target=handle_to, count=count,
        ).keep(self)


class Command(Prepared):
    """One request of requests.py."""

    def __init__(self, file, request, core=None, driver=None):
        self.request = request
        # Where a request by write() has the address of the answer.
        self.skip = 8 if request.answer and not request.extended else 0
        self.out = ioctl.Out(request.answer.size if request.answer else 0)
        attributes = [
            (CORE_IN, bytes(self.skip) + request.core.pack(**(core or {}))),
            (COMMAND, ioctl.Const(request.number | EXTENDED * request.extended)),
        ]
        if request.answer:
            attributes.append((CORE_OUT, self.out))
        if request.driver.size:
            attributes.append((ioctl.UHW_IN, request.driver.pack(**(driver or {}))))
        if request.driver_answer.size:
            attributes.append((ioctl.UHW_OUT, ioctl.Out(request.driver_answer.size)))
        # All answers begin with a handle, where they have one.
        super().__init__(file, ioctl.Message(DEVICE, INVOKE_WRITE, attributes), self.out.address)

    def field(self, name):
        """The address of a field of the request's core part."""
        names = self.request.core.names
        before = struct.calcsize("<" + "".join(self.request.core.kinds[: names.index(name)]))
        return self.message.address(CORE_IN) + self.skip + before


def pair(create, destroy):
    """The steps that make an object and destroy it."""
    return [create.step(handle_to=destroy.field("handle")), destroy.step()]


def opening(path, file):
    """The step that opens a file."""
    path = ctypes.create_string_buffer(path.encode())
    return meter.Step(what=meter.OPEN, data=ctypes.addressof(path), fd=file.address).keep(path, file)


def closing(file):
    """The step that closes a file."""
    return meter.Step(what=meter.CLOSE, fd=file.address).keep(file)
