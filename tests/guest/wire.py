# SPDX-License-Identifier: GPL-2.0
"""Structures as bytes: little endian, no padding but what is declared."""

import struct
from types import SimpleNamespace


class Layout:
    """A structure. Fields are `name:format`, with the formats of the module `struct`."""

    def __init__(self, fields):
        pairs = [field.split(":") for field in fields.split()]
        self.names = [name for name, _ in pairs]
        self.kinds = [kind for _, kind in pairs]
        self.empty = {name: b"" if kind.endswith("s") else 0 for name, kind in pairs}
        self.format = struct.Struct("<" + "".join(kind for _, kind in pairs))
        self.size = self.format.size

    def pack(self, **values):
        """The bytes of the structure; what is not given is zero."""
        unknown = set(values) - set(self.names)
        if unknown:
            raise TypeError(f"no field {', '.join(sorted(unknown))}")
        return self.format.pack(*{**self.empty, **values}.values())

    def unpack(self, data):
        """The fields, by name. Bytes that are missing at the end count as zero."""
        values = self.format.unpack(bytes(data[: self.size]).ljust(self.size, b"\x00"))
        return SimpleNamespace(**dict(zip(self.names, values)))
