# SPDX-License-Identifier: GPL-2.0
"""What each rank of mpi.py does."""

# Bytes of a message; libfabric sends small ones, and lets the receiver read large ones.
SIZES = (0, 1, 8, 4096, 65536, 1 << 20)


def main():
    # Not where only the sizes are wanted: it starts MPI.
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for size in SIZES:
        around_the_ring(world, size)
    ranks = world.Get_size()
    total = world.allreduce(world.Get_rank() + 1)
    assert total == ranks * (ranks + 1) // 2, f"the sum over all ranks is {total}"
    world.Barrier()
    if world.Get_rank() == 0:
        print(f"{ranks} ranks of {MPI.Get_library_version().split(',')[0]}")


def around_the_ring(world, size):
    """Each rank sends to its right, and checks what comes from its left."""
    rank, ranks = world.Get_rank(), world.Get_size()
    left, right = (rank - 1) % ranks, (rank + 1) % ranks
    got = bytearray(size)
    world.Sendrecv(pattern(rank, size), right, recvbuf=got, source=left)
    assert got == pattern(left, size), f"rank {rank}: {size} bytes are not what rank {left} sent"


def pattern(rank, size):
    """Bytes that differ from rank to rank and from place to place."""
    block = bytes((rank * 17 + place) % 251 for place in range(251))
    return (block * (size // len(block) + 1))[:size]


if __name__ == "__main__":
    main()
