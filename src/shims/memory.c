// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "rdma_shims.h"

void *rdma_shim_alloc_pages_exact(size_t size)
{
	return alloc_pages_exact(size, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
				       __GFP_ZERO | __GFP_NOWARN);
}

struct page *rdma_shim_virt_to_page(const void *addr)
{
	return virt_to_page(addr);
}

int rdma_shim_dma_mapping_error(struct device *dev, dma_addr_t addr)
{
	return dma_mapping_error(dev, addr);
}

pgprot_t rdma_shim_vma_noncached(const struct vm_area_struct *vma)
{
	return pgprot_noncached(vma->vm_page_prot);
}

pgprot_t rdma_shim_vma_writecombine(const struct vm_area_struct *vma)
{
	return pgprot_writecombine(vma->vm_page_prot);
}
