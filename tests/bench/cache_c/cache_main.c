// SPDX-License-Identifier: GPL-2.0
/*
 * The C driver's address handle cache without a device, to be measured: /dev/ah_cache_c.
 *
 * Each open file has a cache of its own, which the processes that inherit the file share. What the
 * requests mean is in tests/guest/bench_cache.py; cache_rust.ko serves the same ones.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "efa_ah_cache.h"

enum request { PAIRS = 0x6501, MILLISECONDS = 0x6502 };

#define KEY_SHIFT 24
/* After how many pairs the time is looked at. */
#define BATCH 64
#define PD 1

/* What the driver does to share an address handle: find it, and count one more user under its lock. */
static int use(struct efa_ah_cache *cache, u8 *gid, u16 *ah)
{
	struct efa_ah_cache_entry *entry = efa_ah_cache_get(cache, PD, gid);

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	mutex_lock(&entry->lock);
	*ah = entry->ah;
	entry->usecnt++;
	mutex_unlock(&entry->lock);
	return 0;
}

/* What it does at the end: find it again, and count one user less. */
static int unuse(struct efa_ah_cache *cache, u8 *gid)
{
	struct efa_ah_cache_entry *entry = efa_ah_cache_lookup(cache, PD, gid);

	if (!entry)
		return -EINVAL;
	mutex_lock(&entry->lock);
	entry->usecnt--;
	mutex_unlock(&entry->lock);
	efa_ah_cache_put(cache, entry);
	return 0;
}

static bool enough(unsigned int request, long done, long amount, ktime_t start)
{
	if (request == PAIRS)
		return done >= amount;
	return done % BATCH == 0 && ktime_ms_delta(ktime_get(), start) >= amount;
}

static long cache_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	struct efa_ah_cache *cache = file->private_data;
	long amount = arg & (BIT(KEY_SHIFT) - 1), done = 0;
	ktime_t start = ktime_get();
	u8 gid[EFA_AH_GID_SIZE];
	u16 ah;
	int err;

	if (request != PAIRS && request != MILLISECONDS)
		return -ENOTTY;
	memset(gid, 0xfe, sizeof(gid));
	gid[15] = arg >> KEY_SHIFT;
	err = use(cache, gid, &ah);
	while (!err && !enough(request, done, amount, start)) {
		err = use(cache, gid, &ah) ?: unuse(cache, gid);
		done++;
	}
	return err ?: unuse(cache, gid) ?: done;
}

static int cache_open(struct inode *inode, struct file *file)
{
	struct efa_ah_cache *cache = kzalloc(sizeof(*cache), GFP_KERNEL);
	int err;

	if (!cache)
		return -ENOMEM;
	err = efa_ah_cache_init(cache);
	if (err)
		kfree(cache);
	file->private_data = cache;
	return err;
}

static int cache_release(struct inode *inode, struct file *file)
{
	efa_ah_cache_destroy(file->private_data);
	kfree(file->private_data);
	return 0;
}

static const struct file_operations cache_fops = {
	.owner = THIS_MODULE,
	.open = cache_open,
	.release = cache_release,
	.unlocked_ioctl = cache_ioctl,
};

static struct miscdevice cache_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ah_cache_c",
	.fops = &cache_fops,
};

module_misc_device(cache_device);
MODULE_DESCRIPTION("The C driver's address handle cache alone");
MODULE_LICENSE("GPL");
