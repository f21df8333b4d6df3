// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes and offsets, as the C compiler has them, of what crate rdma uses of the
 * RDMA core's structures: src/rdma/layout.rs compares them with its bindings.
 */
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/iter.h>
#include <rdma/uverbs_ioctl.h>

#include "rdma_shims.h"

#define SIZE(type) { #type, sizeof(struct type) }
#define OFFSET(type, member) { #type "." #member, offsetof(struct type, member) }

static const struct rdma_shim_layout layouts[] = {
	SIZE(ib_device),
	OFFSET(ib_device, ops),
	OFFSET(ib_device, num_comp_vectors),
	OFFSET(ib_device, dev),
	OFFSET(ib_device, dma_device),
	OFFSET(ib_device, driver_def),
	OFFSET(ib_device, node_guid),
	OFFSET(ib_device, node_type),
	OFFSET(ib_device, phys_port_cnt),

	SIZE(ib_device_ops),
	OFFSET(ib_device_ops, owner),
	OFFSET(ib_device_ops, driver_id),
	OFFSET(ib_device_ops, uverbs_abi_ver),
	OFFSET(ib_device_ops, device_group),
	OFFSET(ib_device_ops, alloc_hw_device_stats),
	OFFSET(ib_device_ops, alloc_hw_port_stats),
	OFFSET(ib_device_ops, alloc_pd),
	OFFSET(ib_device_ops, alloc_ucontext),
	OFFSET(ib_device_ops, create_qp),
	OFFSET(ib_device_ops, create_comp_cntr),
	OFFSET(ib_device_ops, create_user_ah),
	OFFSET(ib_device_ops, create_user_cq),
	OFFSET(ib_device_ops, dealloc_pd),
	OFFSET(ib_device_ops, dealloc_ucontext),
	OFFSET(ib_device_ops, dereg_mr),
	OFFSET(ib_device_ops, destroy_ah),
	OFFSET(ib_device_ops, destroy_comp_cntr),
	OFFSET(ib_device_ops, destroy_cq),
	OFFSET(ib_device_ops, destroy_qp),
	OFFSET(ib_device_ops, disassociate_ucontext),
	OFFSET(ib_device_ops, get_dev_fw_str),
	OFFSET(ib_device_ops, get_hw_stats),
	OFFSET(ib_device_ops, get_link_layer),
	OFFSET(ib_device_ops, get_port_immutable),
	OFFSET(ib_device_ops, mmap),
	OFFSET(ib_device_ops, mmap_free),
	OFFSET(ib_device_ops, modify_qp),
	OFFSET(ib_device_ops, modify_comp_cntr),
	OFFSET(ib_device_ops, qp_attach_comp_cntr),
	OFFSET(ib_device_ops, query_comp_cntr_caps),
	OFFSET(ib_device_ops, query_device),
	OFFSET(ib_device_ops, query_gid),
	OFFSET(ib_device_ops, query_pkey),
	OFFSET(ib_device_ops, query_port),
	OFFSET(ib_device_ops, query_port_speed),
	OFFSET(ib_device_ops, query_qp),
	OFFSET(ib_device_ops, reg_user_mr),
	OFFSET(ib_device_ops, reg_user_mr_dmabuf),
	OFFSET(ib_device_ops, size_ib_ah),
	OFFSET(ib_device_ops, size_ib_comp_cntr),
	OFFSET(ib_device_ops, size_ib_cq),
	OFFSET(ib_device_ops, size_ib_pd),
	OFFSET(ib_device_ops, size_ib_qp),
	OFFSET(ib_device_ops, size_ib_ucontext),

	SIZE(ib_device_attr),
	OFFSET(ib_device_attr, fw_ver),
	OFFSET(ib_device_attr, sys_image_guid),
	OFFSET(ib_device_attr, max_mr_size),
	OFFSET(ib_device_attr, page_size_cap),
	OFFSET(ib_device_attr, vendor_id),
	OFFSET(ib_device_attr, vendor_part_id),
	OFFSET(ib_device_attr, hw_ver),
	OFFSET(ib_device_attr, max_qp),
	OFFSET(ib_device_attr, max_qp_wr),
	OFFSET(ib_device_attr, max_send_sge),
	OFFSET(ib_device_attr, max_recv_sge),
	OFFSET(ib_device_attr, max_sge_rd),
	OFFSET(ib_device_attr, max_cq),
	OFFSET(ib_device_attr, max_cqe),
	OFFSET(ib_device_attr, max_mr),
	OFFSET(ib_device_attr, max_pd),
	OFFSET(ib_device_attr, max_ah),
	OFFSET(ib_device_attr, max_pkeys),

	SIZE(ib_port_attr),
	OFFSET(ib_port_attr, state),
	OFFSET(ib_port_attr, max_mtu),
	OFFSET(ib_port_attr, active_mtu),
	OFFSET(ib_port_attr, gid_tbl_len),
	OFFSET(ib_port_attr, max_msg_sz),
	OFFSET(ib_port_attr, pkey_tbl_len),
	OFFSET(ib_port_attr, lmc),
	OFFSET(ib_port_attr, max_vl_num),
	OFFSET(ib_port_attr, active_width),
	OFFSET(ib_port_attr, active_speed),
	OFFSET(ib_port_attr, phys_state),

	SIZE(ib_port_immutable),
	OFFSET(ib_port_immutable, pkey_tbl_len),
	OFFSET(ib_port_immutable, gid_tbl_len),

	SIZE(ib_udata),
	OFFSET(ib_udata, inbuf),
	OFFSET(ib_udata, inlen),

	SIZE(uverbs_attr_bundle_hdr),
	OFFSET(uverbs_attr_bundle_hdr, driver_udata),
	OFFSET(uverbs_attr_bundle_hdr, ucore),
	OFFSET(uverbs_attr_bundle_hdr, context),
	OFFSET(uverbs_attr_bundle_hdr, uobject),
	OFFSET(uverbs_attr_bundle_hdr, method_elm),

	SIZE(rdma_user_mmap_entry),
	OFFSET(rdma_user_mmap_entry, start_pgoff),

	SIZE(uverbs_attr_bundle),
	OFFSET(uverbs_attr_bundle, hdr),

	SIZE(uapi_definition),

	SIZE(ib_uobject),
	OFFSET(ib_uobject, list),

	SIZE(ib_ucontext),
	OFFSET(ib_ucontext, device),

	SIZE(ib_pd),
	OFFSET(ib_pd, device),

	SIZE(ib_ah),
	OFFSET(ib_ah, device),
	OFFSET(ib_ah, pd),

	SIZE(ib_cq),
	OFFSET(ib_cq, device),
	OFFSET(ib_cq, uobject),
	OFFSET(ib_cq, comp_handler),
	OFFSET(ib_cq, cq_context),
	OFFSET(ib_cq, cqe),

	SIZE(ib_cq_init_attr),
	OFFSET(ib_cq_init_attr, cqe),
	OFFSET(ib_cq_init_attr, comp_vector),
	OFFSET(ib_cq_init_attr, flags),

	SIZE(ib_comp_cntr),
	OFFSET(ib_comp_cntr, device),

	SIZE(ib_comp_cntr_caps),
	OFFSET(ib_comp_cntr_caps, max_value),
	OFFSET(ib_comp_cntr_caps, max_counters),
	OFFSET(ib_comp_cntr_caps, supported_qp_attach_ops),

	SIZE(ib_qp_attach_comp_cntr_attr),
	OFFSET(ib_qp_attach_comp_cntr_attr, op_mask),

	SIZE(ib_mr),
	OFFSET(ib_mr, device),
	OFFSET(ib_mr, lkey),
	OFFSET(ib_mr, rkey),
	OFFSET(ib_mr, iova),
	OFFSET(ib_mr, length),
	OFFSET(ib_mr, uobject),

	SIZE(ib_umem),
	OFFSET(ib_umem, ibdev),

	SIZE(ib_umem_dmabuf),
	OFFSET(ib_umem_dmabuf, umem),

	SIZE(ib_block_iter),

	SIZE(rdma_ah_init_attr),
	OFFSET(rdma_ah_init_attr, ah_attr),
	OFFSET(rdma_ah_init_attr, flags),

	SIZE(rdma_ah_attr),
	OFFSET(rdma_ah_attr, grh),
	OFFSET(rdma_ah_attr, ah_flags),

	SIZE(ib_global_route),
	OFFSET(ib_global_route, dgid),

	SIZE(ib_qp),
	OFFSET(ib_qp, device),
	OFFSET(ib_qp, pd),
	OFFSET(ib_qp, send_cq),
	OFFSET(ib_qp, recv_cq),
	OFFSET(ib_qp, uobject),
	OFFSET(ib_qp, qp_context),
	OFFSET(ib_qp, qp_num),
	OFFSET(ib_qp, qp_type),

	SIZE(ib_qp_init_attr),
	OFFSET(ib_qp_init_attr, send_cq),
	OFFSET(ib_qp_init_attr, recv_cq),
	OFFSET(ib_qp_init_attr, srq),
	OFFSET(ib_qp_init_attr, cap),
	OFFSET(ib_qp_init_attr, qp_type),
	OFFSET(ib_qp_init_attr, create_flags),
	OFFSET(ib_qp_init_attr, rwq_ind_tbl),

	SIZE(ib_qp_cap),
	OFFSET(ib_qp_cap, max_send_wr),
	OFFSET(ib_qp_cap, max_recv_wr),
	OFFSET(ib_qp_cap, max_send_sge),
	OFFSET(ib_qp_cap, max_recv_sge),
	OFFSET(ib_qp_cap, max_inline_data),

	SIZE(ib_qp_attr),
	OFFSET(ib_qp_attr, qp_state),
	OFFSET(ib_qp_attr, cur_qp_state),
	OFFSET(ib_qp_attr, qkey),
	OFFSET(ib_qp_attr, sq_psn),
	OFFSET(ib_qp_attr, cap),
	OFFSET(ib_qp_attr, pkey_index),
	OFFSET(ib_qp_attr, en_sqd_async_notify),
	OFFSET(ib_qp_attr, sq_draining),
	OFFSET(ib_qp_attr, port_num),
	OFFSET(ib_qp_attr, rnr_retry),

	SIZE(rdma_hw_stats),
	OFFSET(rdma_hw_stats, timestamp),
	OFFSET(rdma_hw_stats, lifespan),
	OFFSET(rdma_hw_stats, num_counters),
	OFFSET(rdma_hw_stats, value),

	SIZE(rdma_stat_desc),
	OFFSET(rdma_stat_desc, name),
	OFFSET(rdma_stat_desc, flags),
	OFFSET(rdma_stat_desc, priv),
};

const struct rdma_shim_layout *rdma_shim_layout(unsigned int index)
{
	return index < ARRAY_SIZE(layouts) ? &layouts[index] : NULL;
}

/* A bit-field has no offset: what the byte that holds it looks like instead. */
u8 rdma_shim_robust_udata_byte(void)
{
	const struct ib_device_ops ops = { .uverbs_robust_udata = 1 };

	return ((const u8 *)&ops)[offsetofend(struct ib_device_ops, uverbs_abi_ver)];
}

/* What src/rdma/uverbs.rs makes for drivers, by the macros that C drivers have: a sample of each. */
#define UVERBS_MODULE_NAME rdma_shim
#include <rdma/uverbs_named_ioctl.h>

enum {
	SAMPLE_HANDLE = 1U << UVERBS_ID_NS_SHIFT,
	SAMPLE_U16,
	SAMPLE_U64,
	SAMPLE_BUFFER = SAMPLE_HANDLE,
	SAMPLE_METHOD = SAMPLE_U16,
};

static int UVERBS_HANDLER(SAMPLE_METHOD)(struct uverbs_attr_bundle *attrs)
{
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(
	SAMPLE_METHOD,
	UVERBS_ATTR_IDR(SAMPLE_HANDLE, UVERBS_OBJECT_MR, UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(SAMPLE_U16, UVERBS_ATTR_TYPE(u16), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(SAMPLE_U64, UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

ADD_UVERBS_METHODS(sample_methods, UVERBS_OBJECT_MR, &UVERBS_METHOD(SAMPLE_METHOD));

ADD_UVERBS_ATTRIBUTES_SIMPLE(
	sample_attributes, UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_CREATE,
	UVERBS_ATTR_PTR_IN(SAMPLE_BUFFER, UVERBS_ATTR_STRUCT(struct ib_uverbs_buffer_desc, length),
			   UA_MANDATORY));

static const struct uapi_definition sample[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &sample_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_COMP_CNTR, &sample_attributes),
	{}
};

const struct uapi_definition *rdma_shim_uverbs_sample(void)
{
	return sample;
}
