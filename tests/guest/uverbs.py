# SPDX-License-Identifier: GPL-2.0
"""The kernel's verbs interface without a library between.

rdma-core checks some arguments itself, hides the errno of others and the numbers the driver
answers. These few commands go straight to the uverbs device, so that a test sees what the driver
does. The layouts are those of the kernel's include/uapi/rdma/{ib_user_verbs,efa-abi}.h.
"""

import ctypes
import ipaddress
import os
import struct

GET_CONTEXT, ALLOC_PD, DEALLOC_PD, CREATE_AH, DESTROY_AH = 0, 3, 4, 5, 8


class Context:
    """An open device."""

    def __init__(self, node, supported_caps=3):
        self.fd = os.open(node, os.O_RDWR | os.O_CLOEXEC)
        try:
            answer = self.command(GET_CONTEXT, struct.pack("<II", supported_caps, 0), 8 + 24, respond=True)
        except OSError:
            os.close(self.fd)
            raise
        self.async_fd, self.num_comp_vectors = struct.unpack_from("<II", answer)
        fields = struct.unpack_from("<IIHHIHHH", answer, 8)
        self.cmds_supp_udata = fields[1]

    def command(self, number, body, answer_length=0, respond=False):
        """Writes one command; OSError with the driver's errno where it fails."""
        answer = ctypes.create_string_buffer(answer_length) if respond else None
        if respond:
            body = struct.pack("<Q", ctypes.addressof(answer)) + body
        header = struct.pack("<IHH", number, (8 + len(body)) // 4, answer_length // 4)
        os.write(self.fd, header + body)
        return answer.raw if respond else b""

    def alloc_pd(self):
        return Pd(self)

    def close(self):
        """Closes the device; the kernel destroys what is still open."""
        if self.fd >= 0:
            os.close(self.fd)
            os.close(self.async_fd)
            self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Pd:
    """A protection domain. `number` is the device's."""

    def __init__(self, context):
        self.context = context
        answer = context.command(ALLOC_PD, b"", 4 + 8, respond=True)
        self.handle, _comp_mask, self.number = struct.unpack_from("<IIH", answer)

    def create_ah(self, gid, is_global=True):
        return Ah(self, gid, is_global)

    def dealloc(self):
        self.context.command(DEALLOC_PD, struct.pack("<I", self.handle))


class Ah:
    """An address handle. `number` is the device's."""

    def __init__(self, pd, gid, is_global=True, port=1):
        self.context = pd.context
        route = struct.pack("<16sIBBBB", ipaddress.IPv6Address(gid).packed, 0, 0, 64, 0, 0)
        attributes = route + struct.pack("<HBBBBBB", 0, 0, 0, 0, int(is_global), port, 0)
        body = struct.pack("<QII", 0, pd.handle, 0) + attributes
        answer = self.context.command(CREATE_AH, body, 4 + 8, respond=True)
        self.handle, _comp_mask, self.number = struct.unpack_from("<IIH", answer)

    def destroy(self):
        self.context.command(DESTROY_AH, struct.pack("<I", self.handle))


def gid(number):
    """The GID of a peer, one for each number."""
    return f"fe80::ef:a1{number >> 16 & 0xff:02x}:{number & 0xffff:x}:1"
