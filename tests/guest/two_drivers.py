# SPDX-License-Identifier: GPL-2.0
"""A kernel with an efa of its own, and ours installed beside it."""

import os
import subprocess

import module
import pci
import uverbs
from module import tool

ROOT = "/mnt/installed"
MODULES = f"{ROOT}/lib/modules/{os.uname().release}"
FILES = {"ours": f"{MODULES}/updates/efa.ko", "the kernel's own": f"{MODULES}/kernel/drivers/infiniband/hw/efa/efa.ko"}


def ours_binds_and_the_other_can_be_chosen(test):
    """What udev runs for the device loads ours; the kernel's own is loaded by its file; the one that is loaded stays."""
    bring(test)
    works_with(test, "ours")

    # A file brings nothing that it needs.
    tool("modprobe", "-d", ROOT, "-r", "efa")
    tool("modprobe", "-d", ROOT, "ib_uverbs")
    tool("insmod", FILES["the kernel's own"])
    works_with(test, "the kernel's own")
    bring(test)
    works_with(test, "the kernel's own")
    refused_with("File exists", "insmod", FILES["ours"])

    tool("modprobe", "-d", ROOT, "-r", "efa")
    bring(test)
    works_with(test, "ours")
    refused_with("File exists", "insmod", FILES["the kernel's own"])
    module.unload()


ours_binds_and_the_other_can_be_chosen.bare = True


def bring(test):
    """As udev does when it sees the device, and then the RDMA device."""
    tool("modprobe", "-d", ROOT, pci.read(f"{test.function.path}/modalias"))
    tool("modprobe", "-d", ROOT, "ib_uverbs")


def works_with(test, which):
    """That driver has the device, and its verbs work. The kernel's own has no version."""
    versions = {name: version_of(file) for name, file in FILES.items()}
    assert versions["ours"] and not versions["the kernel's own"], versions
    assert loaded_version() == versions[which], f"{which} is not what is loaded"
    assert test.function.bound(), f"{which} has not taken the device"
    with uverbs.Context(test.function.uverbs()) as context:
        pd = context.alloc_pd()
        pd.create_ah(uverbs.gid(1)).destroy()
        pd.dealloc()


def version_of(file):
    return subprocess.run(["modinfo", "-F", "version", file], capture_output=True, text=True, check=True).stdout.strip()


def loaded_version():
    path = "/sys/module/efa/version"
    return pci.read(path) if os.path.exists(path) else ""


def refused_with(words, *command):
    try:
        tool(*command)
    except OSError as error:
        assert words in str(error), error
        return
    raise AssertionError(f"{command} went well")
