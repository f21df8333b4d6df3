# SPDX-License-Identifier: GPL-2.0
"""The main job: five threads that talk to one peer share one device address handle."""

import subprocess
import threading

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.providers.efa.efadv import EfaAH

import debugfs
import module

THREADS = 5
PEER = "fe80:0000:0000:0000:00ef:a100:0000:0001"


def five_threads(test):
    name = test.function.rdma()
    devinfo = subprocess.run(["ibv_devinfo", "-v", "-d", name], capture_output=True, text=True, check=False)
    assert devinfo.returncode == 0, f"ibv_devinfo: {devinfo.stderr}"

    creates, destroys = test.device.seen("create_ah", "destroy_ah")
    with Context(name=name) as context, PD(context) as pd:
        handles = create_together(pd)
        creates = test.device.seen("create_ah") - creates
        numbers = {handle.query_efa_ah().ahn for handle in handles}
        assert test.driver == "c" or len(numbers) == 1, f"different device handles: {numbers}"
        table = debugfs.text(test, "ah_cache") if test.driver == "rust" else ""
        for handle in handles:
            handle.close()
    destroys = test.device.seen("destroy_ah") - destroys

    return {
        "devinfo": devinfo.stdout,
        "handles": len(handles),
        "ah_cache": table,
        "create_ah": creates,
        "destroy_ah": destroys,
        "violations": test.device.violations(),
        "unload": unload_and_load(),
    }


def create_together(pd):
    """One address handle to the same peer from each of the threads."""
    gate = threading.Barrier(THREADS)
    handles, errors = [], []

    def create():
        route = GlobalRoute(dgid=GID(PEER), sgid_index=0)
        gate.wait()
        try:
            handles.append(EfaAH(pd, attr=AHAttr(gr=route, is_global=1, port_num=1)))
        except Exception as error:  # reported below, with all others
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, f"creating failed: {errors}"
    return handles


def unload_and_load():
    """What the unloading said, empty when it went well. The driver is back afterwards."""
    try:
        module.unload()
    except OSError as error:
        return str(error)
    module.load()
    return ""
