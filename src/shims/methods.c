// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's own methods: which attributes they have. Their handlers are in
 * Rust (rdma::mr_method!).
 */
#define UVERBS_MODULE_NAME efa
#include <rdma/efa-abi.h>
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_types.h>

#include "rdma_shims.h"

/* The interconnects by which the device reaches a memory region. */
int UVERBS_HANDLER(EFA_IB_METHOD_MR_QUERY)(struct uverbs_attr_bundle *attrs);

DECLARE_UVERBS_NAMED_METHOD(
	EFA_IB_METHOD_MR_QUERY,
	UVERBS_ATTR_IDR(EFA_IB_ATTR_QUERY_MR_HANDLE, UVERBS_OBJECT_MR, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(EFA_IB_ATTR_QUERY_MR_RESP_IC_ID_VALIDITY, UVERBS_ATTR_TYPE(u16),
			    UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(EFA_IB_ATTR_QUERY_MR_RESP_RECV_IC_ID, UVERBS_ATTR_TYPE(u16),
			    UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(EFA_IB_ATTR_QUERY_MR_RESP_RDMA_READ_IC_ID, UVERBS_ATTR_TYPE(u16),
			    UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(EFA_IB_ATTR_QUERY_MR_RESP_RDMA_RECV_IC_ID, UVERBS_ATTR_TYPE(u16),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(efa_mr_methods, UVERBS_OBJECT_MR, &UVERBS_METHOD(EFA_IB_METHOD_MR_QUERY));

/* The memory to which the device writes the two values of a completion counter. */
ADD_UVERBS_ATTRIBUTES_SIMPLE(
	efa_comp_cntr_attributes, UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_CREATE,
	UVERBS_ATTR_PTR_IN(EFA_IB_ATTR_CREATE_COMP_CNTR_COMP_BUFFER,
			   UVERBS_ATTR_STRUCT(struct ib_uverbs_buffer_desc, length),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(EFA_IB_ATTR_CREATE_COMP_CNTR_ERR_BUFFER,
			   UVERBS_ATTR_STRUCT(struct ib_uverbs_buffer_desc, length),
			   UA_MANDATORY));

extern const struct uapi_definition efa_methods[];
const struct uapi_definition efa_methods[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &efa_mr_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_COMP_CNTR, &efa_comp_cntr_attributes),
	{}
};
