/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers whose declarations crate rdma gets through bindgen. What the
 * kernel crate has already (devices, locks, pages, ...) is not generated again:
 * see the allowlist in Kbuild.
 */
#ifndef RDMA_BINDINGS_H
#define RDMA_BINDINGS_H

#include <rdma/ib_verbs.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/iter.h>

#include "rdma_shims.h"

#endif
