# SPDX-License-Identifier: GPL-2.0
"""What surrounds every test program: a healthy device before it, the same device after it."""

import importlib

import kmsg
import module
import pci
import vefa


class Test:
    """What a test program gets: its parameters, the devices, the kernel log from here on."""

    def __init__(self, request):
        self.driver = request["driver"]
        self.full = request["size"] == "full"
        self.args = request.get("args") or {}
        self.log = kmsg.Log()
        count = min(len(pci.functions()), vefa.CONTROL_PORTS)
        self.devices = [vefa.Device(index) for index in range(count)]
        # Violations that the test itself brings about, by the name of the rule.
        self.expected_violations = set()
        self.notes = []

    @property
    def device(self):
        """The first virtual device."""
        return self.devices[0]

    @property
    def function(self):
        """The first PCI function."""
        return pci.Function(0)

    def function_at(self, index):
        return pci.Function(index)

    def note(self, text):
        """Says something beside the result of a test that passes."""
        print(text, flush=True)
        self.notes.append(text)

    def pick(self, short, full):
        """A loop count for the size of this run."""
        return full if self.full else short


def run(request):
    """Runs MODULE.FUNCTION and returns the reply for the runner."""
    file, name = request["run"].rsplit(".", 1)
    program = getattr(importlib.import_module(file), name)
    test = Test(request)
    if getattr(program, "bare", False):
        return {"status": "passed", "result": program(test)}
    before = prepare(test)
    try:
        result = program(test)
    finally:
        if not test.args.get("ends_devices"):
            for device in test.devices:
                device.clear_faults()
    if test.args.get("ends_devices"):
        return {"status": "passed", "result": result, "notes": test.notes}
    check_after(test, before)
    return {"status": "passed", "result": result, "notes": test.notes}


def prepare(test):
    """Loads the driver, binds every device, forgets what earlier tests left behind."""
    for device in test.devices:
        device.clear_faults()
        # Before the driver comes: what it breaks in its probe counts.
        device.violations(clear=True)
    module.load()
    for index in range(len(test.devices)):
        function = pci.Function(index)
        if not function.bound():
            function.bind()
        assert function.rdma(), f"{function.address} has no RDMA device before the test"
    return [device.objects() for device in test.devices]


def check_after(test, before):
    """The device holds what it held before, and saw nothing that its contract forbids."""
    for device, objects in zip(test.devices, before):
        broken = [v for v in device.violations() if v["rule"] not in test.expected_violations]
        assert not broken, f"contract violations: {broken[:3]}"
        assert not (text := changed(objects, device.objects())), text


def changed(before, now):
    """In words: which objects one has more, or fewer, than the other; empty if none."""
    more = {kind: count - before.get(kind, 0) for kind, count in now.items()}
    left = ", ".join(f"{count} {kind}" for kind, count in more.items() if count > 0)
    lost = ", ".join(f"{-count} {kind}" for kind, count in more.items() if count < 0)
    parts = [("left on the device", left), ("gone from the device", lost)]
    return "; ".join(f"{what}: {objects}" for what, objects in parts if objects)
