// SPDX-License-Identifier: GPL-2.0
#include <linux/cc_platform.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/swiotlb.h>

#include "rdma_shims.h"

void *rdma_shim_kmalloc_nofail(size_t size)
{
	return kmalloc(size, GFP_KERNEL | __GFP_NOFAIL);
}

void *rdma_shim_alloc_pages_exact(size_t size, bool below_4_gib)
{
	return alloc_pages_exact(size, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
				       __GFP_ZERO | __GFP_NOWARN |
				       (below_4_gib ? GFP_DMA32 : 0));
}

/* The RDMA core, too, holds that a confidential guest's devices all do. */
bool rdma_shim_dma_bounces(struct device *dev)
{
	return cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT) ||
	       (is_swiotlb_force_bounce(dev) && !dev_dma_iommu(dev));
}

bool rdma_shim_dma_is_coherent(struct device *dev)
{
	return dev_is_dma_coherent(dev);
}

void rdma_shim_get_pages(const void *addr, size_t size)
{
	size_t offset;

	for (offset = 0; offset < size; offset += PAGE_SIZE)
		get_page(virt_to_page(addr + offset));
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
