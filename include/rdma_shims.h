/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Rust cannot reach by itself: static inlines and macros of the kernel,
 * each wrapped in a function of one line. No logic lives here.
 */
#ifndef RDMA_SHIMS_H
#define RDMA_SHIMS_H

#include <linux/mm_types.h>
#include <linux/rhashtable.h>
#include <linux/types.h>
#include <linux/version.h>
#include <linux/workqueue.h>

/*
 * rhashtable: its fast paths are inlines that want constant parameters, so the
 * shape of an entry is fixed here: a link and an opaque key.
 */
#define RDMA_RHT_KEY_WORDS 6

struct rdma_rht_node {
	struct rhash_head link;
	struct kvfree_rcu_head rcu;
	u32 key[RDMA_RHT_KEY_WORDS];
};

int rdma_shim_rht_init(struct rhashtable *ht);
struct rdma_rht_node *rdma_shim_rht_lookup(struct rhashtable *ht, const u32 *key);
struct rdma_rht_node *rdma_shim_rht_lookup_or_insert(struct rhashtable *ht,
						     struct rdma_rht_node *node);
int rdma_shim_rht_remove(struct rhashtable *ht, struct rdma_rht_node *node);
u32 rdma_shim_rht_len(struct rhashtable *ht);
u32 rdma_shim_rht_bucket(struct rhashtable *ht, const u32 *key);
void rdma_shim_rht_free(struct rdma_rht_node *node);

/* The same for a walk over all nodes. A null pointer is the end of a bucket, or of the tables. */
struct bucket_table *rdma_shim_rht_table(struct rhashtable *ht);
struct bucket_table *rdma_shim_rht_future_table(struct rhashtable *ht, struct bucket_table *table);
struct rdma_rht_node *rdma_shim_rht_first(struct bucket_table *table, unsigned int bucket);
struct rdma_rht_node *rdma_shim_rht_next(struct rdma_rht_node *node);

/* Counters that each CPU has for itself. */
u64 __percpu *rdma_shim_percpu_alloc(size_t count);
void rdma_shim_percpu_free(u64 __percpu *counters);
void rdma_shim_percpu_inc(u64 __percpu *counters, size_t index);
u64 rdma_shim_percpu_sum(u64 __percpu *counters, size_t index);

/* Interrupts, waiting, and facts about devices and the machine. */
#define RDMA_SHIM_KERNEL_VERSION_CODE LINUX_VERSION_CODE

struct device;
struct pci_dev;
struct semaphore;

u64 rdma_shim_pinned_pages(void);
u64 rdma_shim_memlock_limit(void);
bool rdma_shim_may_pin_without_limit(void);
bool rdma_shim_is_behind_iommu(struct device *dev);
void rdma_shim_irq_set_affinity(unsigned int irq, unsigned int cpu);
void rdma_shim_irq_clear_affinity(unsigned int irq);
void rdma_shim_sema_init(struct semaphore *sem, int count);
void rdma_shim_init_delayed_work(struct delayed_work *work, work_func_t function);
const char *rdma_shim_kernel_release(void);
const char *rdma_shim_kernel_version(void);
bool rdma_shim_pci_is_memory(struct pci_dev *pdev, u32 bar);
unsigned int rdma_shim_num_cpu_ids(void);
unsigned int rdma_shim_first_online_cpu(void);
unsigned int rdma_shim_num_online_cpus(void);

/* Memory that has to be had. */
void *rdma_shim_kmalloc_nofail(size_t size);

/* Memory that a device and a process share. */
void *rdma_shim_alloc_pages_exact(size_t size, bool below_4_gib);
void rdma_shim_get_pages(const void *addr, size_t size);
bool rdma_shim_dma_bounces(struct device *dev);
bool rdma_shim_dma_is_coherent(struct device *dev);
struct page *rdma_shim_virt_to_page(const void *addr);
int rdma_shim_dma_mapping_error(struct device *dev, dma_addr_t addr);
pgprot_t rdma_shim_vma_noncached(const struct vm_area_struct *vma);
pgprot_t rdma_shim_vma_writecombine(const struct vm_area_struct *vma);

/* Methods that drivers add to the verbs. */
struct uverbs_attr_bundle;

void *rdma_shim_uverbs_attr_object(struct uverbs_attr_bundle *attrs, u16 attr);

/* Memory of user space. */
struct ib_block_iter;
struct ib_umem;

u64 rdma_shim_umem_dma_address(struct ib_umem *umem);
bool rdma_shim_umem_is_contiguous(struct ib_umem *umem);
size_t rdma_shim_umem_num_dma_blocks(struct ib_umem *umem, unsigned long size);
void rdma_shim_umem_blocks_start(struct ib_block_iter *iter, struct ib_umem *umem,
				 unsigned long size);
size_t rdma_shim_umem_blocks_write(struct ib_block_iter *iter, u8 *list, size_t count);

/* For the test that the bindings match the C compiler's layouts (KUnit only). */
struct rdma_shim_layout {
	const char *name;
	size_t value;
};

const struct rdma_shim_layout *rdma_shim_layout(unsigned int index);
u8 rdma_shim_robust_udata_byte(void);

struct uapi_definition;

const struct uapi_definition *rdma_shim_uverbs_sample(void);

#endif
