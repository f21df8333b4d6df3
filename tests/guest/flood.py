# SPDX-License-Identifier: GPL-2.0
"""Takes free memory, as other users of the machine would, and sees whether a device writes to it."""

import fcntl
import os

import memory

PATTERN = bytes(range(1, 256)) * 4112  # 1 MiB less a little; no page looks like the next
PIPES_PER_CPU = 64
ANONYMOUS_MIB = 256
F_SETPIPE_SZ = 1031
MIB = 1 << 20


class Flood:
    """Pages of the kernel, in pipes, and pages of this process, all with a pattern.

    Memory that was given back is the first that is given out again, to the same kind of user on
    the same processor: so both kinds are taken, and on each processor.
    """

    def __init__(self):
        self.pipes, self.regions = [], []
        cpus = os.sched_getaffinity(0)
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
            self.pipes += [full_pipe() for _ in range(PIPES_PER_CPU)]
            for _ in range(ANONYMOUS_MIB // len(cpus)):
                region = memory.Memory(MIB)
                region.write(0, PATTERN)
                self.regions.append(region)
        os.sched_setaffinity(0, cpus)

    def changed(self):
        """How many pieces of the memory somebody else has written to. Gives the memory back."""
        changed = 0
        for read_end, write_end in self.pipes:
            os.close(write_end)
            with os.fdopen(read_end, "rb") as pipe:
                changed += pipe.read() != PATTERN
        for region in self.regions:
            changed += region[0 : len(PATTERN)] != PATTERN
            region.close()
        return changed


def full_pipe():
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, F_SETPIPE_SZ, MIB)
    assert os.write(write_end, PATTERN) == len(PATTERN), "the pipe is too small"
    return read_end, write_end
