// SPDX-License-Identifier: GPL-2.0-only
/*
 * max_opt_dma_size: the largest streaming mapping of an IOMMU group that the
 * caches of the IOVA allocator serve.
 *
 * Vocabulary
 *
 *   opt size	bytes; a power of two of CPU pages, from one page up to
 *		iova_rcache_range_max(), or 0 for the default
 *   wanted	what was last written, kept by the group for its life
 *   in force	what the group's default domain caches now
 *
 * The group owns the wanted value, and its mutex protects it. It reaches a domain
 * in two ways: iommu_dma_init_domain() applies it before anybody can map, and a
 * write applies it to the default domain that exists, drivers bound or not. A
 * new default domain, from a change of the group's type, is set up by the first
 * way. What is wanted and what is in force differ only while there is no DMA
 * domain.
 *
 * Locking
 *
 *   group->mutex -> iova_cpu_rcache.lock, iova_depot.lock, iova_rbtree_lock
 *
 * Applying a value takes no sleeping lock and allocates nothing: it stores the
 * new class limit and, if that shrank, moves parked ranges back to the tree. So
 * the group's mutex gains no dependency on cpu_hotplug_lock, pcpu_alloc_mutex or
 * fs_reclaim from here, whatever a driver holds when it waits for the group.
 *
 * Reading what is in force for a device, as drivers do when they probe, takes no
 * lock at all: a bound driver pins its group's default domain, and the class
 * limit is one word. See iommu_dma_opt_mapping_size().
 */
#include <linux/cache.h>
#include <linux/ctype.h>
#include <linux/init.h>
#include <linux/iova.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "iommu-opt-size.h"

/* Any size in any base fits; text that is longer is none. */
#define OPT_SIZE_CHARS	32

/* What each new group starts with; 0 for the default. */
static size_t opt_size_initial __ro_after_init;

static unsigned int suffix_shift(char suffix)
{
	switch (suffix) {
	case 'K':
	case 'k':
		return ilog2(SZ_1K);
	case 'M':
	case 'm':
		return ilog2(SZ_1M);
	default:
		return 0;
	}
}

/**
 * iommu_opt_size_parse - Read an opt size
 * @buf: Bytes as a number in the bases of kstrtoull(), with K or M after it for
 *	 KiB or MiB and one newline at the end, if need be
 * @bytes: Rounded up to a power of two of pages; 0 stays 0. Untouched on error
 *
 * Context: Any
 * Return: 0; -EINVAL for anything else, or more than iova_rcache_range_max()
 */
int iommu_opt_size_parse(const char *buf, size_t *bytes)
{
	size_t len = strnlen(buf, OPT_SIZE_CHARS);
	char digits[OPT_SIZE_CHARS];
	unsigned long long value;
	unsigned int shift;

	if (len && buf[len - 1] == '\n')
		len--;
	if (!len || len >= sizeof(digits))
		return -EINVAL;

	shift = suffix_shift(buf[len - 1]);
	if (shift)
		len--;
	strscpy(digits, buf, len + 1);
	/* kstrtoull() would let a sign and a newline pass, which are no number. */
	if (!len || !isdigit(digits[0]) || !isxdigit(digits[len - 1]))
		return -EINVAL;
	if (kstrtoull(digits, 0, &value))
		return -EINVAL;
	if (value > iova_rcache_range_max() >> shift)
		return -EINVAL;

	value <<= shift;
	*bytes = value ? PAGE_SIZE << get_order(value) : 0;
	return 0;
}

/**
 * iommu_opt_size_initial - The opt size that a new group starts with
 *
 * Context: Any
 * Return: Bytes; 0 for the default
 */
size_t iommu_opt_size_initial(void)
{
	return opt_size_initial;
}

/**
 * iommu_opt_size_show - What a group reports as its opt size
 * @in_force: Bytes that its default domain caches; 0 if that is no DMA domain
 * @wanted: Bytes that the group keeps; 0 for the default
 *
 * Context: Any
 * Return: Bytes, never 0
 */
size_t iommu_opt_size_show(size_t in_force, size_t wanted)
{
	return in_force ?: wanted ?: iova_rcache_range();
}

static int __init iommu_opt_size_setup(char *str)
{
	if (!str || iommu_opt_size_parse(str, &opt_size_initial))
		pr_warn("iommu.max_opt_dma_size=%s ignored: use bytes, or K or M after a number, up to %luK\n",
			str ?: "", iova_rcache_range_max() / SZ_1K);
	return 0;
}
early_param("iommu.max_opt_dma_size", iommu_opt_size_setup);
