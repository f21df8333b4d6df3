# SPDX-License-Identifier: GPL-2.0
"""The kernel log."""

import os

# A level of the kernel's; what is worse has a smaller one.
WARNING = 4


def write(text):
    """Puts a line of our own into the log."""
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write(f"{text}\n")


class Log:
    """What the kernel says from the moment this is made; `alarms` are the warnings, and what is worse."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        self.lines = []
        self.alarms = []

    def read(self):
        """All lines so far."""
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return self.lines
            except BrokenPipeError:
                continue  # old records were overwritten before they were read
            prefix, text = record.split(";", 1)
            self.lines.append(text.split("\n")[0])
            if int(prefix.split(",")[0]) & 7 <= WARNING:
                self.alarms.append(self.lines[-1])

    def matching(self, text):
        return [line for line in self.read() if text in line]
