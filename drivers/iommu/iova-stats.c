// SPDX-License-Identifier: GPL-2.0-only
/*
 * A snapshot of an IOVA domain's counters, for people and tests.
 *
 * Locks are taken one at a time, so that what moves between two places while
 * the snapshot is taken may be seen in both or in neither.
 */
#include "iova-internal.h"

static void sum_mag(struct iova_mag *mag, unsigned long *ranges, size_t *bytes)
{
	if (!mag)
		return;
	*ranges += mag->nr;
	*bytes += struct_size(mag, pfns, mag->cap);
}

static void sum_cpu(struct iova_cpu_rcache *cpu,
		    struct iova_domain_stats *stats)
{
	unsigned long flags;
	unsigned int i;

	stats->cpus++;
	stats->bytes += sizeof(*cpu);

	spin_lock_irqsave(&cpu->lock, flags);
	for (i = 0; i < IOVA_NR_ORDERS; i++) {
		struct iova_cpu_class *from = &cpu->class[i];
		struct iova_class_stats *to = &stats->class[i];

		sum_mag(cpu->loaded[i], &to->cpu, &stats->bytes);
		sum_mag(from->prev, &to->cpu, &stats->bytes);
		to->hits += cpu->hits[i];
		to->misses += from->misses;
	}
	spin_unlock_irqrestore(&cpu->lock, flags);
}

static void sum_depot(struct iova_depot *depot, struct iova_class_stats *class,
		      size_t *bytes)
{
	struct iova_mag *mag;
	unsigned long flags;

	spin_lock_irqsave(&depot->lock, flags);
	for (mag = depot->full; mag; mag = mag->next)
		sum_mag(mag, &class->depot, bytes);
	for (mag = depot->empty; mag; mag = mag->next)
		sum_mag(mag, &class->depot, bytes);
	class->empty += depot->nr_empty;
	class->cap = max_t(unsigned long, class->cap, depot->cap);
	class->depot_locks += depot->locks;
	spin_unlock_irqrestore(&depot->lock, flags);
}

static void sum_depots(struct iova_rcache *rcache, unsigned int order,
		       struct iova_domain_stats *stats)
{
	unsigned int nr = iova_nr_depots(rcache, order), i;

	stats->bytes += (nr - 1) * sizeof(struct iova_depot);
	for (i = 0; i < nr; i++)
		sum_depot(iova_depot(rcache, order, i), &stats->class[order],
			  &stats->bytes);
}

/**
 * iova_domain_get_stats - take a snapshot of a domain's counters
 * @iovad: domain, with or without caches
 * @stats: filled in
 *
 * Context: any; walks the magazines of the depots, so not for hot paths.
 */
void iova_domain_get_stats(struct iova_domain *iovad,
			   struct iova_domain_stats *stats)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned long flags;
	unsigned int i;

	memset(stats, 0, sizeof(*stats));

	spin_lock_irqsave(&iovad->iova_rbtree_lock, flags);
	stats->tree = iovad->stats;
	spin_unlock_irqrestore(&iovad->iova_rbtree_lock, flags);

	if (!rcache)
		return;

	stats->order = READ_ONCE(rcache->order);
	stats->bytes = struct_size(rcache, cpu, nr_cpu_ids) +
		       BITS_TO_LONGS(nr_cpu_ids) * sizeof(long);
	for (i = 0; i < nr_cpu_ids; i++) {
		struct iova_cpu_rcache *cpu = READ_ONCE(rcache->cpu[i]);

		if (cpu)
			sum_cpu(cpu, stats);
	}
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		sum_depots(rcache, i, stats);
}
