# SPDX-License-Identifier: GPL-2.0
"""The kernel log."""

import os


def write(text):
    """Puts a line of our own into the log."""
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write(f"{text}\n")


class Log:
    """What the kernel says from the moment this is made."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        self.lines = []

    def read(self):
        """All lines so far."""
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return self.lines
            except BrokenPipeError:
                continue  # old records were overwritten before they were read
            self.lines.append(record.split(";", 1)[1].split("\n")[0])

    def matching(self, text):
        return [line for line in self.read() if text in line]
