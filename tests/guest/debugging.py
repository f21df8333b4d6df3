# SPDX-License-Identifier: GPL-2.0
"""The commands of Documentation/debugging.md, run as they stand there."""

import re
import subprocess
import threading

import uverbs

DOCUMENT = "/mnt/documentation/debugging.md"
# What LLVM takes to start in software emulation.
SECONDS = 200


def commands(tool):
    """The commands of the document that begin with this tool."""
    with open(DOCUMENT, encoding="ascii") as file:
        blocks = re.findall(r"```sh\n(.*?)```", file.read(), re.DOTALL)
    found = [block for block in blocks if block.startswith(tool)]
    assert found, f"{DOCUMENT} has no command with {tool}"
    return found


class Work:
    """A thread that uses the cache in each way, again and again, as long as this is open."""

    def __init__(self, test):
        self.test, self.rounds = test, 0
        self.stop = threading.Event()
        self.error = None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            with uverbs.Context(self.test.function.uverbs()) as context:
                self.pd = context.alloc_pd()
                while not self.stop.wait(0.05):
                    self.round()
                self.pd.dealloc()
        except Exception as error:  # said by the thread that waits
            self.error = error

    def round(self):
        for handle in [self.pd.create_ah(uverbs.gid(1)) for _ in range(3)]:
            handle.destroy()
        for gid, is_global in ((uverbs.gid(2), True), (uverbs.gid(1), False)):
            try:
                self.pd.create_ah(gid, is_global)
            except OSError:
                self.rounds += 1

    def __enter__(self):
        self.test.device.refuse(uverbs.gid(2))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.test.device.accept(uverbs.gid(2))
        assert not self.error, self.error
        assert self.rounds, "nothing was done meanwhile"


def said_by(test, command):
    """What a command of the document prints while the device is used."""
    with Work(test):
        said = subprocess.run(
            ["sh", "-e", "-c", command], capture_output=True, text=True, check=False, timeout=SECONDS, cwd="/tmp"
        )
    print(command, said.stdout, said.stderr, sep="\n", flush=True)
    assert said.returncode == 0, f"{command.splitlines()[0]}: {said.stderr[-400:]}"
    return said.stdout


def trace_cmd_shows_events(test):
    """trace-cmd records all events, those that a filter lets pass, and why requests were refused."""
    everything, failures, refusals = (said_by(test, command) for command in commands("trace-cmd"))
    address = re.escape(test.function.address)
    for line in (
        rf"efa_admin_submit: +{address}: CREATE_AH id=",
        rf"efa_admin_complete: +{address}: DESTROY_AH id=\S+ status=0 \(success\) latency_ns=\d",
        rf"efa_ah_hit: +{address}: pd=\d+ gid=fe80:0000:\S+ ah=\d+ users=2 how=0 \(at once\)",
        rf"efa_ah_miss: +{address}: pd=",
        rf"efa_ah_create: +{address}: pd=\d+ gid=fe80:0000:\S+ ah=\d+ users=1 latency_ns=\d",
        rf"efa_ah_destroy: +{address}: pd=",
    ):
        assert re.search(line, everything), f"no line like {line}"
    assert re.search(r"efa_admin_complete: .*status=5 \(illegal parameter\)", failures), failures[-400:]
    assert re.search(r"efa_ah_failure: .*opcode=5 \(CREATE_AH\) error=-22", failures), failures[-400:]
    refusal = rf"efa_refused: +{address}: verb=create_ah field=is_global value=0 \S+ rule=0 \(exactly\) limit=1 \S+ error=-22"
    assert re.search(refusal, refusals), refusals[-400:]
    assert "success" not in failures, "the filter let a command pass that succeeded"


def bpftrace_counts_events(test):
    """bpftrace counts hits and misses of each process."""
    (hits,) = (said_by(test, command) for command in commands("bpftrace") if "args." not in command)
    counts = dict(re.findall(r"@(hits|misses)\[.*, \d+\]: (\d+)", hits))
    # Of each four handles that have a route two are found, one is created and one refused; but one of the two begins to be counted first.
    found, missed = int(counts["hits"]), int(counts["misses"])
    assert found > 4 and found / 2 < missed < found * 2, counts
