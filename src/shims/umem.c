// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/sched/signal.h>
#include <linux/unaligned.h>

#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "rdma_shims.h"

u64 rdma_shim_pinned_pages(void)
{
	return atomic64_read(&current->mm->pinned_vm);
}

u64 rdma_shim_memlock_limit(void)
{
	return rlimit(RLIMIT_MEMLOCK);
}

bool rdma_shim_may_pin_without_limit(void)
{
	return capable(CAP_IPC_LOCK);
}

bool rdma_shim_is_behind_iommu(struct device *dev)
{
	return device_iommu_mapped(dev);
}

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

size_t rdma_shim_umem_blocks_write(struct ib_block_iter *iter, u8 *list, size_t count)
{
	size_t written;

	for (written = 0; written < count && __rdma_umem_block_iter_next(iter); written++)
		put_unaligned_le64(rdma_block_iter_dma_address(iter),
				   list + written * sizeof(u64));
	return written;
}
