// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/exporter: an ioctl() makes a dma-buf of one page, and returns its file descriptor. Importers
 * are refused as vfio-pci does (request 0: it wants to be able to revoke what it gives), or as the
 * RDMA core does (request 1: it lets nobody pin it).
 */
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

static int attach_revocable(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	return dma_buf_attach_revocable(attachment) ? 0 : -EOPNOTSUPP;
}

static int refuse_pin(struct dma_buf_attachment *attachment)
{
	return -EOPNOTSUPP;
}

static void unpin(struct dma_buf_attachment *attachment)
{
}

/* Nobody who is refused gets so far. */
static struct sg_table *map(struct dma_buf_attachment *attachment, enum dma_data_direction direction)
{
	return ERR_PTR(-EIO);
}

static void unmap(struct dma_buf_attachment *attachment, struct sg_table *table,
		  enum dma_data_direction direction)
{
}

static void release(struct dma_buf *dmabuf)
{
}

/* By the number of the request. */
static const struct dma_buf_ops kinds[] = {
	{
		.attach = attach_revocable,
		.map_dma_buf = map,
		.unmap_dma_buf = unmap,
		.release = release,
	}, {
		.pin = refuse_pin,
		.unpin = unpin,
		.map_dma_buf = map,
		.unmap_dma_buf = unmap,
		.release = release,
	},
};

static struct miscdevice device;

static long make_dmabuf(struct file *file, unsigned int request, unsigned long argument)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	int fd;

	if (request >= ARRAY_SIZE(kinds))
		return -ENOTTY;
	info.ops = &kinds[request];
	info.size = PAGE_SIZE;
	info.priv = &device;
	info.flags = O_RDWR | O_CLOEXEC;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = make_dmabuf,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "exporter",
	.fops = &operations,
};
module_misc_device(device);

MODULE_DESCRIPTION("dma-bufs for the tests of efa");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("DMA_BUF");
