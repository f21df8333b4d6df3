# SPDX-License-Identifier: GPL-2.0
"""What objects other than address handles cost to make and to destroy."""

import contextlib
import ctypes

import bench
import fragmentation
import ioctl
import memory
import meter
import queues
import requests
import uverbs
from prepared import Command, File, Prepared, closing, opening, pair

ROUNDS = 3
OBJECTS, CONTEXTS = 200, 100
CQ_DEPTH, QP_DEPTH = 64, 32
DEVICE, GET_CONTEXT = 0, 3  # the method that rdma-core opens a context with
NO_FORK, NO_HUGE_PAGES = 10, 15  # of madvise()
# Length, flags of the mapping, and how often it is registered, by the end of the line's name.
REGIONS = {
    "4k": (4 << 10, 0, 200),
    "2m": (2 << 20, 0, 100),
    "2m_huge": (2 << 20, memory.HUGETLB, 200),
    "1g": (1 << 30, 0, 1),
    "1g_huge": (1 << 30, memory.HUGETLB, 20),
}


@bench.benchmark
def objects(_test):
    return bench.by_line(bench.compare(measure_objects, ROUNDS))


def measure_objects():
    with meter.Meter() as counter:
        found = {"open_close": bench.cost(counter, open_and_close(), CONTEXTS)}
        with uverbs.Context(bench.node()) as context:
            pd, cq = context.alloc_pd(), context.create_cq(CQ_DEPTH)
            steps = {"pd_pair": pd_pair(context), "cq_pair": cq_pair(context), "qp_pair": qp_pair(pd, cq)}
            found.update({line: bench.cost(counter, of_line, OBJECTS) for line, of_line in steps.items()})
    return found


def open_and_close():
    file, request = File(), requests.GET_CONTEXT
    attributes = [
        (ioctl.UHW_IN, request.driver.pack(supported_caps=3)),
        (ioctl.UHW_OUT, ioctl.Out(request.driver_answer.size)),
    ]
    create = Prepared(file, ioctl.Message(DEVICE, GET_CONTEXT, attributes))
    return [opening(bench.node(), file), create.step(), closing(file)]


def pd_pair(context):
    file = File(context.fd)
    return pair(Command(file, requests.ALLOC_PD), Command(file, requests.DEALLOC_PD))


def cq_pair(context):
    file, request = File(context.fd), ioctl.CREATE_CQ
    answer = ioctl.Out(request.driver_answer.size)
    message = request.message({"cqe": CQ_DEPTH}, {"cq_entry_size": 16, "num_sub_cqs": 1}, ioctl.Out(4), answer)
    handle = ctypes.addressof(message.buffer) + message.places[0]
    return pair(Prepared(file, message, handle), Command(file, requests.DESTROY_CQ))


def qp_pair(pd, cq):
    file = File(pd.context.fd)
    core = {
        "pd": pd.handle, "send_cq": cq.handle, "recv_cq": cq.handle, "max_send_wr": QP_DEPTH, "max_recv_wr": QP_DEPTH,
        "max_send_sge": 1, "max_recv_sge": 1, "qp_type": uverbs.DRIVER,
    }
    driver = {"rq_ring_size": QP_DEPTH * queues.RECV_BYTES, "sq_ring_size": QP_DEPTH * 64}
    return pair(Command(file, requests.CREATE_QP, core, driver), Command(file, requests.DESTROY_QP))


@bench.benchmark
def regions(_test):
    # The same pages for both: which ones follow each other in the machine's memory decides how much there is to do.
    with contextlib.ExitStack() as places:
        mapped = {name: places.enter_context(contextlib.closing(place(*REGIONS[name][:2]))) for name in REGIONS}
        return bench.by_line(bench.compare(lambda: measure_regions(mapped), ROUNDS))


def place(length, flags):
    region = memory.Memory(length, memory.PRIVATE | memory.ANONYMOUS | flags)
    region.advise(NO_FORK)  # or pages that the meter's process shares would be copied when they are pinned
    if not flags:
        region.advise(NO_HUGE_PAGES)
    return region


@bench.benchmark
def region_on_fragmented_machine(test):
    # Before memory is in pieces: that is about the page list, and not about the region itself.
    with contextlib.closing(place(*REGIONS["1g"][:2])) as region:
        for piece in range(0, region.length, memory.HUGE):
            region.write(piece, bytes(memory.HUGE))
        with fragmentation.fragmented():
            since = test.device.next_seq()
            found = bench.by_line(bench.compare(lambda: measure_regions({"1g_fragmented": region}), ROUNDS))
            forms = {str(entry["list"]) for entry in test.device.log(since) if "list" in entry}
            assert all("indirect" in form for form in forms), f"there was a large piece for a list: {forms}"
            return found


def measure_regions(mapped):
    with uverbs.Context(bench.node()) as context, meter.Meter() as counter:
        pd = context.alloc_pd()
        return {
            f"mr_{name}_pair": bench.cost(counter, region_pair(pd, region), times(name)) for name, region in mapped.items()
        }


def times(name):
    """How often a region is registered, by the end of its line's name."""
    return REGIONS[name.removesuffix("_fragmented")][2]


def region_pair(pd, region):
    file = File(pd.context.fd)
    core = {
        "start": region.address, "length": region.length, "iova": region.address, "pd": pd.handle,
        "access": uverbs.LOCAL_WRITE,
    }
    return pair(Command(file, requests.REG_MR, core), Command(file, requests.DEREG_MR))
