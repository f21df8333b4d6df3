# SPDX-License-Identifier: GPL-2.0
"""Open MPI over libfabric's EFA provider: ranks that exchange messages through the device."""

import os
import subprocess

import mpi_ranks
import programs

RANKS = (2, 4)  # in the short and in the full size
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe")
# Messages go to libfabric, and there to EFA, also between processes of one machine.
THROUGH_EFA = ("--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "opal_common_ofi_provider_include", "efa")
SECONDS = 240


def ranks_exchange_messages(test):
    """Messages of each size around a ring of ranks, every byte checked, and collectives; all through the device."""
    programs.network_up()
    ranks = test.pick(*RANKS)
    before = moved(test)
    command = [*MPIRUN, *THROUGH_EFA, "-n", str(ranks), "python3", mpi_ranks.__file__]
    environment = {**os.environ, "FI_EFA_ENABLE_SHM_TRANSFER": "0"}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment
    )
    print(result.stdout, result.stderr)
    assert result.returncode == 0, f"mpirun: {(result.stdout + result.stderr).strip()[-400:]}"
    count = moved(test) - before
    assert count >= ranks * sum(mpi_ranks.SIZES), f"only {count} bytes went through the device"
    test.note(f"{result.stdout.strip()}; {count} bytes through the device")


def moved(test):
    """Bytes that the device has sent, and that others have read from it."""
    return sum(test.function.counter(name, port=True) for name in ("send_bytes", "rdma_read_bytes", "rdma_write_bytes"))
