// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "rdma_shims.h"

u64 rdma_shim_umem_dma_address(struct ib_umem *umem)
{
	return ib_umem_start_dma_addr(umem);
}

bool rdma_shim_umem_is_contiguous(struct ib_umem *umem)
{
	return ib_umem_is_contiguous(umem);
}

size_t rdma_shim_umem_num_dma_blocks(struct ib_umem *umem, unsigned long size)
{
	return ib_umem_num_dma_blocks(umem, size);
}

void rdma_shim_umem_blocks_start(struct ib_block_iter *iter, struct ib_umem *umem,
				 unsigned long size)
{
	__rdma_umem_block_iter_start(iter, umem, size);
}

bool rdma_shim_umem_blocks_next(struct ib_block_iter *iter, u64 *address)
{
	if (!__rdma_umem_block_iter_next(iter))
		return false;
	*address = rdma_block_iter_dma_address(iter);
	return true;
}
