# SPDX-License-Identifier: GPL-2.0
"""JSON lines over a serial port."""

import json
import os
import select
import termios
import tty


class Line:
    """One end of a serial line, raw and without echo."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.fd)
        attributes = termios.tcgetattr(self.fd)
        attributes[4] = attributes[5] = termios.B115200
        attributes[2] |= termios.CLOCAL
        termios.tcsetattr(self.fd, termios.TCSANOW, attributes)
        termios.tcflush(self.fd, termios.TCIFLUSH)
        self.rest = bytearray()

    def send(self, message):
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.fd, data):]

    def receive(self, timeout=None):
        """The next line's object. TimeoutError when nothing comes for `timeout` seconds: a long line takes its time."""
        searched = 0
        while (end := self.rest.find(b"\n", searched)) < 0:
            searched = len(self.rest)
            ready, _, _ = select.select([self.fd], [], [], timeout)
            if not ready:
                raise TimeoutError("no answer on the serial line")
            self.rest += os.read(self.fd, 65536)
        line = self.rest[:end]
        del self.rest[:end + 1]
        return json.loads(line)
