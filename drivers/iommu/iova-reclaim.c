// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking parked ranges back from the magazine caches.
 *
 * Three have need of it: an allocation that finds no place, a CPU that goes
 * offline, and a cached range that is made smaller.
 *
 * An allocation takes back in stages, near and cheap ones first, and looks for a
 * place after each step: this CPU's magazines, then the depot a magazine at a
 * time, then what waits in a queue of the domain's owner, then the other CPUs
 * one by one. It stops at the first success. No step holds a lock or keeps
 * interrupts off for longer than IOVA_BATCH ranges take.
 */
#include "iova-internal.h"

/* Move up to @nr ranges from a CPU's class to @pfns. */
static unsigned int class_take(struct iova_cpu_rcache *cpu, unsigned int order,
			       unsigned long *pfns, unsigned int nr)
{
	struct iova_mag *mag[] = { cpu->loaded[order], cpu->class[order].prev };
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(mag); i++) {
		while (mag[i] && mag[i]->nr && n < nr)
			pfns[n++] = mag[i]->pfns[--mag[i]->nr];
	}
	return n;
}

/* Free a class's two magazines, which are empty or, if not, stay. */
static void class_release(struct iova_cpu_rcache *cpu, unsigned int order)
{
	struct iova_mag **slot[] = {
		&cpu->loaded[order], &cpu->class[order].prev,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slot); i++) {
		if (*slot[i] && !(*slot[i])->nr) {
			kfree(*slot[i]);
			*slot[i] = NULL;
		}
	}
}

static unsigned int class_drain(struct iova_rcache *rcache,
				struct iova_cpu_rcache *cpu, unsigned int order,
				bool release)
{
	unsigned long pfns[IOVA_BATCH], flags;
	unsigned int nr, total = 0;

	do {
		spin_lock_irqsave(&cpu->lock, flags);
		nr = class_take(cpu, order, pfns, IOVA_BATCH);
		if (release)
			class_release(cpu, order);
		spin_unlock_irqrestore(&cpu->lock, flags);

		iova_free_batch(rcache->iovad, pfns, nr, false);
		total += nr;
		/*
		 * A busy CPU could park as fast as this takes. A class that is
		 * being closed sees only the frees that were under way.
		 */
	} while (nr == IOVA_BATCH && (release || total < 2 * IOVA_MAG_MAX));

	return total;
}

/**
 * iova_cpu_rcache_drain - give a CPU's parked ranges back to the tree
 * @rcache: caches
 * @cpu: CPU, online or not
 * @from: lowest order to drain
 * @release: free the magazines, too
 *
 * Context: any.
 * Return: ranges given back.
 */
unsigned int iova_cpu_rcache_drain(struct iova_rcache *rcache, unsigned int cpu,
				   unsigned int from, bool release)
{
	struct iova_cpu_rcache *cpu_rcache = READ_ONCE(rcache->cpu[cpu]);
	unsigned int order, total = 0;

	if (!cpu_rcache)
		return 0;

	for (order = from; order <= rcache->order_max; order++)
		total += class_drain(rcache, cpu_rcache, order, release);
	return total;
}

static unsigned int depot_step(struct iova_rcache *rcache)
{
	unsigned int order = rcache->order_max + 1, nr;

	while (order--) {
		nr = iova_depot_drain(rcache, order);
		if (nr)
			return nr;
	}
	return 0;
}

/* The next CPU that has anything to give, other than the one we are on. */
static unsigned int others_step(struct iova_reclaim *reclaim)
{
	unsigned int nr = 0;

	while (!nr && reclaim->cpu < nr_cpu_ids)
		nr = iova_cpu_rcache_drain(reclaim->rcache, reclaim->cpu++, 0,
					   false);
	return nr;
}

/*
 * Ask the owner, as long as it has more to give: up to once for each CPU, as a
 * queue may be that many rings long and others go on filling them. What comes
 * back lands in the tree, which is worth a look, or in the caches, which the
 * steps after that go through again.
 */
static bool parked_step(struct iova_reclaim *reclaim)
{
	struct iova_domain *iovad = reclaim->rcache->iovad;

	reclaim->stage = IOVA_RECLAIM_OTHERS;
	if (reclaim->parked || !iovad->flush_parked)
		return false;

	reclaim->parked = !iovad->flush_parked(iovad) ||
			  ++reclaim->asked >= nr_cpu_ids;
	reclaim->stage = IOVA_RECLAIM_LOCAL;
	return true;
}

/**
 * iova_reclaim_step - take some parked ranges back
 * @reclaim: how far it has come; all zero but for rcache at first
 *
 * Context: any.
 * Return: true if something may have been given back, so that another look for
 * a place is worth it; false when nothing is left.
 */
bool iova_reclaim_step(struct iova_reclaim *reclaim)
{
	struct iova_rcache *rcache = reclaim->rcache;
	unsigned int nr = 0;

	while (!nr && reclaim->stage != IOVA_RECLAIM_DONE) {
		switch (reclaim->stage) {
		case IOVA_RECLAIM_LOCAL:
			nr = iova_cpu_rcache_drain(rcache,
						   raw_smp_processor_id(), 0,
						   false);
			reclaim->stage = IOVA_RECLAIM_DEPOT;
			break;
		case IOVA_RECLAIM_DEPOT:
			nr = depot_step(rcache);
			if (!nr)
				reclaim->stage = IOVA_RECLAIM_PARKED;
			break;
		case IOVA_RECLAIM_PARKED:
			nr = parked_step(reclaim);
			break;
		case IOVA_RECLAIM_OTHERS:
			nr = others_step(reclaim);
			if (!nr)
				reclaim->stage = IOVA_RECLAIM_DONE;
			break;
		case IOVA_RECLAIM_DONE:
			break;
		}
	}
	return nr;
}
