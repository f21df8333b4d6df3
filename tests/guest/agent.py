# SPDX-License-Identifier: GPL-2.0
"""The guest's agent: runs one test program after another for the runner on the host.

It reads requests from the second serial port and answers there, one JSON object a line. Each
program runs in a process of its own, so that one that crashes or hangs takes nothing with it.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
import traceback

import harness
import kmsg
import serial_line

JOB = "/mnt"
REBOOT_POWER_OFF = 0x4321FEDC


def main():
    line = serial_line.Line("/dev/ttyS1")
    line.send({"ready": True})
    while True:
        request = line.receive()
        if request.get("power_off"):
            power_off()
        line.send(run(request))


def run(request):
    """Runs one test program and returns the reply."""
    name = request["name"]
    kmsg.write(f"efa-test: begin <{name}>")
    start = time.monotonic()
    reply = run_in_child(request)
    reply["seconds"] = time.monotonic() - start
    kmsg.write(f"efa-test: end <{name}>")
    return reply


def run_in_child(request):
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        be_the_program(request, write_end)
    os.close(write_end)
    text = read_line(read_end, time.monotonic() + request["timeout"])
    os.close(read_end)
    if text is None:
        return {"status": "failed", "reason": stop(child, request["timeout"])}
    _, status = os.waitpid(child, 0)
    end_group(child)
    if not text:
        return {"status": "failed", "reason": f"the program died: {os.waitstatus_to_exitcode(status)}"}
    return json.loads(text)


def be_the_program(request, write_end):
    """Never returns. What the program prints goes to the job directory, for a person to read."""
    os.setsid()
    log = os.open(f"{JOB}/out/{request['name']}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    reply = {"status": "failed", "reason": "the program did not come to an end"}
    try:
        reply = harness.run(request)
    except BaseException as error:  # anything at all is the test's result
        traceback.print_exc()
        reply = {"status": "failed", "reason": describe(error)}
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(write_end, json.dumps(reply).encode() + b"\n")
        os._exit(0)


def describe(error):
    """The error, and the line of the test that raised it."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(JOB)]
    tests = [frame for frame in places if os.path.basename(frame.filename) not in ("harness.py", "agent.py")]
    where = f"{os.path.basename(tests[-1].filename)}:{tests[-1].lineno}: " if tests else ""
    text = " ".join(str(error).split())
    if isinstance(error, AssertionError) and not text and tests:
        text = tests[-1].line  # the condition that does not hold
    return f"{where}{text}" if isinstance(error, AssertionError) and text else f"{where}{type(error).__name__}: {text}"


def read_line(fd, deadline):
    """The line that comes from fd, cut off where fd ends; None if neither happens by the deadline.

    Not all up to the end of fd: a process that a failed program left behind holds it open.
    """
    data = b""
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([fd], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return None
        chunk = os.read(fd, 65536)
        if not chunk:
            break
        data += chunk
    return data.decode()


def end_group(leader):
    """Kills what a program left behind."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop(child, seconds):
    """Kills a program that takes too long; says where in the kernel it is if it will not die."""
    stack = kernel_stack(child)
    os.killpg(child, signal.SIGKILL)
    for _ in range(50):
        done, _ = os.waitpid(child, os.WNOHANG)
        if done:
            return f"not done after {seconds} s"
        time.sleep(0.1)
    return f"not done after {seconds} s and cannot be killed; it is at {stack or kernel_stack(child)}"


def kernel_stack(process):
    try:
        with open(f"/proc/{process}/stack", encoding="ascii") as stack:
            return " < ".join(line.split()[-1] for line in stack if line.strip())
    except OSError:
        return ""


def power_off():
    os.sync()
    ctypes.CDLL(None).reboot(REBOOT_POWER_OFF)


if __name__ == "__main__":
    main()
