# SPDX-License-Identifier: GPL-2.0
"""The queues a device shares with user space: work requests in, completions out.

Work requests are written as the device reads them, so that a test can also write what a library
never would. The formats are those of the in-tree driver's efa_io_defs.h.
"""

import ctypes
import mmap
import time
from types import SimpleNamespace

from wire import Layout

PAGE = mmap.PAGESIZE
RECV_BYTES = 16
SEND, RDMA_READ, RDMA_WRITE = 0, 1, 2
WITH_IMM, INLINE, META = 1 << 4, 1 << 5, 1 << 7
FIRST, LAST, WANT_COMPLETION = 1 << 2, 1 << 3, 1 << 4
# How a work request can end.
STATUS = {
    "ok": 0, "flushed": 1, "qp_internal_error": 2, "unsupported_op": 3, "invalid_ah": 4, "invalid_lkey": 5,
    "bad_length": 6, "remote_bad_address": 7, "remote_abort": 8, "remote_bad_dest_qpn": 9, "remote_rnr": 10,
    "remote_bad_length": 11, "remote_bad_status": 12, "unresponsive": 13, "unknown_peer": 14, "unreachable": 15,
    "feature_mismatch": 18,
}
STATUS_NAME = {number: name for name, number in STATUS.items()}

_META = Layout(
    "req_id:H ctrl1:B ctrl2:B dest_qp:H length:H imm:I ah:H ctrl3:B reserved:B qkey:I reserved2:6s req_id_ex:6s"
)
_BUFFER = Layout("length:I key:I address:Q")
_RECV = Layout("address:Q req_id:H length:H lkey_ctrl:I")
_COMPLETION = Layout("req_id:H status:B flags:B qp:H length:H ah:H src_qp:H imm:I gid:16s")


class Mapping:
    """Memory of the device or the driver, mapped under the key that a create call answered."""

    def __init__(self, context, key, length, prot=mmap.PROT_READ | mmap.PROT_WRITE):
        # Of the file descriptor no copy is kept: closing the device is to close it.
        self.map = mmap.mmap(context.fd, length, mmap.MAP_SHARED, prot, offset=key, trackfd=False)

    def word(self, offset):
        """A 32-bit register of the mapping."""
        return ctypes.c_uint32.from_buffer(self.map, offset)

    def close(self):
        self.map.close()


class Doorbell:
    """A doorbell register."""

    def __init__(self, context, key, offset):
        self.mapping = Mapping(context, key, PAGE)
        self.register = self.mapping.word(offset)

    def ring(self, value):
        self.register.value = value

    def close(self):
        self.register = None  # it holds the mapping
        self.mapping.close()


class SendQueue:
    """Work requests that send."""

    def __init__(self, qp):
        self.depth, self.size = qp.send_depth, qp.descriptor_size
        self.base = qp.answer.llq_desc_offset
        length = -(-(self.depth * self.size + self.base) // PAGE) * PAGE
        self.mapping = Mapping(qp.context, qp.answer.llq_desc_mmap_key, length)
        self.doorbell = Doorbell(qp.context, qp.answer.sq_db_mmap_key, qp.answer.sq_db_offset)
        self.wide_ids = bool(qp.flags & 2)
        self.posted = 0

    def write(self, body, op=SEND, ring=True, **meta):
        """Writes one descriptor: `meta` are fields of its first 32 bytes, `body` is the rest."""
        lap, place = divmod(self.posted, self.depth)
        req_id = meta.pop("req_id", 0)
        if self.wide_ids:
            meta["req_id_ex"] = (req_id >> 16).to_bytes(6, "little")
        fields = {
            "req_id": req_id & 0xFFFF, "ctrl1": META | op, "ctrl2": FIRST | LAST | WANT_COMPLETION | lap & 1, **meta,
        }
        offset = self.base + place * self.size
        self.mapping.map[offset : offset + self.size] = (_META.pack(**fields) + body).ljust(self.size, b"\x00")
        self.posted += 1
        if ring:
            self.ring()

    def ring(self):
        self.doorbell.ring(self.posted & 0xFFFF)

    def send(self, ah, dest_qp, buffers=(), inline=None, imm=None, qkey=0x11112222, **more):
        """A message: `buffers` are (address, length, lkey), or the bytes are `inline`."""
        kind = (INLINE if inline is not None else 0) | (WITH_IMM if imm is not None else 0)
        if inline is None:
            body = b"".join(_BUFFER.pack(address=a, length=n, key=k) for a, n, k in buffers)
        else:
            body = inline
        length = len(buffers) if inline is None else len(inline)
        self.write(body, SEND | kind, ah=ah.number, dest_qp=dest_qp, length=length, imm=imm or 0, qkey=qkey, **more)

    def rdma(self, op, ah, dest_qp, local, remote, imm=None, **more):
        """An RDMA read or write between `local` (address, length, lkey) and `remote` (address, rkey)."""
        address, length, lkey = local
        body = _BUFFER.pack(address=remote[0], length=length, key=remote[1])
        body += _BUFFER.pack(address=address, length=length, key=lkey)
        kind = op | (WITH_IMM if imm is not None else 0)
        self.write(body, kind, ah=ah.number, dest_qp=dest_qp, length=1, imm=imm or 0, **{"qkey": 0x11112222, **more})

    def write_inline(self, ah, dest_qp, data, remote, **more):
        """An RDMA write of `data` to `remote` (address, rkey)."""
        body = _BUFFER.pack(address=remote[0], length=len(data), key=remote[1]) + data
        fields = {"length": len(data), "imm": 0, "qkey": 0x11112222, **more}
        self.write(body, RDMA_WRITE | INLINE, ah=ah.number, dest_qp=dest_qp, **fields)

    def close(self):
        self.doorbell.close()
        self.mapping.close()


class RecvQueue:
    """Work requests that receive."""

    def __init__(self, qp):
        self.mapping = Mapping(qp.context, qp.answer.rq_mmap_key, qp.answer.rq_mmap_size)
        self.doorbell = Doorbell(qp.context, qp.answer.rq_db_mmap_key, qp.answer.rq_db_offset)
        self.slots = qp.recv_slots
        self.posted = 0

    def post(self, buffers, req_id=0, ring=True):
        """One work request of `buffers`: (address, length, lkey)."""
        for index, (address, length, lkey) in enumerate(buffers):
            ctrl = lkey | (1 << 30 if index == 0 else 0) | (1 << 31 if index == len(buffers) - 1 else 0)
            offset = self.posted % self.slots * RECV_BYTES
            data = _RECV.pack(address=address, req_id=req_id, length=length, lkey_ctrl=ctrl)
            self.mapping.map[offset : offset + RECV_BYTES] = data
            self.posted += 1
        if ring:
            self.ring()

    def ring(self):
        self.doorbell.ring(self.posted & 0xFFFF)

    def close(self):
        self.doorbell.close()
        self.mapping.close()


class CompletionRing:
    """The completions of a CQ, all its sub-CQs together."""

    def __init__(self, cq):
        self.depth, self.size, self.sub_cqs = cq.depth, cq.entry_size, cq.sub_cqs
        self.mapping = Mapping(cq.context, cq.answer.q_mmap_key, cq.answer.q_mmap_size, mmap.PROT_READ)
        has_doorbell = cq.answer.comp_mask & 1
        self.doorbell = Doorbell(cq.context, cq.answer.db_mmap_key, cq.answer.db_off) if has_doorbell else None
        self.taken = [0] * self.sub_cqs
        self.events = 0

    def poll(self):
        """The next completion; None if there is none."""
        for sub in range(self.sub_cqs):
            lap, place = divmod(self.taken[sub], self.depth)
            offset = (sub * self.depth + place) * self.size
            data = self.mapping.map[offset : offset + self.size]
            if data[3] & 1 != lap & 1:
                self.taken[sub] += 1
                return completion(data)
        return None

    def wait(self, count=1, seconds=10):
        """The next `count` completions, in the order they came."""
        found, deadline = [], time.monotonic() + seconds
        while len(found) < count:
            entry = self.poll()
            if entry:
                found.append(entry)
            elif time.monotonic() > deadline:
                raise AssertionError(f"{len(found)} of {count} completions in {seconds} s: {found}")
            else:
                time.sleep(0.0005)
        return found

    def arm(self):
        """Asks for an event at the next completion."""
        self.doorbell.ring(sum(self.taken) & 0xFFFF | (self.events & 3) << 29 | 1 << 31)

    def close(self):
        if self.doorbell:
            self.doorbell.close()
        self.mapping.close()


def completion(data):
    """A completion entry's fields, with names where there are names."""
    fields = _COMPLETION.unpack(data)
    flags = fields.flags
    common = {
        "status": STATUS_NAME.get(fields.status, fields.status), "qp": fields.qp, "op": flags >> 4 & 7,
        "is_send": flags >> 1 & 3 == 1,
    }
    if common["is_send"]:
        return SimpleNamespace(req_id=fields.req_id | int.from_bytes(data[6:12], "little") << 16, **common)
    written = common["op"] == RDMA_WRITE
    high = int.from_bytes(fields.gid[:2], "little") if written and len(data) > RECV_BYTES else 0
    return SimpleNamespace(
        req_id=fields.req_id, length=fields.length | high << 16, ah=fields.ah, src_qp=fields.src_qp,
        imm=fields.imm if flags & 8 else None, unsolicited=bool(flags & 0x80), gid=fields.gid, **common,
    )
