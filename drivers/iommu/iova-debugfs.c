// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of the IOVA allocator for people, by IOMMU group:
 *
 *	/sys/kernel/debug/iommu/groups/<grp_id>/iova
 *
 * and beside it, those of its flush queue in flush_queue.
 *
 * Each line is a key, a space and a number. A group whose default domain is no
 * DMA domain has empty files. The keys are explained one by one in
 * Documentation/admin-guide/iommu-dma-scaling.rst.
 *
 * Locking and lifetime
 *
 * A reader finds the domain by way of iommu_group_for_each_dev(), which holds the
 * group's mutex: as long as the group has a device, it keeps its default domain,
 * and domains are changed and freed under the mutex. Inside, the allocator's
 * spinlocks are taken one at a time.
 *
 * The directory goes when the last reference to the group has gone, and before
 * its memory does. Removing it waits for readers that are inside. These want no
 * lock but the group's mutex, which only they can hold then, so that the remover
 * may hold whatever it likes.
 */
#include <linux/debugfs.h>
#include <linux/iommu.h>
#include <linux/seq_file.h>

#include "dma-iommu.h"
#include "flush-queue.h"
#include "iova-debugfs.h"
#include "iova-internal.h"

static void show(struct seq_file *s, const char *key, unsigned long value)
{
	seq_printf(s, "%s %lu\n", key, value);
}

static void show_class_value(struct seq_file *s, unsigned int order,
			     const char *key, unsigned long value)
{
	seq_printf(s, "class%u_%s %lu\n", order, key, value);
}

/* Unused classes above the cached range would only hide the others. */
static bool class_is_idle(const struct iova_class_stats *class)
{
	return !(class->cpu | class->depot | class->empty | class->hits |
		 class->misses);
}

static void show_class(struct seq_file *s, struct iova_domain *iovad,
		       const struct iova_domain_stats *stats,
		       unsigned int order)
{
	const struct iova_class_stats *class = &stats->class[order];
	unsigned long odd = READ_ONCE(iovad->rcache->odd[order]);

	if (order > stats->order && class_is_idle(class) && !odd)
		return;

	show_class_value(s, order, "bytes", iovad->granule << order);
	show_class_value(s, order, "hits", class->hits);
	show_class_value(s, order, "misses", class->misses);
	show_class_value(s, order, "cpu", class->cpu);
	show_class_value(s, order, "depot", class->depot);
	show_class_value(s, order, "empty", class->empty);
	show_class_value(s, order, "capacity", class->cap);
	show_class_value(s, order, "depot_locks", class->depot_locks);
	show_class_value(s, order, "odd", odd);
}

static void show_ranges(struct seq_file *s,
			const struct iova_domain_stats *stats,
			unsigned long queued)
{
	unsigned long cached = 0, parked;
	unsigned int order;

	for (order = 0; order < IOVA_NR_ORDERS; order++)
		cached += stats->class[order].cpu + stats->class[order].depot;
	/* Counted one after the other, so what moves may be seen twice. */
	parked = min(cached + queued, stats->tree.ranges);

	show(s, "ranges_live", stats->tree.ranges);
	show(s, "ranges_used", stats->tree.ranges - parked);
	show(s, "ranges_queued", queued);
	show(s, "ranges_cached", cached);
}

static void show_totals(struct seq_file *s,
			const struct iova_domain_stats *stats)
{
	unsigned long hits = 0, misses = 0;
	unsigned int order;

	for (order = 0; order < IOVA_NR_ORDERS; order++) {
		hits += stats->class[order].hits;
		misses += stats->class[order].misses;
	}
	show(s, "hits", hits);
	show(s, "misses", misses);
	show(s, "tree_locks", stats->tree.locks);
	show(s, "tree_trim_locks", stats->tree.trim_locks);
	show(s, "tree_searches", stats->tree.searches);
	show(s, "tree_visited", stats->tree.visited);
	show(s, "tree_visited_max", stats->tree.visited_max);
	show(s, "memory_ranges", stats->tree.ranges * sizeof(struct iova));
	show(s, "memory_caches", stats->bytes);
	show(s, "cpus", stats->cpus);
}

static int show_domain(struct seq_file *s, struct iommu_domain *domain)
{
	struct iova_domain *iovad = iommu_dma_iovad(domain);
	struct iova_domain_stats *stats;
	struct iommu_fq_client *client;
	unsigned int order;

	if (!iovad)
		return 0;
	stats = kmalloc(sizeof(*stats), GFP_KERNEL);
	if (!stats)
		return -ENOMEM;

	iova_domain_get_stats(iovad, stats);
	show(s, "granule", iovad->granule);
	show(s, "max_opt_dma_size", iovad->granule << stats->order);
	client = iommu_dma_fq_client(domain);
	show_ranges(s, stats, client ? iommu_fq_queued(client) : 0);
	show_totals(s, stats);
	for (order = 0; order < IOVA_NR_ORDERS; order++)
		show_class(s, iovad, stats, order);

	kfree(stats);
	return 0;
}

/* All devices of a group share the domain: the first one ends the walk. */
static int show_first_device(struct device *dev, void *data)
{
	return show_domain(data, iommu_get_dma_domain(dev)) ?: 1;
}

static int iova_show(struct seq_file *s, void *unused)
{
	int ret = iommu_group_for_each_dev(s->private, s, show_first_device);

	return min(ret, 0);
}
DEFINE_SHOW_ATTRIBUTE(iova);

static int show_first_queue(struct device *dev, void *data)
{
	struct iommu_domain *domain = iommu_get_dma_domain(dev);

	if (iommu_dma_iovad(domain))
		iommu_fq_show(data, iommu_dma_fq_client(domain));
	return 1;
}

static int flush_queue_show(struct seq_file *s, void *unused)
{
	int ret = iommu_group_for_each_dev(s->private, s, show_first_queue);

	return min(ret, 0);
}
DEFINE_SHOW_ATTRIBUTE(flush_queue);

/* Made with the first group, under the directory that core_initcall has made. */
static struct dentry *groups_dir(void)
{
	static struct dentry *dir;
	static DEFINE_MUTEX(lock);

	mutex_lock(&lock);
	if (!dir)
		dir = debugfs_create_dir("groups", iommu_debugfs_dir);
	mutex_unlock(&lock);
	return dir;
}

static void group_dir_name(struct iommu_group *group, char *name, size_t size)
{
	snprintf(name, size, "%d", iommu_group_id(group));
}

/**
 * iova_debugfs_add_group - show the counters of a group
 * @group: new group, known to its maker alone
 *
 * Context: Process context, may sleep.
 */
void iova_debugfs_add_group(struct iommu_group *group)
{
	struct dentry *dir;
	char name[12];

	group_dir_name(group, name, sizeof(name));
	dir = debugfs_create_dir(name, groups_dir());
	debugfs_create_file("iova", 0400, dir, group, &iova_fops);
	debugfs_create_file("flush_queue", 0400, dir, group, &flush_queue_fops);
}

/**
 * iova_debugfs_remove_group - stop showing the counters of a group
 * @group: group without references, added before or not
 *
 * Waits for readers to leave.
 *
 * Context: Process context, may sleep.
 */
void iova_debugfs_remove_group(struct iommu_group *group)
{
	char name[12];

	group_dir_name(group, name, sizeof(name));
	debugfs_lookup_and_remove(name, groups_dir());
}
