# SPDX-License-Identifier: GPL-2.0
"""Loading and unloading the drivers."""

import glob
import os
import subprocess

MODULES = "/mnt/modules"


def files():
    """The modules in load order; the EFA driver is the last."""
    return sorted(glob.glob(f"{MODULES}/*.ko*"))


def name(path):
    return os.path.basename(path).split("-", 1)[1].split(".ko")[0].replace("-", "_")


def loaded(module="efa"):
    return os.path.exists(f"/sys/module/{module}/refcnt")


def load(**parameters):
    """Loads what is not loaded yet, the EFA driver with parameters."""
    if not files():
        # The machine has it installed. Without udev nobody else loads what rdma-core's rules load for each RDMA device.
        tool("modprobe", "efa", *(f"{key}={value}" for key, value in parameters.items()))
        tool("modprobe", "ib_uverbs")
    for path in files():
        if not loaded(name(path)) and not os.path.exists(f"/sys/module/{name(path)}"):
            words = [f"{key}={value}" for key, value in parameters.items()] if name(path) == "efa" else []
            tool("insmod", path, *words)


def unload():
    """Removes the EFA driver; subprocess.CalledProcessError with its words where that fails."""
    tool("rmmod", "efa")


def reload():
    unload()
    load()


def load_only(_test):
    """A program of its own: loads the modules, for the tests that run when that happens."""
    load()
    assert loaded(), "the module is not there after it was loaded"


load_only.bare = True


def tool(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise OSError(f"{command[0]}: {result.stderr.strip()}")
