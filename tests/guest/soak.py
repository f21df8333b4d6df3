# SPDX-License-Identifier: GPL-2.0
"""Processes that come, use the device in any order, and go in any way, for as long as one likes."""

import mmap
import os
import random
import select
import signal
import struct
import time
import traceback

from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.libibverbs_enums import ibv_access_flags as access
from pyverbs.libibverbs_enums import ibv_qp_attr_mask as mask
from pyverbs.libibverbs_enums import ibv_qp_create_send_ops_flags as ops
from pyverbs.libibverbs_enums import ibv_qp_init_attr_mask as init_mask
from pyverbs.libibverbs_enums import ibv_qp_state as state
from pyverbs.libibverbs_enums import ibv_qp_type as qp_type
from pyverbs.libibverbs_enums import ibv_send_flags, ibv_wc_status
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.providers.efa.efa_enums import EFADV_QP_DRIVER_TYPE_SRD
from pyverbs.providers.efa.efadv import EfaQPInitAttr, SRDQPEx
from pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx
from pyverbs.wr import SGE, RecvWR

PROCESSES = 16
KILL_SECONDS = 1.0  # from one to the next, on average
PARENT_PRIORITY = -10  # or those that it should kill leave it no time for that
OWN_COMPLETION_SECONDS = 120  # everything runs on a busy, emulated machine
QKEY = 0x50AC
DEPTH = 16
MESSAGE = 2048
BUFFERS = (2 * 4096, 16 * 4096, 2 << 20)
EVERYTHING = access.IBV_ACCESS_LOCAL_WRITE | access.IBV_ACCESS_REMOTE_READ | access.IBV_ACCESS_REMOTE_WRITE

# What is counted, in each process's part of the board.
COUNTS = ("lives", "kills", "left", "closed", "srd", "ud", "events", "handles", "send", "write", "read", "checked", "failed")
# The processes' shared memory: for each, how to reach it and what it has done.
PEER = struct.Struct("<IIQ")  # queue pair (0: none), remote key, address
PART_BYTES = PEER.size + 8 * len(COUNTS)


class Board:
    """Memory that all processes share. A part is written by its owner; its lives and kills by the parent."""

    def __init__(self):
        self.memory = mmap.mmap(-1, PROCESSES * PART_BYTES)

    def publish(self, owner, *peer):
        PEER.pack_into(self.memory, owner * PART_BYTES, *peer)

    def peer(self, owner):
        return PEER.unpack_from(self.memory, owner * PART_BYTES)

    def count(self, owner, what):
        at = owner * PART_BYTES + PEER.size + 8 * COUNTS.index(what)
        struct.pack_into("<Q", self.memory, at, struct.unpack_from("<Q", self.memory, at)[0] + 1)

    def totals(self):
        parts = [struct.unpack_from(f"<{len(COUNTS)}Q", self.memory, n * PART_BYTES + PEER.size) for n in range(PROCESSES)]
        return dict(zip(COUNTS, map(sum, zip(*parts))))


def processes_come_and_go(test):
    """16 processes create, use and destroy objects, and are killed at random; nothing is left of them."""
    name, board = test.function.rdma(), Board()
    seeds = random.Random(test.args.get("seed", 1))
    children = {}
    deadline = time.monotonic() + test.args["seconds"]
    os.setpriority(os.PRIO_PROCESS, 0, PARENT_PRIORITY)
    try:
        for owner in range(PROCESSES):
            children[start(name, board, owner, seeds.random())] = owner
        next_kill = time.monotonic()
        while time.monotonic() < deadline:
            for owner in reap(children):
                children[start(name, board, owner, seeds.random())] = owner
            if time.monotonic() >= next_kill:
                victim = seeds.choice(list(children))
                os.kill(victim, signal.SIGKILL)
                board.count(children[victim], "kills")
                next_kill = time.monotonic() + seeds.expovariate(1 / KILL_SECONDS)
            time.sleep(0.02)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    totals = board.totals()
    idle = [what for what, count in totals.items() if not count and what != "failed"]
    assert not idle, f"never happened: {', '.join(idle)} (all: {totals})"
    return totals


def reap(children):
    """Takes those that have ended from `children`; their places."""
    places = []
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return places
        owner = children.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL), f"process {owner} ended with {code}: see its traceback in the log"
        places.append(owner)
        if not children:
            return places


def start(name, board, owner, seed):
    """Begins one process and returns its number."""
    board.publish(owner, 0, 0, 0)
    board.count(owner, "lives")
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        Life(name, board, owner, random.Random(seed)).run()
        status = 0
    except BaseException:  # whatever it is, it ends this process alone, and the parent's test
        traceback.print_exc()
    finally:
        os._exit(status)


class Life:
    """One process's objects."""

    def __init__(self, name, board, owner, dice):
        self.name, self.board, self.owner, self.dice = name, board, owner, dice

    def run(self):
        while True:
            self.open()
            for _ in range(self.dice.randrange(60)):
                self.step()
            self.board.publish(self.owner, 0, 0, 0)
            if self.dice.random() < 0.2:
                self.count("left")
                return  # the kernel closes what is open
            self.close()
            self.count("closed")

    def count(self, what):
        self.board.count(self.owner, what)

    def open(self):
        self.context = Context(name=self.name)
        self.pd = PD(self.context)
        self.channel = CompChannel(self.context) if self.dice.random() < 0.5 else None
        vector = self.dice.randrange(self.context.num_comp_vectors) if self.channel else 0
        self.cq = CQ(self.context, 4 * DEPTH, None, self.channel, vector)
        self.mr = MR(self.pd, self.dice.choice(BUFFERS), EVERYTHING)
        self.handles, self.posted = [], 0
        self.reliable = self.dice.random() < 0.7
        self.qp = self.queue_pair()
        self.board.publish(self.owner, self.qp.qp_num, self.mr.rkey, self.mr.buf)

    def queue_pair(self):
        cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=1, max_recv_sge=1)
        wanted = ops.IBV_QP_EX_WITH_SEND
        if self.reliable:
            wanted |= ops.IBV_QP_EX_WITH_RDMA_READ | ops.IBV_QP_EX_WITH_RDMA_WRITE
        attributes = QPInitAttrEx(
            cap=cap,
            qp_type=qp_type.IBV_QPT_DRIVER if self.reliable else qp_type.IBV_QPT_UD,
            scq=self.cq,
            rcq=self.cq,
            pd=self.pd,
            send_ops_flags=wanted,
            comp_mask=init_mask.IBV_QP_INIT_ATTR_PD | init_mask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        )
        if self.reliable:
            more = EfaQPInitAttr()
            more.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD
            qp = SRDQPEx(self.context, attributes, more)
        else:
            qp = QPEx(self.context, attributes)
        self.count("srd" if self.reliable else "ud")
        self.to_rts(qp)
        for _ in range(DEPTH):
            self.offer(qp)
        return qp

    def offer(self, qp):
        """A buffer to receive into: where all others write, and long enough for the header that UD puts first."""
        qp.post_recv(RecvWR(sg=[SGE(self.mr.buf, 2 * MESSAGE, self.mr.lkey)], num_sge=1))

    @staticmethod
    def to_rts(qp):
        attributes = QPAttr(port_num=1)
        attributes.qkey, attributes.pkey_index, attributes.sq_psn = QKEY, 0, 0
        steps = (
            (state.IBV_QPS_INIT, mask.IBV_QP_PKEY_INDEX | mask.IBV_QP_PORT | mask.IBV_QP_QKEY),
            (state.IBV_QPS_RTR, 0),
            (state.IBV_QPS_RTS, mask.IBV_QP_SQ_PSN),
        )
        for wanted, more in steps:
            attributes.qp_state = wanted
            qp.modify(attributes, mask.IBV_QP_STATE | more)

    def step(self):
        """One of the things an application does."""
        self.dice.choice((self.handle, self.send, self.send, self.write, self.read, self.poll, self.check))()

    def handle(self):
        """A new address handle, or the end of an old one."""
        if len(self.handles) > 4:
            self.handles.pop(self.dice.randrange(len(self.handles))).close()
        self.count("handles")
        route = GlobalRoute(dgid=self.context.query_gid(1, 0), sgid_index=0)
        self.handles.append(AH(self.pd, attr=AHAttr(gr=route, is_global=1, port_num=1)))

    def send(self):
        self.post("send", self.qp.wr_send)

    def write(self):
        if self.reliable:
            self.post("write", self.qp.wr_rdma_write)

    def read(self):
        if self.reliable:
            self.post("read", self.qp.wr_rdma_read)

    def post(self, what, begin):
        """A request to any of the processes, which may be dead or of the other kind: all may happen to it."""
        number, rkey, address = self.board.peer(self.dice.randrange(PROCESSES))
        if not number or self.posted == DEPTH:
            return
        self.count(what)
        self.request(number, (begin, () if what == "send" else (rkey, address)), MESSAGE)

    def request(self, number, how, offset):
        if not self.handles:
            self.handle()
        begin, remote = how
        self.qp.wr_start()
        self.qp.wr_id, self.qp.wr_flags = offset, ibv_send_flags.IBV_SEND_SIGNALED
        begin(*remote)
        self.qp.wr_set_ud_addr(self.dice.choice(self.handles), number, QKEY)
        self.qp.wr_set_sge(SGE(self.mr.buf + offset, MESSAGE, self.mr.lkey))
        self.qp.wr_complete()
        self.posted += 1

    def poll(self):
        """Takes the completions that are there, or waits a moment for an event."""
        if self.channel and self.dice.random() < 0.5:
            self.cq.req_notify()
            if select.select([self.channel.fd], [], [], 0.05)[0]:
                self.channel.get_cq_event(self.cq)
                self.cq.ack_events(1)
                self.count("events")
        return self.take()

    def take(self):
        completions = self.cq.poll(4 * DEPTH)[1]
        for completion in completions:
            if completion.opcode & 128:  # received: the buffer goes back
                if completion.status == ibv_wc_status.IBV_WC_SUCCESS:
                    self.offer(self.qp)
            else:
                self.posted -= 1
            if completion.status != ibv_wc_status.IBV_WC_SUCCESS:
                self.count("failed")
        return completions

    def check(self):
        """A write into memory of its own: it must succeed, and bring the bytes."""
        if not self.reliable or self.posted == DEPTH:
            return
        source, target = 2 * MESSAGE, 3 * MESSAGE  # nobody else writes there
        message = self.dice.randbytes(MESSAGE)
        self.mr.write(message, MESSAGE, source)
        self.request(self.qp.qp_num, (self.qp.wr_rdma_write, (self.mr.rkey, self.mr.buf + target)), source)
        deadline = time.monotonic() + OWN_COMPLETION_SECONDS
        while True:
            own = [c for c in self.take() if c.wr_id == source and not c.opcode & 128]
            if own:
                break
            assert time.monotonic() < deadline, "a write to itself does not complete"
            time.sleep(0.001)
        assert own[0].status == ibv_wc_status.IBV_WC_SUCCESS, f"a write to itself: status {own[0].status}"
        assert self.mr.read(MESSAGE, target) == message, "a write to itself brought other bytes"
        self.count("checked")

    def close(self):
        """In order, or all at once."""
        if self.dice.random() < 0.5:
            for thing in (*self.handles, self.qp, self.mr, self.cq):
                thing.close()
        self.context.close()
