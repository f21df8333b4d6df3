# SPDX-License-Identifier: GPL-2.0
"""What the device is called and says of itself."""

import json
import os
import subprocess

import ioctl
import pci
import uverbs

DEVICE_COUNTERS = {
    "submitted_cmds", "completed_cmds", "cmds_err", "no_completion_cmds", "keep_alive_rcvd", "alloc_pd_err",
    "create_qp_err", "create_cq_err", "reg_mr_err", "alloc_ucontext_err", "create_ah_err", "mmap_err",
}


def output(*command, **environment):
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert result.returncode == 0, f"{command[0]}: {(result.stderr or result.stdout).strip()}"
    return result.stdout


def devinfo_is_sensible(test):
    """O3: the GUIDs are not zero, the firmware version is there."""
    name = test.function.rdma()
    text = output("ibv_devinfo", "-d", name)
    fields = dict(line.strip().split(":", 1) for line in text.splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    for guid in ("node_guid", "sys_image_guid"):
        assert set(fields[guid]) - set("0:"), f"{guid} is {fields[guid]}"
    assert fields["fw_ver"].strip("."), f"fw_ver is `{fields['fw_ver']}`"
    assert int(fields["vendor_id"], 16) == 0x1D0F
    assert int(fields["vendor_part_id"]) == int(pci.read(f"{test.function.path}/device"), 16)
    assert fields["state"].startswith("PORT_ACTIVE"), fields["state"]
    driver = os.path.basename(os.readlink(f"/sys/class/infiniband/{name}/device/driver"))
    assert driver == "efa", f"the PCI driver's name is {driver}"
    guid = pci.read(f"/sys/class/infiniband/{name}/node_guid")
    assert guid.replace(":", "") == fields["node_guid"].replace(":", "")


def renamed_device_is_found(test):
    """O5: udev renames the device; rdma-core and libfabric still find it."""
    name, renamed = test.function.rdma(), "rdmap1s0"
    output("rdma", "dev", "set", name, "name", renamed)
    try:
        assert renamed in output("ibv_devices")
        output("ibv_devinfo", "-d", renamed)
        found = output("fi_info", "-p", "efa", FI_EFA_ENABLE_SHM_TRANSFER="0")
        assert renamed in found, f"libfabric does not name {renamed}"
    finally:
        output("rdma", "dev", "set", renamed, "name", name)


def device_counters_have_their_names(test):
    """Exporters look for these names."""
    directory = f"/sys/class/infiniband/{test.function.rdma()}/hw_counters"
    names = set(os.listdir(directory)) - {"lifespan"}
    assert names == DEVICE_COUNTERS, f"missing {DEVICE_COUNTERS - names}, unknown {names - DEVICE_COUNTERS}"


def netlink_knows_the_driver(test):
    """rdma-core's tools see the device with its port."""
    devices = json.loads(output("rdma", "-j", "dev", "show"))
    assert any(device["ifname"] == test.function.rdma() for device in devices), devices


def every_generation_is_taken(_test):
    """The driver takes each device id that there is, and says which one it is."""
    for index, address in enumerate(pci.functions()):
        function = pci.Function(index)
        assert function.rdma(), f"{address} ({pci.read(function.path + '/device')}) has no RDMA device"
        with uverbs.Context(function.uverbs()) as context:
            pd = context.alloc_pd()
            pd.create_ah(uverbs.gid(1)).destroy()
            pd.dealloc()
        text = output("ibv_devinfo", "-d", function.rdma())
        part = int(pci.read(f"{function.path}/device"), 16)
        assert f"vendor_part_id:\t\t\t{part}" in text, f"{address}: not part {part}"


def port_speed_is_the_devices(test):
    """Programs may ask for the speed itself; width and speed of lanes, and with them sysfs, tell the nearest below."""
    try:
        for gbps, rate in ((100, 100), (800, 800), (900, 800), (1600, 1600)):
            test.function.unbind()
            test.device.set(max_link_speed_gbps=gbps)
            test.function.bind()
            with uverbs.Context(test.function.uverbs()) as context:
                assert ioctl.port_speed(context) == 10 * gbps
            found = pci.read(f"/sys/class/infiniband/{test.function.rdma()}/ports/1/rate")
            assert found.startswith(f"{rate} Gb/sec"), f"at {gbps} Gbit/s: {found}"
    finally:
        test.function.unbind()
        test.device.set(max_link_speed_gbps=100)
        test.function.bind()


def device_is_told_the_drivers_own_version(test):
    """What the module's version has before +rs is for tools; the kernel's own driver has none and tells none."""
    first = test.device.next_seq()
    test.function.unbind()
    test.function.bind()
    file = "/sys/module/efa/version"
    version = pci.read(file).partition("+rs")[2] if os.path.exists(file) else ""
    major, minor, sub_minor = (int(number) for number in version.split("+")[0].split(".")) if version else (0, 0, 0)
    told = [entry["driver_version"] for entry in test.device.log(first) if "driver_version" in entry]
    assert told == [major << 24 | minor << 16 | sub_minor << 8], f"{told}, of version {version}"
