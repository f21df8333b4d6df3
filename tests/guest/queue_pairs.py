# SPDX-License-Identifier: GPL-2.0
"""Queue pairs: their states, what they may be created with, what the device must be told."""

import errno
import itertools

import requests
import uverbs
from requests import Request
from uapi import error_of
from uverbs import (
    CUR_STATE, DRIVER, EN_SQD_ASYNC_NOTIFY, ERR, INIT, PKEY_INDEX, PORT, QKEY, RESET, RNR_RETRY, RTR, RTS, SQ_PSN,
    SQD, STATE, UD,
)

NAMES = ["reset", "init", "rtr", "rts", "sqd", "sqe", "err"]
# From and to which state, with the attributes that must and those that may be given; SRD may give
# RNR retries, too, on its way to sending.
TRANSITIONS = {
    (RESET, RESET): (0, 0),
    (RESET, INIT): (PKEY_INDEX | PORT | QKEY, 0),
    (INIT, RESET): (0, 0),
    (INIT, ERR): (0, 0),
    (INIT, INIT): (0, PKEY_INDEX | PORT | QKEY),
    (INIT, RTR): (0, PKEY_INDEX | QKEY),
    (RTR, RESET): (0, 0),
    (RTR, ERR): (0, 0),
    (RTR, RTS): (SQ_PSN, CUR_STATE | QKEY),
    (RTS, RESET): (0, 0),
    (RTS, ERR): (0, 0),
    (RTS, RTS): (0, CUR_STATE | QKEY),
    (RTS, SQD): (0, EN_SQD_ASYNC_NOTIFY),
    (SQD, RESET): (0, 0),
    (SQD, ERR): (0, 0),
    (SQD, RTS): (0, CUR_STATE | QKEY),
    (SQD, SQD): (0, PKEY_INDEX | QKEY),
    (ERR, RESET): (0, 0),
    (ERR, ERR): (0, 0),
}
PATH = {
    RESET: [], INIT: [INIT], RTR: [INIT, RTR], RTS: [INIT, RTR, RTS], SQD: [INIT, RTR, RTS, SQD], ERR: [INIT, ERR],
}
ATTRIBUTES = (PKEY_INDEX, PORT, QKEY, SQ_PSN, CUR_STATE, EN_SQD_ASYNC_NOTIFY, RNR_RETRY)


def allowed(kind, now, then):
    """The attributes that must and those that may be given; None where there is no way."""
    if (now, then) not in TRANSITIONS:
        return None
    must, may = TRANSITIONS[now, then]
    if kind == DRIVER and (now, then) == (RTR, RTS):
        may |= RNR_RETRY
    return must, may


class Machine:
    """A queue pair that is led from state to state."""

    def __init__(self, pd, cq, kind):
        self.qp = pd.create_qp(cq, srd=kind == DRIVER)
        self.kind, self.state, self.accepted = kind, RESET, 0

    def attempt(self, now, then, mask):
        """Tries a transition from a state; the errno."""
        if self.state != now:
            self.go(now)
        values = {
            "handle": self.qp.handle, "attr_mask": mask | STATE, "qp_state": then, "cur_qp_state": now, "port_num": 1,
            "qkey": 0x10 + then, "sq_psn": 0x20 + then, "rnr_retry": 5,
        }
        error = error_of(lambda: requests.MODIFY_QP.send(self.qp.context.fd, values))
        if error == 0:
            self.state = then
            self.accepted += 1
        return error

    def go(self, state):
        for step in ([RESET] if self.state != RESET else []) + PATH[state]:
            must = TRANSITIONS[self.state, step][0]
            assert self.attempt(self.state, step, must) == 0, f"no way from {NAMES[self.state]} to {NAMES[step]}"


def masks(must, may):
    """Sets of attributes to try, and whether each is right."""
    yield must, True
    yield must | may, True
    for attribute in ATTRIBUTES:
        if attribute & must:
            yield must & ~attribute, False
        elif attribute & may:
            yield must | attribute, True
        else:
            yield must | attribute, False


def every_transition(test, kind):
    wrong, tried = [], 0
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        machine, sent = Machine(pd, cq, kind), test.device.seen("modify_qp")
        for now, then in itertools.product(PATH, range(7)):
            rule = allowed(kind, now, then)
            for mask, right in masks(*(rule or (0, 0))):
                expected = 0 if rule and right else errno.EINVAL
                error = machine.attempt(now, then, mask)
                tried += 1
                if error != expected:
                    wrong.append(f"{NAMES[now]} to {NAMES[then]} with {mask:#x}: errno {error}")
                elif not expected and machine.qp.query().qp_state != then:
                    wrong.append(f"{NAMES[now]} to {NAMES[then]}: the device has it in another state")
        refused = test.device.seen("modify_qp") - sent - machine.accepted
        machine.qp.destroy()
        cq.destroy()
        pd.dealloc()
    assert refused == 0, f"{refused} commands were sent for what was refused"
    assert not wrong, f"{len(wrong)} of {tried}: {'; '.join(wrong[:5])}"
    assert tried > 250, f"only {tried} transitions tried"


def every_srd_transition(test):
    """Q1, for SRD."""
    every_transition(test, DRIVER)


def every_ud_transition(test):
    """Q1, for UD."""
    every_transition(test, UD)


def attributes_reach_the_device(test):
    """What modify_qp is told is what the device answers when it is asked."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        qp = pd.create_qp(cq)
        qp.modify(INIT, pkey_index=0, port_num=1, qkey=0x80001234)
        qp.modify(RTR)
        qp.modify(RTS, sq_psn=0xABCDEF, rnr_retry=6)
        mask = STATE | QKEY | SQ_PSN | RNR_RETRY | PORT | PKEY_INDEX
        answer = qp.query(mask)
        found = (answer.qp_state, answer.qkey, answer.sq_psn, answer.rnr_retry, answer.port_num)
        assert found == (RTS, 0x80001234, 0xABCDEF, 6, 1), found
        qp.modify(qkey=0x77)  # no new state
        assert qp.query(mask).qkey == 0x77
        sizes = (answer.max_send_wr, answer.max_recv_wr, answer.max_send_sge, answer.max_recv_sge)
        assert sizes == (qp.send_depth, qp.recv_depth, 2, 1), sizes
        error = error_of(lambda: qp.query(1 << 8))
        assert error == errno.EOPNOTSUPP, f"the path MTU is asked for: errno {error}"
        qp.destroy()
        cq.destroy()
        pd.dealloc()


def refused_service_level_is_a_clean_error(test):
    """Q2: the device refuses a service level; one error, nothing left, and level 0 works."""
    errors = test.function.counter("create_qp_err")
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        before = test.device.objects()
        test.device.fail("create_qp", status="illegal_parameter")
        seq = test.device.next_seq()
        error = error_of(lambda: pd.create_qp(cq, sl=8))
        assert error == errno.EINVAL, f"errno {error}"
        assert test.function.counter("create_qp_err") - errors == 1
        entry = next(entry for entry in test.device.log(seq) if entry.get("command") == "create_qp")
        assert entry.get("sl") == 8, f"the device saw {entry}"
        assert test.device.objects() == before, test.device.objects()
        pd.create_qp(cq).destroy()
        cq.destroy()
        pd.dealloc()


def rnr_retry_is_for_srd(test):
    """Q3: it reaches the device on SRD's way to sending, and is EINVAL for UD."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        for retries in (0, 3, 7):
            qp = pd.create_qp(cq)
            qp.to_rts(rnr_retry=retries)
            assert qp.query(RNR_RETRY).rnr_retry == retries
            qp.destroy()
        qp = pd.create_qp(cq, srd=False)
        error = error_of(lambda: qp.to_rts(rnr_retry=3))
        assert error == errno.EINVAL, f"UD: errno {error}"
        qp.destroy()
        cq.destroy()
        pd.dealloc()


# What EFA has not, by the number of the request: as large as each needs to be.
FOREIGN = {
    "re-register a region": Request(11, "a:48s", answer="b:8s"),
    "allocate a memory window": Request(15, "a:8s", answer="b:8s"),
    "resize a CQ": Request(19, "a:8s", answer="b:8s"),
    "poll a CQ in the kernel": Request(21, "a:8s", answer="b:8s"),
    "ask for notification in the kernel": Request(23, "a:8s"),
    "post a send in the kernel": Request(28, "a:16s", answer="b:4s"),
    "post a receive in the kernel": Request(29, "a:16s", answer="b:4s"),
    "attach to a multicast group": Request(30, "a:24s"),
    "create a shared receive queue": Request(32, "a:32s", answer="b:16s"),
    "open an XRC domain": Request(37, "a:8s", answer="b:4s"),
}


def foreign_parts_of_verbs_are_refused(test):
    """Q4: what EFA has not is EOPNOTSUPP, and no command is sent."""
    with uverbs.Context(test.function.uverbs()) as context:
        pd, cq = context.alloc_pd(), context.create_cq(64)
        seq = test.device.next_seq()
        wrong = {}
        for what, request in FOREIGN.items():
            error = error_of(lambda: request.send(context.fd, {}))
            if error != errno.EOPNOTSUPP:
                wrong[what] = error
        assert not wrong, f"errno {wrong}"
        assert not test.device.log(seq), f"sent: {test.device.log(seq)}"
        cq.destroy()
        pd.dealloc()
