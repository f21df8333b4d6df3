// SPDX-License-Identifier: GPL-2.0
#include <rdma/uverbs_ioctl.h>

#include "rdma_shims.h"

void *rdma_shim_uverbs_attr_object(struct uverbs_attr_bundle *attrs, u16 attr)
{
	return uverbs_attr_get_obj(attrs, attr);
}
