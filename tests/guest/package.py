# SPDX-License-Identifier: GPL-2.0
"""The driver as the package efa-rs-dkms has installed it."""

import os
import socket
import subprocess

import main_job
import module
import pci
from module import tool

# What a module from outside the kernel's tree leaves in the kernel, and one whose key the kernel does not know.
OUT_OF_TREE, UNKNOWN_KEY = 1 << 12, 1 << 13


def modprobe_takes_it(test):
    """What udev runs for the device loads the package's module, and what it needs, into Debian's own kernel."""
    module.unload()
    modalias = pci.read(f"{test.function.path}/modalias")
    tool("modprobe", modalias)
    release = os.uname().release
    file = modinfo("filename")
    assert f"/lib/modules/{release}/updates/dkms/efa.ko" in file, file
    for field in ("version", "srcversion"):
        assert pci.read(f"/sys/module/efa/{field}") == modinfo(field), field
    assert module.loaded("ib_uverbs")
    taint = int(pci.read("/proc/sys/kernel/tainted"))
    assert taint & OUT_OF_TREE and not taint & ~(OUT_OF_TREE | UNKNOWN_KEY), f"tainted: {taint:#x}"
    name = test.function.rdma()
    devices = subprocess.run(["ibv_devinfo", "-l"], capture_output=True, text=True, check=True).stdout
    assert name in devices, devices
    test.note(f"Linux {release}, efa {modinfo('version')} ({modinfo('srcversion')}), signed by {modinfo('signer')}, taint {taint:#x}, {name}")


def modinfo(field):
    return subprocess.run(["modinfo", "-F", field, "efa"], capture_output=True, text=True, check=True).stdout.strip()


def five_threads_share_one_handle(test):
    numbers = main_job.five_threads(test)
    assert (numbers["handles"], numbers["create_ah"], numbers["destroy_ah"]) == (5, 1, 1), numbers
    assert not numbers["unload"], numbers["unload"]


def report_has_the_device_and_no_address(test):
    """efa-report gathers what a person needs to look into a problem, and nothing that is private."""
    socket.sethostname("a-private-name")
    said = subprocess.run(["efa-report"], capture_output=True, text=True, check=True).stdout
    for wanted in (f"hca_id:\t{test.function.rdma()}", test.function.address, modinfo("srcversion"), "ah_cache", os.uname().release):
        assert wanted in said, f"{wanted} is not in the report"
    for private in ("a-private-name", test.function.gid(), test.function.gid()[:19]):
        assert private not in said, f"{private} is in the report"
