# SPDX-License-Identifier: GPL-2.0
"""Requests of user space at their limits and beyond: the cases of bad_input.toml.

A refused request has the right errno, sends no command, leaves nothing behind, and is no warning in
the kernel log; a tracepoint says why it was refused. One that is just within the limits is carried
out and can be undone.
"""

import contextlib
import errno
import os
import tomllib

import ioctl
import memory
import queues
import requests
import tracing
import uverbs
from uapi import Room, error_of

# Rules that compare with no number.
LIMITLESS = {"a power of two", "memory that can be pinned", "what can be mapped"}
TABLE = os.path.join(os.path.dirname(__file__), "bad_input.toml")


class Scene:
    """What the requests of one table refer to: an open device with one object of each kind."""

    def __init__(self, test):
        self.node = test.function.uverbs()
        self.context = uverbs.Context(self.node)
        self.pd = self.context.alloc_pd()
        self.cq = self.context.create_cq(64)
        self.qp = self.pd.create_qp(self.cq)
        self.pages = memory.Memory(4 * memory.PAGE)
        self.readonly = memory.Memory(memory.PAGE, prot=memory.READ)
        self.hole = memory.Memory(2 * memory.PAGE)
        self.hole.protect(0, start=memory.PAGE)
        cq, qp = self.cq.answer, self.qp.answer
        self.names = {
            "pd": self.pd.handle, "cq": self.cq.handle, "qp": self.qp.handle, "page": self.pages.address,
            "readonly": self.readonly.address, "hole": self.hole.address, "vectors": self.context.num_comp_vectors,
            "cq_ring": cq.q_mmap_key, "cq_doorbell": cq.db_mmap_key, "llq": qp.llq_desc_mmap_key,
            "send_doorbell": qp.sq_db_mmap_key, "recv_ring": qp.rq_mmap_key, "recv_doorbell": qp.rq_db_mmap_key,
        }

    def value(self, text):
        """A value of the table: a number, `name` or `name+number`, or bytes in hexadecimal after `x`."""
        if not isinstance(text, str):
            return text
        if text.startswith("x"):
            return bytes.fromhex(text[1:])
        name, _, offset = text.partition("+")
        return self.names[name] + int(offset or 0)

    def values(self, fields):
        return {name: self.value(value) for name, value in fields.items()}

    def close(self):
        self.qp.destroy()
        self.cq.destroy()
        self.pd.dealloc()
        self.context.close()


def run(test, kind, attempt):
    """Tries every case of one kind; all that went wrong is one failure."""
    with open(TABLE, "rb") as file:
        cases = tomllib.load(file)[kind]
    before = test.device.objects()
    scene = Scene(test)
    wrong = []
    seq = test.device.next_seq()
    pinned = memory.pinned()
    trace = tracing.Trace("efa_refused") if test.driver == "rust" else None
    for case in cases:
        test.log.read()
        alarms = len(test.log.alarms)
        result = error_of(lambda: attempt(scene, case))
        expected = getattr(errno, case["errno"]) if "errno" in case else 0
        log = test.device.ask("log", since=seq)
        seq = log["next"]
        sent = [entry["command"] for entry in log["log"] if "command" in entry]
        if result != expected:
            wrong.append(f"{case['what']}: {errno.errorcode.get(result, 'accepted')}")
        elif expected and sent and not case.get("sent"):
            wrong.append(f"{case['what']}: sent {', '.join(sent)}")
        reasons = trace and [reason(event, result) for event in trace.take()]
        if trace and reasons != ([case["why"]] if "why" in case else []):
            wrong.append(f"{case['what']}: the tracepoint says {reasons}")
        test.log.read()
        if test.driver == "rust" and not case.get("sent") and test.log.alarms[alarms:]:
            wrong.append(f"{case['what']}: {test.log.alarms[alarms:]}")
        if memory.pinned() != pinned:
            wrong.append(f"{case['what']}: {memory.pinned() - pinned} bytes stay pinned")
            pinned = memory.pinned()
    if trace:
        trace.stop()
    with contextlib.suppress(OSError):  # whatever went wrong above is what is reported
        scene.close()
    if test.device.objects() != before:
        wrong.append(f"left on the device: {test.device.objects()}")
    assert not wrong, f"{len(wrong)} of {len(cases)} cases: {'; '.join(wrong)}"
    assert len(cases) > 5, "the table is not read"


def reason(event, result):
    """What the tracepoint says of a request that was refused."""
    assert event.error == -result, f"{event}, the process was told {result}"
    rule = event.words["rule"]
    # Bits are read in hexadecimal, and the offsets that can be mapped are other ones each time.
    value, limit = (event.words[name] if "bits" in rule else getattr(event, name) for name in ("value", "limit"))
    value = "" if event.field == "offset" else f"={value}"
    limit = "" if rule in LIMITLESS else f" {limit}"
    return f"{event.verb}: {event.field}{value} {rule}{limit}"


def send(scene, request, case, core, driver, fd=None):
    """Sends a request as the case changes it."""
    core = {**core, **scene.values(case.get("core", {}))}
    body = request.driver.pack(**{**driver, **scene.values(case.get("driver", {}))})
    body = body[: case.get("cut", len(body))] + bytes.fromhex(case.get("more", "")) + bytes(case.get("zeros", 0))
    room = case.get("room", request.driver_answer.size)
    core_size = 0 if request is ioctl.CREATE_CQ else request.answer.size
    at = Room(core_size).address if case.get("unwritable") else None
    return request.send(scene.context.fd if fd is None else fd, core, body, room, at)


def create_cq(test):
    def attempt(scene, case):
        core = {"cqe": 64}
        driver = {"cq_entry_size": 16, "num_sub_cqs": scene.context.limits.sub_cqs_per_cq}
        answer, _ = send(scene, ioctl.CREATE_CQ, case, core, driver)
        requests.DESTROY_CQ.send(scene.context.fd, {"handle": answer.handle})

    run(test, "create_cq", attempt)


def probe_for_time_stamps_is_no_failure(test):
    """A library that asks for what this kind of device cannot have is no failure to count; a wrong request is."""
    with uverbs.Context(test.function.uverbs()) as context:
        for core, expected, counted in (({"flags": 1}, errno.EOPNOTSUPP, 0), ({"cqe": 1 << 20}, errno.EINVAL, 1)):
            before = test.function.counter("create_cq_err")
            driver = {"cq_entry_size": 16, "num_sub_cqs": context.limits.sub_cqs_per_cq}
            error = error_of(lambda: ioctl.CREATE_CQ.send(context.fd, {"cqe": 64, **core}, driver))
            assert error == expected, f"{core}: errno {error}"
            more = test.function.counter("create_cq_err") - before
            assert more == counted, f"{core}: create_cq_err grows by {more}"


def create_qp(test):
    def attempt(scene, case):
        core = {
            "pd": scene.pd.handle, "send_cq": scene.cq.handle, "recv_cq": scene.cq.handle, "max_send_wr": 64,
            "max_recv_wr": 64, "max_send_sge": 1, "max_recv_sge": 1, "qp_type": uverbs.DRIVER,
        }
        driver = {"rq_ring_size": 64 * queues.RECV_BYTES, "sq_ring_size": 64 * 64}
        answer, _ = send(scene, requests.CREATE_QP, case, core, driver)
        requests.DESTROY_QP.send(scene.context.fd, {"handle": answer.handle})

    run(test, "create_qp", attempt)


def modify_qp(test):
    def attempt(scene, case):
        mask = uverbs.STATE | uverbs.PKEY_INDEX | uverbs.PORT | uverbs.QKEY
        core = {"handle": scene.qp.handle, "attr_mask": mask, "qp_state": uverbs.INIT, "port_num": 1, "qkey": 1}
        send(scene, requests.MODIFY_QP, case, core, {})
        scene.qp.modify(uverbs.RESET)

    run(test, "modify_qp", attempt)


def reg_mr(test):
    def attempt(scene, case):
        core = {
            "start": scene.pages.address, "length": memory.PAGE, "iova": scene.pages.address, "pd": scene.pd.handle,
            "access": uverbs.LOCAL_WRITE,
        }
        # Where only the start is given, the region is named by it.
        case = {**case, "core": {**({"iova": case["core"]["start"]} if "start" in case.get("core", {}) else {}),
                                 **case.get("core", {})}}
        answer, _ = send(scene, requests.REG_MR, case, core, {})
        requests.DEREG_MR.send(scene.context.fd, {"handle": answer.handle})

    run(test, "reg_mr", attempt)


def alloc_ucontext(test):
    def attempt(scene, case):
        fd = os.open(scene.node, os.O_RDWR | os.O_CLOEXEC)
        try:
            answer, _ = send(scene, requests.GET_CONTEXT, case, {}, {"supported_caps": 3}, fd)
            os.close(answer.async_fd)
        finally:
            os.close(fd)

    run(test, "alloc_ucontext", attempt)


def mmap(test):
    def attempt(scene, case):
        memory.Memory(
            case.get("length", memory.PAGE), flags=case.get("flags", memory.SHARED), fd=scene.context.fd,
            prot=case.get("prot", memory.READ), offset=scene.value(case["key"]),
        ).close()

    run(test, "mmap", attempt)


def comp_cntr(test):
    def attempt(scene, case):
        words = {"comp": {"address": "page"}, "err": {"address": "page+8"}}
        buffers = []
        for name, place in words.items():
            fields = scene.values({**place, **case.get(name, {})})
            buffers.append(ioctl.buffer(fields.pop("address"), fields.pop("length", 8), **fields))
        counter, qp = ioctl.CompCntr(scene.context, *buffers), None
        try:
            if "modify" in case:
                counter.modify(*case["modify"])
            if "attach" in case:
                qp = scene.pd.create_qp(scene.cq)
                counter.attach(qp, case["attach"])
        finally:
            if qp:
                qp.destroy()
            counter.destroy()

    run(test, "comp_cntr", attempt)
