// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of the flush queue that a domain uses, for people: a key, a space and
 * a number a line. What a unit's queue counts shows in the file of each group
 * behind the unit; "queue" tells which of them are the same.
 */
#include <linux/cpumask.h>
#include <linux/seq_file.h>

#include "flush-queue.h"
#include "iova-debugfs.h"

static void show(struct seq_file *s, const char *key, unsigned long value)
{
	seq_printf(s, "%s %lu\n", key, value);
}

static void show_flushes(struct seq_file *s, struct iommu_fq *fq)
{
	static const char * const reasons[IOMMU_FQ_REASONS] = {
		[IOMMU_FQ_TIMER] = "flushes_timer",
		[IOMMU_FQ_LEVEL] = "flushes_level",
		[IOMMU_FQ_ALLOC] = "flushes_alloc",
		[IOMMU_FQ_DRAIN] = "flushes_drain",
	};
	unsigned long domain = atomic_long_read(&fq->domain_flushes);
	unsigned long all = 0, nr;
	unsigned int i;

	for (i = 0; i < IOMMU_FQ_REASONS; i++) {
		nr = atomic_long_read(&fq->flushes[i]);
		all += nr;
		show(s, reasons[i], nr);
	}
	show(s, "flushes", all);
	/* Counted one after the other, so what is new may be missing in one. */
	show(s, "flushes_unit", all - min(all, domain));
	show(s, "flushes_domain", domain);
	show(s, "flushes_extra", atomic_long_read(&fq->extra_flushes));
	show(s, "strict", atomic_long_read(&fq->strict));
}

static void show_rings(struct seq_file *s, struct iommu_fq *fq)
{
	unsigned long pending = 0, reclaimable = 0, bytes = 0;
	unsigned int cpu, rings = 0, oldest = 0;
	struct iommu_fq_stats stats;

	for_each_possible_cpu(cpu) {
		if (!iommu_fq_get_stats(fq, cpu, &stats))
			continue;
		rings++;
		pending += stats.pending;
		reclaimable += stats.reclaimable;
		bytes += stats.bytes;
		oldest = max(oldest, stats.oldest);
		seq_printf(s, "cpu%u_pending %u\n", cpu, stats.pending);
		seq_printf(s, "cpu%u_reclaimable %u\n", cpu, stats.reclaimable);
	}
	show(s, "pending", pending);
	show(s, "reclaimable", reclaimable);
	show(s, "oldest_ms", oldest);
	show(s, "rings", rings);
	show(s, "memory", bytes);
}

/**
 * iommu_fq_show - show the counters of the queue that a domain uses
 * @s: file
 * @client: the domain's part; NULL for a domain in strict mode, and no counters
 *
 * Context: process context. The caller sees to it that the domain stays.
 */
void iommu_fq_show(struct seq_file *s, struct iommu_fq_client *client)
{
	if (!client)
		return;

	show(s, "queue", client->fq->id);
	show(s, "queued", iommu_fq_queued(client));
	show(s, "extra", READ_ONCE(client->extra));
	show_flushes(s, client->fq);
	show_rings(s, client->fq);
}
