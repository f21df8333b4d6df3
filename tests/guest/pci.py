# SPDX-License-Identifier: GPL-2.0
"""EFA functions in sysfs, and the driver bound to them."""

import glob
import os
import time

VENDOR = "0x1d0f"
DRIVER = "/sys/bus/pci/drivers/efa"
# The command register of configuration space, and a bit of it.
COMMAND, BUS_MASTER = 4, 1 << 2


def functions():
    """The PCI addresses of all EFA functions, in order."""
    found = []
    for path in sorted(glob.glob("/sys/bus/pci/devices/*")):
        if read(f"{path}/vendor") == VENDOR:
            found.append(os.path.basename(path))
    return found


def behind_iommu(address):
    """Whether an IOMMU stands between a function and memory."""
    return os.path.exists(f"/sys/bus/pci/devices/{address}/iommu_group")


class Function:
    """One EFA function."""

    def __init__(self, index=0):
        self.address = functions()[index]
        self.path = f"/sys/bus/pci/devices/{self.address}"

    def bound(self):
        return os.path.exists(f"{self.path}/driver")

    def behind_iommu(self):
        """Whether what the device reaches is mapped for it."""
        return behind_iommu(self.address)

    def bind(self):
        """OSError with the probe's errno where the driver refuses the device."""
        write(f"{DRIVER}/bind", self.address)

    def unbind(self):
        write(f"{DRIVER}/unbind", self.address)

    def set_bus_master(self, on):
        """Turns bus mastering on or off, behind the back of any driver."""
        with open(f"{self.path}/config", "r+b", buffering=0) as config:
            command = int.from_bytes(os.pread(config.fileno(), 2, COMMAND), "little")
            command = command | BUS_MASTER if on else command & ~BUS_MASTER
            os.pwrite(config.fileno(), command.to_bytes(2, "little"), COMMAND)

    def rdma(self):
        """The name of the RDMA device, or None."""
        names = glob.glob(f"{self.path}/infiniband/*")
        return os.path.basename(names[0]) if names else None

    def uverbs(self):
        """The path of the uverbs device node."""
        names = glob.glob(f"{self.path}/infiniband_verbs/uverbs*")
        return f"/dev/infiniband/{os.path.basename(names[0])}" if names else None

    def gid(self):
        """The GID of the port."""
        return read(f"/sys/class/infiniband/{self.rdma()}/ports/1/gids/0")

    def counter(self, name, port=False):
        """A counter of the device, or of its port, fresh."""
        return self.counters([name], port)[name]

    def counters(self, names, port=False):
        """Counters of the device, or of its port, fresh: values are kept for some milliseconds."""
        directory = f"/sys/class/infiniband/{self.rdma()}{'/ports/1' if port else ''}/hw_counters"
        time.sleep(int(read(f"{directory}/lifespan")) / 1000 + 0.01)
        return {name: int(read(f"{directory}/{name}")) for name in names}

    def interrupts(self):
        """Lines of /proc/interrupts that belong to this function."""
        with open("/proc/interrupts", encoding="ascii") as table:
            return [line for line in table if self.address in line or "efa" in line]


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def write(path, text):
    # Unbuffered, so that the error comes from this write and not from a later close.
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
