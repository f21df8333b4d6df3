# SPDX-License-Identifier: GPL-2.0
"""Memory regions: the pages the device is told of are the pages of the process."""

import contextlib
import errno
import fcntl
import os
import resource
import signal
import struct
import time

import fragmentation
import ioctl
import memory
import module
import requests
import uverbs
from endpoint import ALL_ACCESS, Endpoint, pair
from memory import PAGE
from processes import Child, nothing_is_left, pins
from traffic import filled
from uapi import error_of

PAGE_SIZES = 0x1FFFFFF000  # of a virtual device, unless it is told otherwise


def described(test, mr):
    """How REG_MR told the device of a region: page shift, pages, form of the list."""
    recent = test.device.log(max(test.device.next_seq() - 10, 0))  # the whole log is long
    entry = next(entry for entry in reversed(recent) if entry.get("lkey") == mr.lkey and "list" in entry)
    form = entry["list"] if isinstance(entry["list"], str) else next(iter(entry["list"]))
    return entry["page_shift"], entry["pages"], form


def rebound(test, **keys):
    """Gives the device other features, and lets the driver read them."""
    test.function.unbind()
    test.device.set(**keys)
    test.function.bind()


def largest_page_size_is_used(test):
    """M1: the same bytes in 4 KiB and in 2 MiB pages: 512 entries to 1; no size that is not allowed."""
    huge, small = memory.huge_pages(4), memory.Scattered(4 * 512)
    try:
        for sizes, expected in ((0x201000, (21, 4)), (0x11000, (16, 128)), (0x1000, (12, 2048))):
            rebound(test, page_size_cap=sizes)
            with uverbs.Context(test.function.uverbs()) as context:
                pd = context.alloc_pd()
                region, other = pd.reg_mr(huge), pd.reg_mr(small)
                found = described(test, region)[:2]
                assert found == expected, f"sizes {sizes:#x}: 2^{found[0]} bytes, {found[1]} entries"
                found = described(test, other)[:2]
                # An IOMMU makes one range of them for the device.
                expected = expected if test.function.behind_iommu() else (12, 2048)
                assert found == expected, f"small pages: 2^{found[0]} bytes, {found[1]} entries"
                region.dereg()
                other.dereg()
                pd.dealloc()
    finally:
        rebound(test, page_size_cap=PAGE_SIZES)


def no_fitting_page_size_is_refused(test):
    """Small pages on a device that has only large ones."""
    small = memory.Scattered(8)
    try:
        rebound(test, page_size_cap=1 << 21)
        with uverbs.Context(test.function.uverbs()) as context:
            pd = context.alloc_pd()
            errors, sent = test.function.counter("reg_mr_err"), test.device.seen("reg_mr")
            assert error_of(lambda: pd.reg_mr(small)) == errno.EOPNOTSUPP
            assert test.device.seen("reg_mr") == sent, "a command was sent"
            assert test.function.counter("reg_mr_err") == errors + 1
            assert memory.pinned() == 0
            pd.dealloc()
    finally:
        rebound(test, page_size_cap=PAGE_SIZES)


def log_says_why_memory_was_not_pinned(test):
    """Which of the causes of an errno it is: the limit of a process, or an address that is not mapped."""
    small = memory.Memory(8 * PAGE)
    node = test.function.uverbs()

    def limited(say):
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (4 * PAGE, 4 * PAGE))
        os.setuid(65534)
        with uverbs.Context(node) as context:
            say(str(error_of(lambda: context.alloc_pd().reg_mr(small))))

    with uverbs.Context(node) as context:
        pd, mode = context.alloc_pd(), os.stat(node).st_mode
        os.chmod(node, 0o666)
        child = Child(limited)
        assert child.heard() == str(errno.ENOMEM)
        child.end()
        os.chmod(node, mode)
        assert test.log.matching("over the limit of locked memory"), "nothing of the limit"
        hole = memory.Memory(PAGE, prot=0)
        assert error_of(lambda: pd.reg_mr(hole)) == errno.EFAULT
        assert test.log.matching("not mapped, or read-only"), "nothing of the address"
        pd.dealloc()


def killed_process_is_named(test):
    """A process that is killed while its memory is pinned: that is what the log says."""
    said = "the process was killed meanwhile"
    for attempt in range(40):

        def register(say):
            with uverbs.Context(test.function.uverbs()) as context:
                large = memory.Memory(256 << 20)
                pd = context.alloc_pd()
                say("now")
                pd.reg_mr(large)

        child = Child(register)
        assert child.heard() == "now"
        time.sleep(0.01 * (attempt % 10))
        with contextlib.suppress(AssertionError):  # it may have been quicker
            child.end(signal.SIGKILL)
        if test.log.matching(said):
            return
    raise AssertionError(f"no line with {said!r}")


def full_iommu_is_named(test):
    """The IOMMU has no addresses left: ENOMEM, and the log says so. With some given back it works again."""
    huge, regions = memory.huge_pages(16), []
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        error = 0
        while not error and len(regions) < 200:
            error = error_of(lambda: regions.append(pd.reg_mr(huge)))
        assert error == errno.ENOMEM, f"errno {error} after {len(regions)} regions"
        for region in regions:
            region.dereg()
        pd.reg_mr(huge).dereg()
        pd.dealloc()
    assert not test.log.matching("ulimit"), "the limit of locked memory is blamed"
    assert test.log.matching("the IOMMU has no addresses left"), "nothing of the IOMMU"


def page_lists_of_every_length(test):
    """M2: lists at the limits of each form; the device walks them and finds the right bytes."""
    walk_lists(test, {4: "inline", 5: "direct", 512: "direct", 513: "direct", 1024: "direct"})


def indirect_lists_of_every_length(test):
    """M2: the same, and a list that needs a second chunk, by indirect lists alone."""
    module.unload()
    module.load(indirect_page_lists=1)
    try:
        counts = [1, 5, 512, 513, 1024, *test.pick([], [511 * 510]), 261_120, 261_121]
        walk_lists(test, {count: "indirect" for count in counts})
    finally:
        module.unload()
        module.load()


def lists_wait_for_no_compaction(test):
    """A list for which there is no piece of memory is made in small pieces at once: no other memory is moved for it."""
    pages = (1 << 30) // PAGE  # a list of 2 MiB
    rebound(test, page_size_cap=PAGE)
    region = memory.Aliased(pages * PAGE)
    try:
        with uverbs.Context(test.function.uverbs()) as context, fragmentation.fragmented():
            pd = context.alloc_pd()
            with fragmentation.compactions() as waited:
                mr = pd.reg_mr(region)
                assert described(test, mr) == (12, pages, "indirect"), described(test, mr)
                mr.dereg()
                assert not waited(), "it was waited until memory was moved"
            pd.dealloc()
    finally:
        region.close()
        rebound(test, page_size_cap=PAGE_SIZES)


def walk_lists(test, forms):
    rebound(test, page_size_cap=PAGE)  # or an IOMMU makes fewer pages of them
    try:
        walk_small_pages(test, forms)
    finally:
        rebound(test, page_size_cap=PAGE_SIZES)


def walk_small_pages(test, forms):
    with pair(test) as (one, two):
        for count, expected in forms.items():
            region = memory.Aliased(count * PAGE) if count > 2048 else memory.Scattered(count)
            own = min(count, 509) if count > 2048 else count
            for page in range(own):
                region.write(page * PAGE, struct.pack("<Q", page * 0x9E3779B9))
            mr = one.pd.reg_mr(region)
            shift, pages, form = described(test, mr)
            assert (shift, pages, form) == (12, count, expected), f"{count} pages: 2^{shift}, {pages} of them, {form}"
            for page in sorted({0, 1, 3, 4, 510, 511, 512, 513, count // 2, 261_119, 261_120, count - 2, count - 1}):
                if 0 <= page < count:
                    check_page(one, two, mr, region, page)
            mr.dereg()
            region.close()


def check_page(one, two, mr, region, page):
    """The bytes around the start of a page, as the device finds them."""
    start = max(page * PAGE - 8, 0)
    length = page * PAGE + 8 - start
    two.receive()
    one.qp.send_queue.send(one.handle(two), two.qp.number, [(region.address + start, length, mr.lkey)])
    assert one.statuses() == ["ok"], f"page {page}"
    two.wait()
    assert two.get(length) == region[start : start + length], f"page {page}: other bytes"


def read_only_memory(test):
    """M3: as a source, and for remote reads; to register it for writing is EFAULT."""
    data = filled(PAGE)
    with pair(test) as (one, two):
        source = memory.Memory(PAGE)
        source.write(0, data)
        source.protect(memory.READ)
        assert error_of(lambda: one.pd.reg_mr(source, uverbs.LOCAL_WRITE)) == errno.EFAULT
        for access in (0, uverbs.REMOTE_READ):
            mr = one.pd.reg_mr(source, access)
            two.receive()
            one.qp.send_queue.send(one.handle(two), two.qp.number, [(source.address, PAGE, mr.lkey)])
            assert one.statuses() == ["ok"]
            two.wait()
            assert two.get(PAGE) == data, f"access {access}"
            if access:
                two.qp.send_queue.rdma(
                    1, two.handle(one), one.qp.number, two.place(3, PAGE), (source.address, mr.rkey)
                )
                assert two.statuses() == ["ok"]
                assert two.get(PAGE, slot=3) == data
            mr.dereg()


def region_by_another_name(test):
    """A region is found by the address it was given, not by the process's."""
    data = filled(300)
    with pair(test) as (one, two):
        region = memory.Memory(3 * PAGE)
        region.write(PAGE - 100, data)
        for iova in (0, 1 << 63, PAGE * 7):
            mr = uverbs.Mr(one.pd, region.address, region.length, ALL_ACCESS, iova=iova)
            two.receive()
            one.qp.send_queue.send(one.handle(two), two.qp.number, [(iova + PAGE - 100, 300, mr.lkey)])
            assert one.statuses() == ["ok"], hex(iova)
            two.wait()
            assert two.get(300) == data, hex(iova)
            mr.dereg()


def forked_child_writes_its_own(test):
    """M5: registered memory stays the parent's when a child writes to its copy."""
    data = filled(4096)
    with pair(test) as (one, two):
        one.put(data)

        def write(say):
            for slot in (0, 1):
                one.put(b"child" * 800, slot)
            two.put(b"child" * 800)
            say("written")

        child = Child(write)
        assert child.heard() == "written"
        two.receive()
        one.send(two, length=4096)
        assert one.statuses() == ["ok"]
        two.wait()
        assert two.get(4096) == data, "other bytes were sent or seen"
        child.end()
        data = filled(4096)
        one.put(data)
        two.receive()
        one.send(two, length=4096)
        assert one.statuses() == ["ok"]
        two.wait()
        assert two.get(4096) == data, "after the child's end: other bytes"


def dma_buffers(test):
    """M4: a dma-buf at page and at other offsets; a bad file; the file closed before the region."""
    pinned, before = pins(), test.device.objects()
    pages = 16
    with pair(test) as (one, two):
        backing = os.memfd_create("backing", os.MFD_ALLOW_SEALING)
        os.ftruncate(backing, pages * PAGE)
        data = filled(pages * PAGE)
        os.pwrite(backing, data, 0)
        seal(backing)
        sent = test.device.seen("reg_mr")
        for bad, size, expected in (
            (9999, PAGE, errno.EBADF), (backing, PAGE, errno.EINVAL), (-1, PAGE, errno.EBADF), (-1, 0, errno.EBADF),
        ):
            error = error_of(lambda: ioctl.register_dmabuf(one.pd, bad, 0, size, 0, 1))
            assert error == expected, f"file {bad}, {size} bytes: errno {error}"
        assert test.device.seen("reg_mr") == sent, "a command for a file that is no dma-buf"
        for offset, length in ((0, pages * PAGE), (PAGE, 3 * PAGE), (100, 5000), (PAGE + 17, 2 * PAGE)):
            buffer = udmabuf(backing, pages * PAGE)
            handle, lkey, _ = ioctl.register_dmabuf(one.pd, buffer, offset, length, offset, ALL_ACCESS)
            os.close(buffer)
            for start in (0, length - 64):
                two.receive()
                one.qp.send_queue.send(one.handle(two), two.qp.number, [(offset + start, 64, lkey)])
                assert one.statuses() == ["ok"], f"offset {offset}"
                two.wait()
                expected = data[offset + start : offset + start + 64]
                assert two.get(64) == expected, f"offset {offset}, byte {start}: other bytes"
            deregister(one.context, handle)
        os.close(backing)
    nothing_is_left(test, before, pinned)


def deregister(context, handle):
    requests.DEREG_MR.send(context.fd, {"handle": handle})


def seal(file):
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)


def udmabuf(file, length):
    """A dma-buf of a file's memory."""
    control = os.open("/dev/udmabuf", os.O_RDWR)
    try:
        return fcntl.ioctl(control, 0x40187542, bytearray(struct.pack("<IIQQ", file, 1, 0, length)))
    finally:
        os.close(control)


def interconnects_are_the_devices(test):
    """The driver's own method on a region answers what the device said of it."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd, region = context.alloc_pd(), memory.Memory(PAGE)
        for ids, expected in (((1, 2, 3), [7, 1, 2, 3]), ((9, None, 0xFF), [5, 9, 0, 0xFF])):
            test.device.set(recv_ic_id=ids[0], rdma_read_ic_id=ids[1], rdma_recv_ic_id=ids[2])
            mr = pd.reg_mr(region)
            found = ioctl.interconnects(context, mr)
            assert found == expected, f"{found}, the device said {ids}"
            mr.dereg()
        test.device.set(recv_ic_id=1, rdma_read_ic_id=2, rdma_recv_ic_id=3)
        pd.dealloc()


def pages_above_4_gib(test):
    """M6: 4 GiB in one piece, where a bit of page_size_cap above 31 counts as much as one below."""
    region = memory.Gigantic(4)
    assert region.in_one_piece, "the machine's pages of 1 GiB do not follow each other"
    try:
        for shift in (12, 31, 32):
            rebound(test, page_size_cap=1 << shift | 1 << 12)
            with contextlib.closing(Endpoint(test.function)) as end:
                read_in_pages(test, end, region, shift)
    finally:
        region.close()
        rebound(test, page_size_cap=PAGE_SIZES)


def read_in_pages(test, end, region, shift):
    """Registers a region, which must be in pages of 2^`shift` bytes, and has the device read each GiB of it."""
    places = range(12345, region.length, memory.GIGANTIC)
    for place in places:
        region.write(place, struct.pack("<QQ", place, shift))
    mr = end.pd.reg_mr(region)
    found = described(test, mr)[:2]
    assert found == (shift, region.length >> shift), f"{found[1]} pages of 2^{found[0]} bytes, not 2^{shift}"
    for place in places:
        end.receive()
        end.qp.send_queue.send(end.handle(end), end.qp.number, [(region.address + place, 16, mr.lkey)])
        assert [entry.status for entry in end.wait(2)] == ["ok", "ok"]
        assert end.get(16) == struct.pack("<QQ", place, shift), f"other bytes at {place:#x}"
    mr.dereg()
