# SPDX-License-Identifier: GPL-2.0
"""Memory as it is on a machine that is up for long: much is free, and none of it in large pieces."""

import contextlib
import fcntl
import os
import struct

import memory
from memory import HUGE, PAGE
from tracing import TRACEFS, write

POPULATE = 0x8000
ORDER = 9  # of 2 MiB
COMPACTION = "events/compaction/mm_compaction_try_to_compact_pages"  # by who asks for memory
LIST_LIMIT = 1024  # of /dev/udmabuf
SPARE = 64 << 20  # for the programs that run meanwhile
HUGE_PAGES = "/proc/sys/vm/nr_hugepages"


@contextlib.contextmanager
def fragmented():
    """No piece of 2 MiB is to be had, and none can be made free by moving pages: each has one that is pinned."""
    whole = huge_pages()
    pins = pin_a_page_of_each_piece()
    try:
        take_whole_pieces()
        yield
    finally:
        set_huge_pages(whole)
        for pin in pins:
            os.close(pin)


def pin_a_page_of_each_piece():
    """Files that keep one page of each 2 MiB, of nearly all memory that is free."""
    file = os.memfd_create("pages", os.MFD_ALLOW_SEALING)
    length = (fields("/proc/meminfo")["MemFree"] * 1024 - SPARE) // HUGE * HUGE
    os.posix_fallocate(file, 0, length)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    region = memory.Memory(length, flags=memory.SHARED | POPULATE, prot=memory.READ, fd=file)
    # The one that is kept of a piece, by the number of that.
    kept = {place // HUGE: number * PAGE for number, place in enumerate(region.all_physical())}
    region.close()
    offsets = list(kept.values())
    pins = [pinned(file, offsets[start : start + LIST_LIMIT]) for start in range(0, len(offsets), LIST_LIMIT)]
    os.close(file)
    return pins


def take_whole_pieces():
    """Takes what is still in one piece, and what can be made one by moving pages."""
    before = -1
    while huge_pages() > before:
        before = huge_pages()
        with open("/proc/sys/vm/compact_memory", "w", encoding="ascii") as compact:
            compact.write("1")
        set_huge_pages(1 << 20)


def pinned(file, offsets):
    """A dma-buf of these pages of a file, which are pinned while it is open."""
    request = struct.pack("<II", 1, len(offsets))
    request += b"".join(struct.pack("<IIQQ", file, 0, offset, PAGE) for offset in offsets)
    control = os.open("/dev/udmabuf", os.O_RDWR)
    try:
        return fcntl.ioctl(control, 0x40087543, bytearray(request))
    finally:
        os.close(control)


def huge_pages():
    with open(HUGE_PAGES, encoding="ascii") as pool:
        return int(pool.read())


def set_huge_pages(count):
    with open(HUGE_PAGES, "w", encoding="ascii") as pool:
        pool.write(str(count))


@contextlib.contextmanager
def compactions():
    """A function that says how often somebody who asked for 2 MiB or more had to wait, since other memory was moved."""
    write(f"{COMPACTION}/filter", f"order >= {ORDER}")
    write("tracing_on", "1")
    write("trace", "")
    write(f"{COMPACTION}/enable", "1")
    try:
        yield heard
    finally:
        write(f"{COMPACTION}/enable", "0")
        write(f"{COMPACTION}/filter", "0")


def heard():
    with open(f"{TRACEFS}/trace", encoding="ascii") as trace:
        return sum(os.path.basename(COMPACTION) in line for line in trace)


def fields(path):
    with open(path, encoding="ascii") as file:
        lines = (line.replace(":", " ").split() for line in file)
        return {line[0]: int(line[1]) for line in lines}
