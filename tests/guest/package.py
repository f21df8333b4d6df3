# SPDX-License-Identifier: GPL-2.0
"""The driver as the package efa-rs-dkms has installed it."""

import os
import socket
import subprocess
import tempfile

import kmsg
import main_job
import module
import pci
import uverbs
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
    taint = int(pci.read("/proc/sys/kernel/tainted"))
    assert taint & OUT_OF_TREE and not taint & ~(OUT_OF_TREE | UNKNOWN_KEY), f"tainted: {taint:#x}"
    name = test.function.rdma()
    devices = subprocess.run(["ibv_devinfo", "-l"], capture_output=True, text=True, check=True).stdout
    assert name in devices, devices
    test.note(f"Linux {release}, efa {modinfo('version')} ({modinfo('srcversion')}), signed by {modinfo('signer')}, taint {taint:#x}, {name}")


def is_unloaded_beside_what_uses_verbs(test):
    """modprobe -r removes the driver and ends well while others hold ib_uverbs; the next program brings that where it is gone."""
    tool("modprobe", "rdma_ucm")
    with uverbs.Context(test.function.uverbs()):
        tool("modprobe", "-r", "efa")
        assert not module.loaded() and module.loaded("ib_uverbs")

    tool("modprobe", "-r", "rdma_ucm")
    assert not module.loaded("ib_uverbs"), "who held ib_uverbs is gone"
    tool("modprobe", "efa")
    assert not module.loaded("ib_uverbs")
    subprocess.run(["ibv_devinfo", "-d", test.function.rdma()], capture_output=True, check=True)
    assert module.loaded("ib_uverbs")


def modinfo(field):
    return subprocess.run(["modinfo", "-F", field, "efa"], capture_output=True, text=True, check=True).stdout.strip()


def five_threads_share_one_handle(test):
    numbers = main_job.five_threads(test)
    assert (numbers["handles"], numbers["create_ah"], numbers["destroy_ah"]) == (5, 1, 1), numbers
    assert not numbers["unload"], numbers["unload"]


def report_has_the_device_and_no_address(test):
    """efa-report gathers what a person needs to look into a problem, and nothing that is private."""
    socket.sethostname("a-private-name")
    kmsg.write("private.service: efa: a program's line")
    said = report()
    devinfo = subprocess.run(["ibv_devinfo"], capture_output=True, text=True, check=True).stdout
    firmware = next(line.strip() for line in devinfo.splitlines() if "fw_ver" in line)
    for wanted in (f"hca_id:\t{test.function.rdma()}", test.function.address, modinfo("srcversion"), "ah_cache", os.uname().release, firmware):
        assert wanted in said, f"{wanted} is not in the report"
    assert "/lifespan:" not in said, "lifespan is listed as a counter"
    for private in ("a-private-name", test.function.gid(), test.function.gid()[:19], "private.service", "Command line:"):
        assert private not in said, f"{private} is in the report"


# What a kernel may say that is of use, and what of it nobody else is to know.
PRIVATE = "private-word"
LOG = f"""\
[    0.000000] Command line: ds=nocloud;s=http://u:{PRIVATE}@host/ efa.x=1
[    0.000000] Unknown kernel command line parameters "efa={PRIVATE}", will be passed to user space.
[    1.000000] kvm: host DEBUGCTL {PRIVATE}
[    2.000000] BUG: Bad page state in process {PRIVATE} two  pfn:12345
[    2.000001] CPU: 1 UID: 0 PID: 77 Comm: {PRIVATE} Tainted: G           OE
[    2.000002] CPU: 1 UID: 0 PID: 77 Comm: {PRIVATE} Not tainted 7.3.4
[    2.000003] INFO: task {PRIVATE}:99 blocked for more than 120 seconds.
[    3.000000] efa 0000:01:00.0: 6f1e0a1b-1111-2222-3333-444455556666 0x02efa00000000001 ENI-0123456789abcdef0 10.1.2.3
[    4.000000] efa 0000:01:00.0: \x1b[31mip-10-0-1-23.ec2.internal\xff\x00 02-42-ac-11-00-02
"""
MASKED = (PRIVATE, "6f1e0a1b", "0x02efa0", "ENI-0", "10.1.2.3", "10-0-1-23", "ec2.internal", "02-42-ac", "\x1b")
STAYS = ("Bad page state in process <process>  pfn:12345", "PID: 77 Comm: <process> Tainted", "INFO: task <process>:99 blocked", "efa 0000:01:00.0: <uuid")


def report_masks_what_the_kernel_says(_test):
    """Names of processes, and what identifies the machine, do not get into a report with the kernel's lines."""
    with tempfile.TemporaryDirectory() as directory:
        dmesg = f"{directory}/dmesg"
        with open(f"{directory}/log", "w", encoding="latin-1") as file:
            file.write(LOG)
        with open(dmesg, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ncat {directory}/log\n")
        os.chmod(dmesg, 0o755)
        said = report(PATH=f"{directory}:{os.environ['PATH']}")
    for wanted in STAYS:
        assert wanted in said, f"{wanted} is not in the report"
    for private in MASKED:
        assert private not in said, f"{private} is in the report"


def report(**environment):
    said = subprocess.run(["efa-report"], capture_output=True, check=True, env={**os.environ, **environment}).stdout
    return said.decode("latin-1")
