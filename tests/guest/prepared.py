# SPDX-License-Identifier: GPL-2.0
"""Requests that are encoded once and then sent again and again, in the way that rdma-core sends them."""

import ctypes
import struct

import ioctl
import meter

DEVICE, INVOKE_WRITE = 0, 0
CORE_IN, CORE_OUT, COMMAND = 0, 1, 2
EXTENDED = 1 << 31


class Prepared:
    """One request of requests.py as an ioctl(). Its first answer and its handle can be told to a Step."""

    def __init__(self, fd, request, core, driver=None):
        self.fd, self.request = fd, request
        self.skip = 8 if request.answer and not request.extended else 0
        answer, driver = request.answer, request.driver.pack(**(driver or {}))
        attributes = [
            (CORE_IN, bytes(self.skip) + request.core.pack(**core)),
            (COMMAND, ioctl.Const(request.number | EXTENDED * request.extended)),
        ]
        if answer:
            attributes.append((CORE_OUT, ioctl.Out(answer.size)))
        if driver:
            attributes.append((ioctl.UHW_IN, driver))
        if request.driver_answer.size:
            attributes.append((ioctl.UHW_OUT, ioctl.Out(request.driver_answer.size)))
        self.message = ioctl.Message(DEVICE, INVOKE_WRITE, [pair for pair in attributes if pair[1] != b""])

    def field(self, name):
        """The address of a field of the request's core part."""
        names = self.request.core.names
        before = struct.calcsize("<" + "".join(self.request.core.kinds[: names.index(name)]))
        return self.message.address(CORE_IN) + self.skip + before

    def answer(self):
        """The address of the answer, which starts with the handle of what was made. An answer of up to 8 bytes is
        not where the message says, but where that points."""
        return self.message.word(self.message.places[CORE_OUT])

    def step(self, handle_to=None, count=None, limit=1):
        """The system call. `handle_to` is the address of the word that gets the handle of what it made; `count` is
        that of a word to count up, modulo `limit`."""
        source = self.answer() if handle_to else None
        step = meter.Step(
            ioctl.RDMA_VERBS_IOCTL, ctypes.addressof(self.message.buffer), 0, source, handle_to, count, limit, self.fd
        )
        step.of = self  # whose memory it is
        return step
