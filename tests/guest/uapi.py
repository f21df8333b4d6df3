# SPDX-License-Identifier: GPL-2.0
"""Requests and responses of verbs calls, byte by byte: what is refused, padded, cut, given back."""

import contextlib
import errno
import ipaddress
import os

import memory
import requests
import uverbs

GET_CONTEXT_CORE, GET_CONTEXT_DRIVER = 8, 24
OBJECT_CORE, OBJECT_DRIVER = 4, 8


class Room:
    """Memory for a response, `length` bytes up to a page that cannot be written."""

    def __init__(self, length):
        self.length = length
        self.pages = memory.Memory(2 * memory.PAGE)
        self.pages.protect(0, start=memory.PAGE)
        self.address = self.pages.address + memory.PAGE - length
        self.pages.write(memory.PAGE - length, b"\xaa" * length)

    def bytes(self):
        return self.pages[memory.PAGE - self.length : memory.PAGE]


def error_of(call):
    """The errno with which a call fails, or 0."""
    try:
        call()
    except OSError as error:
        return error.errno
    return 0


def alloc_pd(context, response, response_length=OBJECT_CORE + OBJECT_DRIVER, more=b""):
    room = response_length - OBJECT_CORE
    return error_of(lambda: requests.ALLOC_PD.send(context.fd, {}, more, room, response.address))


def create_ah(context, pd, response, response_length=OBJECT_CORE + OBJECT_DRIVER, more=b""):
    gid = ipaddress.IPv6Address(uverbs.gid(1)).packed
    core = {"pd": pd.handle, "gid": gid, "hop_limit": 64, "is_global": 1, "port": 1}
    room = response_length - OBJECT_CORE
    return error_of(lambda: requests.CREATE_AH.send(context.fd, core, more, room, response.address))


@contextlib.contextmanager
def opened(test):
    fd = os.open(test.function.uverbs(), os.O_RDWR | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def open_context(fd, response, response_length, more=b""):
    request = requests.GET_CONTEXT.driver.pack(supported_caps=3) + more
    room = response_length - GET_CONTEXT_CORE
    result = error_of(lambda: requests.GET_CONTEXT.send(fd, {}, request, room, response.address))
    if result == 0:
        os.close(requests.GET_CONTEXT.answer.unpack(response.bytes()).async_fd)
    return result


def unknown_requests_are_refused(test):
    """PDs and AHs have no private request: zeroes are none, anything else is EOPNOTSUPP."""
    room = Room(OBJECT_CORE + OBJECT_DRIVER)
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        for make, counter in (
            (lambda more: alloc_pd(context, room, more=more), "alloc_pd_err"),
            (lambda more: create_ah(context, pd, room, more=more), "create_ah_err"),
        ):
            errors = test.function.counter(counter)
            assert make(bytes(8)) == 0
            assert test.function.counter(counter) == errors, f"{counter} counts a success"
            assert make(bytes(7) + b"\x01") == errno.EOPNOTSUPP
            assert test.function.counter(counter) == errors + 1, counter


def opening_takes_longer_requests(test):
    """A library newer than the driver may say more when it opens the device."""
    room = Room(GET_CONTEXT_CORE + GET_CONTEXT_DRIVER)
    with opened(test) as fd:
        assert open_context(fd, room, len(room.bytes()), more=b"\xff" * 16) == 0


def responses_are_cut_and_padded(test):
    """An older library gets the start of a response, a newer one zeroes behind it."""
    full = Room(GET_CONTEXT_CORE + GET_CONTEXT_DRIVER)
    with opened(test) as fd:
        assert open_context(fd, full, len(full.bytes())) == 0
    known = full.bytes()[GET_CONTEXT_CORE:]
    assert any(known), "the response is empty"
    for length in (8, 16, GET_CONTEXT_DRIVER + 32):
        room = Room(GET_CONTEXT_CORE + length)
        with opened(test) as fd:
            assert open_context(fd, room, len(room.bytes())) == 0
        expected = known[:length].ljust(length, b"\x00")
        assert room.bytes()[GET_CONTEXT_CORE:] == expected, f"{length} bytes of room"


def unwritable_response_leaves_nothing(test):
    """EFAULT, one error counted, and the device has taken the object back."""
    with uverbs.Context(test.function.uverbs()) as context, opened(test) as fd:
        pd = context.alloc_pd()
        cases = (
            ("alloc_pd_err", OBJECT_CORE, lambda room: alloc_pd(context, room)),
            ("create_ah_err", OBJECT_CORE, lambda room: create_ah(context, pd, room)),
            (
                "alloc_ucontext_err",
                GET_CONTEXT_CORE,
                lambda room: open_context(fd, room, GET_CONTEXT_CORE + GET_CONTEXT_DRIVER),
            ),
        )
        for counter, core_length, make in cases:
            errors, objects = test.function.counter(counter), test.device.objects()
            assert make(Room(core_length)) == errno.EFAULT, counter
            assert test.function.counter(counter) == errors + 1, counter
            assert test.device.objects() == objects, f"{counter}: {test.device.objects()}"


def unknown_limits_are_refused(test):
    """A device with limits does not open for a library that does not know each of them."""
    uverbs.Context(test.function.uverbs(), supported_caps=3).close()
    for caps in (0, 1, 2):
        errors = test.function.counter("alloc_ucontext_err")
        try:
            uverbs.Context(test.function.uverbs(), supported_caps=caps).close()
            result = 0
        except OSError as error:
            result = error.errno
        assert result == errno.EOPNOTSUPP, f"caps {caps}: errno {result}"
        assert test.function.counter("alloc_ucontext_err") == errors + 1
