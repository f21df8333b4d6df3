# SPDX-License-Identifier: GPL-2.0
"""What the debug kernel's checkers say at the end, when the driver has been unloaded."""

import os
import time

import module
import pci

DEBUGFS = "/sys/kernel/debug"
KMEMLEAK = f"{DEBUGFS}/kmemleak"
# kmemleak does not look at what is younger than five seconds.
KMEMLEAK_AGE_SECONDS = 6


def nothing_is_left(test):
    """The checkers have been at work all the time, and find nothing that the driver left behind."""
    checkers_are_on()
    groups = [pci.behind_iommu(address) for address in pci.functions()]
    assert all(behind == test.args["iommu"] for behind in groups), f"behind an IOMMU: {groups}"
    if module.loaded():
        module.unload()
    assert not (pages := pinned_pages()), f"{pages} pages are still pinned"
    if not has_debugfs():
        return
    assert not (mappings := dma_mappings()), f"{len(mappings)} DMA mappings are left: {mappings[0]}"
    assert not (leaks := unreferenced()), f"memory that nothing points to: {leaks}"


nothing_is_left.bare = True


def has_debugfs():
    """Whether the checkers that speak in debugfs can be asked: one machine is there to have none."""
    return "debugfs=off" not in read("/proc/cmdline").split()


def there():
    """Whether this is a kernel with checkers."""
    return os.path.exists(KMEMLEAK)


def checkers_are_on():
    """Each of them turns itself off after a first report, or when it runs out of memory."""
    locks = dict(line.split(":", 1) for line in read("/proc/lockdep_stats").splitlines() if ":" in line)
    assert any(name.strip() == "debug_locks" and int(value) for name, value in locks.items()), "lockdep is off"
    if has_debugfs():
        assert read(f"{DEBUGFS}/dma-api/disabled").strip() == "N", "DMA-API debugging is off"
        assert there(), "kmemleak is off"


def dma_mappings():
    """What is mapped for the devices: a line for each."""
    addresses = pci.functions()
    return [line for line in read(f"{DEBUGFS}/dma-api/dump").splitlines() if any(a in line for a in addresses)]


def pinned_pages():
    counts = dict(line.split() for line in read("/proc/vmstat").splitlines())
    return int(counts["nr_foll_pin_acquired"]) - int(counts["nr_foll_pin_released"])


def unreferenced():
    """What kmemleak reports; it looks twice, since an object that changes between is in use."""
    time.sleep(KMEMLEAK_AGE_SECONDS)
    for _ in range(2):
        with open(KMEMLEAK, "w", encoding="ascii") as control:
            control.write("scan")
    report = read(KMEMLEAK)
    print(report)
    return " ".join(report.split())


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
