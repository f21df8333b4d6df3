# SPDX-License-Identifier: GPL-2.0
"""The kernel's verbs interface without a library between.

rdma-core checks some arguments itself, hides the errno of others and the numbers the driver
answers. These objects go straight to the uverbs device, so that a test sees what the driver does.
"""

import ipaddress
import os

import ioctl
import queues
import requests

UD, DRIVER = 4, 255  # types of queue pairs; the driver's own is SRD
RESET, INIT, RTR, RTS, SQD, SQE, ERR = range(7)
# Bits of modify_qp's attr_mask.
STATE, CUR_STATE, EN_SQD_ASYNC_NOTIFY = 1 << 0, 1 << 1, 1 << 2
PKEY_INDEX, PORT, QKEY, RNR_RETRY, SQ_PSN = 1 << 4, 1 << 5, 1 << 6, 1 << 11, 1 << 16
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ = 1, 2, 4
# Flags of the driver's part of create_cq and create_qp.
CQ_CHANNEL, CQ_SGID, CQ_WIDE_IDS = 1, 2, 4
QP_UNSOLICITED, QP_WIDE_IDS = 1, 2
TEST_QKEY = 0x11112222


class Context:
    """An open device."""

    def __init__(self, node, supported_caps=3):
        self.fd = os.open(node, os.O_RDWR | os.O_CLOEXEC)
        try:
            core, limits = requests.GET_CONTEXT.send(self.fd, {}, {"supported_caps": supported_caps})
        except OSError:
            os.close(self.fd)
            raise
        self.async_fd, self.num_comp_vectors = core.async_fd, core.num_comp_vectors
        self.limits = limits
        self.cmds_supp_udata = limits.cmds_supp_udata

    def query_device(self):
        """What the driver says of the device: limits of work requests, and capabilities."""
        return requests.QUERY_DEVICE.send(self.fd, {})[1]

    def alloc_pd(self):
        return Pd(self)

    def create_cq(self, depth, **more):
        return Cq(self, depth, **more)

    def channel(self):
        """A completion channel: its file descriptor."""
        return requests.CREATE_COMP_CHANNEL.send(self.fd, {})[0].fd

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
        core, driver = requests.ALLOC_PD.send(context.fd, {})
        self.handle, self.number = core.handle, driver.number

    def create_ah(self, gid, is_global=True):
        return Ah(self, gid, is_global)

    def reg_mr(self, memory, access=LOCAL_WRITE, **more):
        return Mr(self, memory.address, memory.length, access, **more)

    def create_qp(self, send_cq, recv_cq=None, **more):
        return Qp(self, send_cq, recv_cq or send_cq, **more)

    def dealloc(self):
        requests.DEALLOC_PD.send(self.context.fd, {"handle": self.handle})


class Ah:
    """An address handle. `number` is the device's."""

    def __init__(self, pd, gid, is_global=True, port=1):
        self.context = pd.context
        core, driver = requests.CREATE_AH.send(
            self.context.fd,
            {"pd": pd.handle, "gid": ipaddress.IPv6Address(gid).packed, "hop_limit": 64, "is_global": is_global, "port": port},
        )
        self.handle, self.number = core.handle, driver.number

    def destroy(self):
        requests.DESTROY_AH.send(self.context.fd, {"handle": self.handle})


class Mr:
    """A registered memory region."""

    def __init__(self, pd, start, length, access=LOCAL_WRITE, iova=None):
        self.context = pd.context
        self.start, self.length = start, length
        self.iova = start if iova is None else iova
        core, _ = requests.REG_MR.send(
            self.context.fd,
            {"start": start, "length": length, "iova": self.iova, "pd": pd.handle, "access": access},
        )
        self.handle, self.lkey, self.rkey = core.handle, core.lkey, core.rkey

    def dereg(self):
        requests.DEREG_MR.send(self.context.fd, {"handle": self.handle})


class Cq:
    """A completion queue. `index` is the device's number."""

    def __init__(self, context, depth, channel=None, vector=0, sgid=False, wide_ids=False):
        self.context, self.depth = context, depth
        self.entry_size = 32 if sgid else 16
        self.sub_cqs = context.limits.sub_cqs_per_cq
        flags = CQ_CHANNEL * (channel is not None) | CQ_SGID * sgid | CQ_WIDE_IDS * wide_ids
        core, self.answer = ioctl.CREATE_CQ.send(
            context.fd,
            {"cqe": depth, "comp_channel": -1 if channel is None else channel, "comp_vector": vector},
            {"cq_entry_size": self.entry_size, "num_sub_cqs": self.sub_cqs, "flags": flags},
        )
        self.handle, self.index = core.handle, self.answer.index
        self.ring = None

    def map(self):
        """The ring, mapped: to poll and to arm."""
        self.ring = self.ring or queues.CompletionRing(self)
        return self.ring

    def destroy(self):
        """Returns how many events of the channel it had."""
        self.unmap()
        return requests.DESTROY_CQ.send(self.context.fd, {"handle": self.handle})[0].comp_events

    def unmap(self):
        if self.ring:
            self.ring.close()
            self.ring = None


class Qp:
    """A queue pair. `number` is the device's."""

    def __init__(self, pd, send_cq, recv_cq, srd=True, send_depth=32, recv_depth=32, sges=(2, 1), inline=0, flags=0, sl=0):
        self.context = pd.context
        self.srd, self.flags = srd, flags
        self.send_depth, self.recv_depth = send_depth, recv_depth
        self.descriptor_size = 64 if inline <= 32 else 128
        self.recv_slots = power_of_two(recv_depth * sges[1])
        core, self.answer = requests.CREATE_QP.send(
            self.context.fd,
            {
                "pd": pd.handle, "send_cq": send_cq.handle, "recv_cq": recv_cq.handle,
                "max_send_wr": send_depth, "max_recv_wr": recv_depth,
                "max_send_sge": sges[0], "max_recv_sge": sges[1],
                "max_inline_data": inline, "qp_type": DRIVER if srd else UD,
            },
            {
                "rq_ring_size": self.recv_slots * queues.RECV_BYTES,
                "sq_ring_size": send_depth * self.descriptor_size, "flags": flags, "sl": sl,
            },
        )
        self.handle, self.number = core.handle, core.number
        self.send_queue = self.recv_queue = None

    def modify(self, state=None, **more):
        """Sends modify_qp. Attributes given by name are those of the mask, too."""
        bits = {
            "cur_qp_state": CUR_STATE, "en_sqd_async_notify": EN_SQD_ASYNC_NOTIFY, "pkey_index": PKEY_INDEX,
            "port_num": PORT, "qkey": QKEY, "rnr_retry": RNR_RETRY, "sq_psn": SQ_PSN,
        }
        mask = sum(bits[name] for name in more) | (STATE if state is not None else 0)
        values = {"handle": self.handle, "attr_mask": mask, "qp_state": state or 0, **more}
        requests.MODIFY_QP.send(self.context.fd, values)

    def to_rts(self, qkey=TEST_QKEY, rnr_retry=None):
        """Leads the queue pair from reset to ready to send."""
        self.modify(INIT, pkey_index=0, port_num=1, qkey=qkey)
        self.modify(RTR)
        self.modify(RTS, sq_psn=0, **({} if rnr_retry is None else {"rnr_retry": rnr_retry}))

    def query(self, mask=STATE):
        return requests.QUERY_QP.send(self.context.fd, {"handle": self.handle, "attr_mask": mask})[0]

    def map(self):
        """Maps the queues: `send_queue`, and `recv_queue` where it has one."""
        self.send_queue = queues.SendQueue(self)
        self.recv_queue = queues.RecvQueue(self) if self.recv_depth else None

    def unmap(self):
        for queue in (self.send_queue, self.recv_queue):
            if queue:
                queue.close()
        self.send_queue = self.recv_queue = None

    def destroy(self):
        self.unmap()
        requests.DESTROY_QP.send(self.context.fd, {"handle": self.handle})


def power_of_two(count):
    """The smallest power of two that is not less; 0 for none."""
    return 1 << (count - 1).bit_length() if count else 0


def gid(number):
    """The GID of a peer, one for each number."""
    return f"fe80::ef:a1{number >> 16 & 0xff:02x}:{number & 0xffff:x}:1"
