# SPDX-License-Identifier: GPL-2.0
"""How long a driver takes to come, to go, and to clean up after a process. In milliseconds of the guest's clock."""

import ctypes
import os
import signal
import time

import bench
import uverbs

INSERT_MODULE, REMOVE_MODULE = 313, 176  # system calls
SAMPLES, QUEUE_PAIRS = 9, 256
WARM_UPS = 3
LIBC = ctypes.CDLL(None, use_errno=True)


@bench.benchmark
def life(_test):
    """From insmod to a registered device, from rmmod to its end, and the exit of a process with queue pairs."""
    bench.load_needed()
    found = {line: {"c": [], "rust": []} for line in ("insmod", "rmmod", "exit_256_qps")}
    for _ in range(SAMPLES):
        for driver in ("c", "rust"):
            found["insmod"][driver].append(milliseconds(lambda: insert(bench.DRIVERS[driver])))
            # Emulation translates code as it comes: a driver that was just loaded pays for that by its size.
            for _ in range(WARM_UPS):
                exit_time()
            found["exit_256_qps"][driver].append(exit_time())
            found["rmmod"][driver].append(milliseconds(remove))
    return found


def milliseconds(action):
    start = time.monotonic()
    action()
    return (time.monotonic() - start) * 1000


def insert(path):
    """Probing is done when this returns."""
    fd = os.open(path, os.O_RDONLY)
    try:
        system_call(INSERT_MODULE, fd, b"", 0)
    finally:
        os.close(fd)
    assert bench.node(), "no device"


def remove():
    system_call(REMOVE_MODULE, b"efa", os.O_NONBLOCK)


def system_call(*arguments):
    if LIBC.syscall(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def exit_time():
    """How long a process takes to end that is killed with all its queue pairs open."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        be_a_process_with_queue_pairs(write_end)
    os.close(write_end)
    assert os.read(read_end, 1) == b"r", "the process could not make its queue pairs"
    os.close(read_end)
    return milliseconds(lambda: end(child))


def be_a_process_with_queue_pairs(write_end):
    context = uverbs.Context(bench.node())
    pd, cq = context.alloc_pd(), context.create_cq(64)
    kept = [pd.create_qp(cq) for _ in range(QUEUE_PAIRS)]
    os.write(write_end, b"r" if len(kept) == QUEUE_PAIRS else b"")
    signal.pause()


def end(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
