// SPDX-License-Identifier: GPL-2.0
#include <linux/percpu.h>

#include "rdma_shims.h"

u64 __percpu *rdma_shim_percpu_alloc(size_t count)
{
	return __alloc_percpu(array_size(count, sizeof(u64)), sizeof(u64));
}

void rdma_shim_percpu_free(u64 __percpu *counters)
{
	free_percpu(counters);
}

void rdma_shim_percpu_inc(u64 __percpu *counters, size_t index)
{
	this_cpu_inc(counters[index]);
}

u64 rdma_shim_percpu_sum(u64 __percpu *counters, size_t index)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(&counters[index], cpu));
	return sum;
}
