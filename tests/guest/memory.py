# SPDX-License-Identifier: GPL-2.0
"""Memory of a process that a device reads and writes."""

import ctypes
import mmap
import os
import struct

PAGE = mmap.PAGESIZE
HUGE = 2 << 20
GIGANTIC = 1 << 30
ANONYMOUS, FIXED, SHARED, PRIVATE, HUGETLB = 0x20, 0x10, 0x01, 0x02, 0x40000
READ, WRITE = 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_LIBC.mremap.restype = ctypes.c_void_p
_LIBC.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def checked(result):
    if result in (-1, ctypes.c_void_p(-1).value):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


class Memory:
    """A mapping of whole pages, of which `length` bytes from `address` on are used."""

    def __init__(self, length, flags=PRIVATE | ANONYMOUS, prot=READ | WRITE, fd=-1, offset=0, at=None):
        self.length = length
        self.mapped = -(-length // PAGE) * PAGE
        self.address = checked(_LIBC.mmap(at, self.mapped, prot, flags | (FIXED if at else 0), fd, offset))

    def __getitem__(self, part):
        return ctypes.string_at(self.address + part.start, part.stop - part.start)

    def write(self, offset, data):
        ctypes.memmove(self.address + offset, data, len(data))

    def protect(self, prot, start=0):
        checked(_LIBC.mprotect(self.address + start, self.mapped - start, prot))

    def advise(self, advice):
        checked(_LIBC.madvise(self.address, self.mapped, advice))

    def move(self, address):
        checked(_LIBC.mremap(self.address, self.mapped, self.mapped, 3, address))  # MREMAP_MAYMOVE | MREMAP_FIXED
        self.address = address

    def physical(self):
        """Where the first page, which was touched, is in the machine's memory."""
        return self.all_physical(1)[0]

    def all_physical(self, count=None):
        """The same of the first pages, or of all."""
        count = count or self.mapped // PAGE
        with open("/proc/self/pagemap", "rb") as pagemap:
            pagemap.seek(self.address // PAGE * 8)
            entries = struct.unpack(f"<{count}Q", pagemap.read(count * 8))
        return [(entry & (1 << 55) - 1) * PAGE for entry in entries]

    def close(self):
        if self.address:
            checked(_LIBC.munmap(self.address, self.mapped))
            self.address = 0


class Aliased(Memory):
    """A large region over the few pages of one file, which follow each other again and again."""

    def __init__(self, length, pages=509):
        super().__init__(length, prot=0)
        self.fd = os.memfd_create("aliased")
        self.period = pages * PAGE
        os.ftruncate(self.fd, self.period)
        for start in range(0, self.mapped, self.period):
            size = min(self.period, self.mapped - start)
            checked(_LIBC.mmap(self.address + start, size, READ | WRITE, SHARED | FIXED, self.fd, 0))

    def close(self):
        super().close()
        os.close(self.fd)


def pinned():
    """How many bytes of this process's memory are pinned for devices."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmPin:"))


def huge_pages(count):
    """Memory in transparent huge pages, as far as the kernel has them."""
    spare = Memory((count + 1) * HUGE)
    start = -(-spare.address // HUGE) * HUGE
    region = Memory(count * HUGE, at=start)
    region.advise(14)  # MADV_HUGEPAGE
    for page in range(count):
        region.write(page * HUGE, b"\x01")
    return region


class Gigantic(Memory):
    """Pages of 1 GiB in the order in which they are in the machine's memory; aligned to all of them together."""

    def __init__(self, count):
        with open("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", encoding="ascii") as pool:
            assert int(pool.read()) >= count, f"the machine has no {count} pages of 1 GiB"
        size = count * GIGANTIC
        super().__init__(2 * size, prot=0)
        self.length = size
        self.reserved, self.address = self.address, -(-self.address // size) * size
        pages = [Memory(GIGANTIC, flags=PRIVATE | ANONYMOUS | HUGETLB | 30 << 26) for _ in range(count)]
        for page in pages:
            page.write(0, b"\x01")
        pages.sort(key=Memory.physical)
        self.in_one_piece = all(
            page.physical() == pages[0].physical() + number * GIGANTIC for number, page in enumerate(pages)
        )
        for number, page in enumerate(pages):
            page.move(self.address + number * GIGANTIC)

    def close(self):
        self.address = self.reserved
        super().close()


class Scattered(Memory):
    """Small pages, of which no two that follow each other do so in the machine's memory."""

    def __init__(self, pages):
        super().__init__(pages * PAGE)
        self.fd = os.memfd_create("scattered")
        os.ftruncate(self.fd, 2 * self.mapped)
        os.posix_fallocate(self.fd, 0, 2 * self.mapped)
        for page in range(pages):
            # Every other page of a file, whose pages may well follow each other.
            at = self.address + page * PAGE
            checked(_LIBC.mmap(at, PAGE, READ | WRITE, SHARED | FIXED, self.fd, 2 * page * PAGE))

    def close(self):
        super().close()
        os.close(self.fd)
