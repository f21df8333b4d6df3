# SPDX-License-Identifier: GPL-2.0
"""Counting what requests cost in guest instructions, on a machine whose clock counts them.

On such a machine the time stamp counter advances by one with each instruction, and also while the
processor idles, which depends on the host. So it is never let idle: a process that runs only when
nothing else does counts its own rounds, which are then subtracted. What is left is every
instruction of the kernel and of the calling process, interrupts included.
"""

import ctypes
import mmap
import os
import signal

LIBRARY = "/mnt/bench/measure.so"
CALIBRATION_ROUNDS = 10_000
IOCTL, OPEN, CLOSE = range(3)


class Step(ctypes.Structure):
    """One system call, as in tests/bench/measure.c."""

    _fields_ = [
        ("what", ctypes.c_uint32), ("limit", ctypes.c_uint32), ("request", ctypes.c_uint64),
        ("data", ctypes.c_void_p), ("fd", ctypes.c_void_p), ("source", ctypes.c_void_p),
        ("target", ctypes.c_void_p), ("count", ctypes.c_void_p),
    ]

    def keep(self, *objects):
        """Keeps the memory that the addresses are in."""
        self.kept = objects
        return self


class Meter:
    """Measures system calls. To be used with `with`: it has a process of its own."""

    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY)
        self.library.measure.restype = ctypes.c_int64
        self.library.calibrate.restype = ctypes.c_uint64
        self.spins = mmap.mmap(-1, mmap.PAGESIZE)
        self.spins_at = ctypes.addressof(ctypes.c_uint64.from_buffer(self.spins))
        self.child = 0

    def __enter__(self):
        # The least of some: in the others there was an interrupt.
        least = min(self.library.calibrate(ctypes.c_uint64(CALIBRATION_ROUNDS)) for _ in range(10))
        ticks = least / (2 * CALIBRATION_ROUNDS)
        assert 0.999 < ticks < 1.001, f"the time stamp counter advances by {ticks:.4f} an instruction"
        self.child = os.fork()
        if self.child == 0:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            self.library.spin(ctypes.c_void_p(self.spins_at))
        return self

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)

    def cost(self, steps, rounds):
        """Instructions of one round of the steps, the mean of so many rounds."""
        array = (Step * len(steps))(*steps)
        spent = self.library.measure(array, len(steps), rounds, ctypes.c_void_p(self.spins_at))
        if spent < 0:
            raise OSError(-spent, os.strerror(-spent))
        return spent / rounds
