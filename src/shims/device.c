// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/pci.h>
#include <linux/semaphore.h>
#include <linux/utsname.h>
#include <linux/workqueue.h>

#include "rdma_shims.h"

void rdma_shim_irq_set_affinity(unsigned int irq, unsigned int cpu)
{
	irq_set_affinity_and_hint(irq, cpumask_of(cpu));
}

void rdma_shim_irq_clear_affinity(unsigned int irq)
{
	irq_update_affinity_hint(irq, NULL);
}

void rdma_shim_sema_init(struct semaphore *sem, int count)
{
	sema_init(sem, count);
}

void rdma_shim_init_delayed_work(struct delayed_work *work, work_func_t function)
{
	INIT_DELAYED_WORK(work, function);
}

const char *rdma_shim_kernel_release(void)
{
	return init_utsname()->release;
}

const char *rdma_shim_kernel_version(void)
{
	return init_utsname()->version;
}

bool rdma_shim_pci_is_memory(struct pci_dev *pdev, u32 bar)
{
	return bar < PCI_STD_NUM_BARS && pci_resource_flags(pdev, bar) & IORESOURCE_MEM;
}

unsigned int rdma_shim_num_cpu_ids(void)
{
	return nr_cpu_ids;
}

unsigned int rdma_shim_first_online_cpu(void)
{
	return cpumask_first(cpu_online_mask);
}

unsigned int rdma_shim_num_online_cpus(void)
{
	return num_online_cpus();
}
