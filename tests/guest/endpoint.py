# SPDX-License-Identifier: GPL-2.0
"""Endpoints: a queue pair that is ready to send, with all that belongs to it."""

import contextlib

import memory
import uverbs
from queues import RDMA_READ, RDMA_WRITE

SLOT = 16384  # more than the MTU
ALL_ACCESS = uverbs.LOCAL_WRITE | uverbs.REMOTE_READ | uverbs.REMOTE_WRITE


class Endpoint:
    """A queue pair with a CQ, a protection domain and a registered buffer of its own."""

    def __init__(self, function, context=None, slots=16, access=ALL_ACCESS, sgid=False, rnr_retry=None, channel=False,
                 vector=0, cq_depth=128, **more):
        self.own_context = context is None
        self.context = context or uverbs.Context(function.uverbs())
        self.gid = function.gid()
        self.pd = self.context.alloc_pd()
        self.channel = self.context.channel() if channel else None
        wide_ids = bool(more.get("flags", 0) & uverbs.QP_WIDE_IDS)
        self.cq = self.context.create_cq(cq_depth, sgid=sgid, channel=self.channel, vector=vector, wide_ids=wide_ids)
        self.ring = self.cq.map()
        self.memory = memory.Memory(slots * SLOT)
        self.mr = self.pd.reg_mr(self.memory, access)
        self.qp = self.pd.create_qp(self.cq, **more)
        self.qp.map()
        self.qp.to_rts(rnr_retry=rnr_retry)
        self.handles = {}

    def place(self, slot=0, length=64, offset=0):
        """A part of the buffer: (address, length, lkey)."""
        return self.memory.address + slot * SLOT + offset, length, self.mr.lkey

    def remote(self, slot=0, offset=0):
        """A part of the buffer as a peer names it: (address, rkey)."""
        return self.memory.address + slot * SLOT + offset, self.mr.rkey

    def put(self, data, slot=0):
        self.memory.write(slot * SLOT, data)

    def get(self, length, slot=0):
        return self.memory[slot * SLOT : slot * SLOT + length]

    def handle(self, peer):
        """The address handle to a peer."""
        if peer.gid not in self.handles:
            self.handles[peer.gid] = self.pd.create_ah(peer.gid)
        return self.handles[peer.gid]

    def receive(self, slot=0, length=SLOT, req_id=0, ring=True):
        self.qp.recv_queue.post([self.place(slot, length)], req_id, ring)

    def send(self, peer, slot=0, length=64, **more):
        self.qp.send_queue.send(self.handle(peer), peer.qp.number, [self.place(slot, length)], **more)

    def send_inline(self, peer, data, **more):
        self.qp.send_queue.send(self.handle(peer), peer.qp.number, inline=data, **more)

    def read(self, peer, local=0, remote=0, length=64, **more):
        self.qp.send_queue.rdma(
            RDMA_READ, self.handle(peer), peer.qp.number, self.place(local, length), peer.remote(remote), **more
        )

    def write(self, peer, local=0, remote=0, length=64, **more):
        self.qp.send_queue.rdma(
            RDMA_WRITE, self.handle(peer), peer.qp.number, self.place(local, length), peer.remote(remote), **more
        )

    def write_inline(self, peer, data, remote=0, **more):
        self.qp.send_queue.write_inline(self.handle(peer), peer.qp.number, data, peer.remote(remote), **more)

    def wait(self, count=1, seconds=10):
        return self.ring.wait(count, seconds)

    def statuses(self, count=1, seconds=10):
        return [entry.status for entry in self.wait(count, seconds)]

    def replace_qp(self, **more):
        """Destroys the queue pair and makes another."""
        self.qp.destroy()
        self.qp = self.pd.create_qp(self.cq, **more)
        self.qp.map()
        self.qp.to_rts()

    def reach_itself(self):
        """Sends itself a message, which arrives."""
        self.receive()
        self.send(self)
        assert [entry.status for entry in self.wait(2)] == ["ok", "ok"]

    def close(self):
        """Destroys all in order, each by its own request."""
        self.qp.destroy()
        self.cq.destroy()
        self.mr.dereg()
        for handle in self.handles.values():
            handle.destroy()
        self.pd.dealloc()
        self.memory.close()
        if self.own_context:
            self.context.close()


@contextlib.contextmanager
def pair(test, functions=(0, 0), first=None, second=None, **both):
    """Two endpoints, on one device or on two; closed at the end."""
    one = Endpoint(test.function_at(functions[0]), **both, **(first or {}))
    two = Endpoint(test.function_at(functions[1]), **both, **(second or {}))
    yield one, two
    one.close()
    two.close()
