// SPDX-License-Identifier: GPL-2.0
#include <linux/rhashtable.h>

#include "rdma_shims.h"

/*
 * With a length that the compiler knows. It takes the place of a call of
 * memcmp() with the length from the table, a tenth of a lookup.
 */
static int rdma_rht_compare(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct rdma_rht_node *node = obj;
	u64 key[3], wanted[3];

	BUILD_BUG_ON(sizeof(key) != sizeof(node->key));
	memcpy(key, node->key, sizeof(key));
	memcpy(wanted, arg->key, sizeof(wanted));
	return ((key[0] ^ wanted[0]) | (key[1] ^ wanted[1]) | (key[2] ^ wanted[2])) != 0;
}

static const struct rhashtable_params rdma_rht_params = {
	.key_len = sizeof_field(struct rdma_rht_node, key),
	.key_offset = offsetof(struct rdma_rht_node, key),
	.head_offset = offsetof(struct rdma_rht_node, link),
	.obj_cmpfn = rdma_rht_compare,
	.automatic_shrinking = true,
};

int rdma_shim_rht_init(struct rhashtable *ht)
{
	return rhashtable_init(ht, &rdma_rht_params);
}

struct rdma_rht_node *rdma_shim_rht_lookup(struct rhashtable *ht, const u32 *key)
{
	return rhashtable_lookup(ht, key, rdma_rht_params);
}

struct rdma_rht_node *rdma_shim_rht_lookup_or_insert(struct rhashtable *ht,
						     struct rdma_rht_node *node)
{
	return rhashtable_lookup_get_insert_fast(ht, &node->link, rdma_rht_params);
}

int rdma_shim_rht_remove(struct rhashtable *ht, struct rdma_rht_node *node)
{
	return rhashtable_remove_fast(ht, &node->link, rdma_rht_params);
}

u32 rdma_shim_rht_len(struct rhashtable *ht)
{
	return atomic_read(&ht->nelems);
}

#if IS_BUILTIN(CONFIG_KUNIT)
u32 rdma_shim_rht_bucket(struct rhashtable *ht, const u32 *key)
{
	guard(rcu)();
	return rht_key_hashfn(ht, rht_dereference_rcu(ht->tbl, ht), key, rdma_rht_params);
}
#endif

void rdma_shim_rht_free(struct rdma_rht_node *node)
{
	kfree_rcu(node, rcu);
}

struct bucket_table *rdma_shim_rht_table(struct rhashtable *ht)
{
	return rht_dereference_rcu(ht->tbl, ht);
}

struct bucket_table *rdma_shim_rht_future_table(struct rhashtable *ht, struct bucket_table *table)
{
	return rht_dereference_rcu(table->future_tbl, ht);
}

static struct rdma_rht_node *node_or_null(struct rhash_head *link)
{
	return rht_is_a_nulls(link) ? NULL : container_of(link, struct rdma_rht_node, link);
}

struct rdma_rht_node *rdma_shim_rht_first(struct bucket_table *table, unsigned int bucket)
{
	return node_or_null(rht_ptr_rcu(rht_bucket(table, bucket)));
}

struct rdma_rht_node *rdma_shim_rht_next(struct rdma_rht_node *node)
{
	return node_or_null(rcu_dereference(node->link.next));
}
