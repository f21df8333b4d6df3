# SPDX-License-Identifier: GPL-2.0
"""rdma-core's own tests, from its package: each case with its result."""

import gzip
import json
import os
import random
import shutil
import sys
import time
import unittest

from processes import Child

SECONDS = 280
PACKAGE = "/usr/share/doc/rdma-core/tests"
UNPACKED = "/tmp/rdma-core/tests"


class Result(unittest.TestResult):
    """Notes every case as the runner wants it."""

    def __init__(self):
        super().__init__()
        self.cases = []

    def startTest(self, test):
        super().startTest(test)
        # Some cases ask at random for what EFA has not, and are skipped then: with this seed none does.
        random.seed(0)
        self.start = time.monotonic()

    def note(self, test, status, reason=""):
        name = ".".join(test.id().split(".")[-2:])
        seconds = time.monotonic() - self.start
        self.cases.append({"name": name, "status": status, "reason": reason, "seconds": seconds})

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addFailure(self, test, err):
        self.note(test, "failed", describe(err))

    def addError(self, test, err):
        self.note(test, "failed", describe(err))


def describe(err):
    return " ".join(f"{err[0].__name__}: {err[1]}".split())


def cases(test):
    """Runs the cases of one of rdma-core's test modules on the first device."""
    # In a process of its own, since older bindings never close what a skipped case has opened.
    child = Child(lambda say: say(json.dumps(run(test))))
    found = json.loads(child.heard(SECONDS) or "[]")
    child.end()
    return found


def run(test):
    unpack()
    sys.path[:0] = [UNPACKED, os.path.dirname(UNPACKED)]
    from args_parser import parser
    sys.argv = ["run_tests.py", "--dev", test.function.rdma()]
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromName(f"tests.{test.args['module']}")
    result = Result()
    suite.run(result)
    return result.cases


def unpack():
    """Some of the package's files are compressed."""
    os.makedirs(UNPACKED, exist_ok=True)
    for name in os.listdir(PACKAGE):
        source = os.path.join(PACKAGE, name)
        if name.endswith(".gz"):
            with gzip.open(source) as packed, open(os.path.join(UNPACKED, name[:-3]), "wb") as plain:
                shutil.copyfileobj(packed, plain)
        else:
            shutil.copy(source, UNPACKED)
