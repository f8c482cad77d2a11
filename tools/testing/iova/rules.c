// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules of tree and caches, checked while nobody else is at work.
 */
#include "world.h"

static const char *mag_wrong(struct iova_mag *mag, struct iova_depot *depot)
{
	if (!mag)
		return NULL;
	if (!mag->cap || mag->cap > depot->cap_max)
		return "R4: a magazine is larger than its class allows";
	if (mag->nr > mag->cap)
		return "a magazine holds more than fits";
	return NULL;
}

static const char *cpu_wrong(struct iova_rcache *rcache, unsigned int cpu)
{
	struct iova_cpu_rcache *part = rcache->cpu[cpu];
	struct iova_mag *loaded, *prev;
	const char *wrong;
	unsigned int i;

	for (i = 0; i < IOVA_NR_ORDERS; i++) {
		loaded = part->loaded[i];
		prev = part->class[i].prev;
		if ((loaded || prev) && (part->dead || i > rcache->order))
			return "R5: a closed class has a magazine";
		wrong = mag_wrong(loaded, &rcache->depot[i]) ?:
			mag_wrong(prev, &rcache->depot[i]);
		if (wrong)
			return wrong;
	}
	return NULL;
}

static const char *depot_wrong(struct iova_rcache *rcache, unsigned int order,
			       struct iova_depot *depot)
{
	unsigned int full = 0, empty = 0;
	const char *wrong = NULL;
	struct iova_mag *mag;

	for (mag = depot->full; mag && !wrong; mag = mag->next, full++) {
		wrong = mag_wrong(mag, depot);
		if (mag->nr != mag->cap)
			return "D1: a magazine on the full list is not full";
	}
	for (mag = depot->empty; mag && !wrong; mag = mag->next, empty++) {
		wrong = mag_wrong(mag, depot);
		if (mag->nr)
			return "D1: a magazine on the empty list is not empty";
	}
	if (wrong)
		return wrong;
	if (full != depot->nr_full || empty != depot->nr_empty)
		return "a depot has miscounted its magazines";
	if (depot->min_full > full || depot->min_empty > empty)
		return "D2: a depot never held so few magazines";
	if (full && order > rcache->order)
		return "R5: the depot of a closed class holds ranges";
	return NULL;
}

static const char *depots_wrong(struct iova_rcache *rcache, unsigned int order)
{
	const char *wrong = NULL;
	unsigned int i;

	for (i = 0; i < iova_nr_depots(rcache, order) && !wrong; i++)
		wrong = depot_wrong(rcache, order, iova_depot(rcache, order, i));
	return wrong;
}

static const char *caches_wrong(struct iova_rcache *rcache)
{
	const char *wrong = NULL;
	unsigned int i;

	for (i = 0; i < nr_cpu_ids && !wrong; i++) {
		if (rcache->cpu[i])
			wrong = cpu_wrong(rcache, i);
	}
	for (i = 0; i < IOVA_NR_ORDERS && !wrong; i++)
		wrong = depots_wrong(rcache, i);
	return wrong;
}

const char *domain_wrong(struct iova_domain *iovad)
{
	const char *wrong;

	spin_lock_irq(&iovad->iova_rbtree_lock);
	wrong = iova_tree_validate(iovad);
	spin_unlock_irq(&iovad->iova_rbtree_lock);
	if (!wrong && iovad->rcache)
		wrong = caches_wrong(iovad->rcache);
	return wrong;
}

const struct iova_domain_stats *domain_stats(struct iova_domain *iovad)
{
	static struct iova_domain_stats stats;

	iova_domain_get_stats(iovad, &stats);
	return &stats;
}

unsigned long class_parked(const struct iova_cpu_rcache *cpu,
			   unsigned int order)
{
	struct iova_mag *loaded = cpu->loaded[order];
	struct iova_mag *prev = cpu->class[order].prev;

	return (loaded ? loaded->nr : 0) + (prev ? prev->nr : 0);
}

unsigned long cpu_parked(struct iova_domain *iovad, unsigned int cpu)
{
	unsigned long parked = 0;
	unsigned int i;

	for (i = 0; i < IOVA_NR_ORDERS; i++)
		parked += class_parked(iovad->rcache->cpu[cpu], i);
	return parked;
}

unsigned long domain_parked(struct iova_domain *iovad)
{
	const struct iova_domain_stats *stats = domain_stats(iovad);
	unsigned long parked = 0;
	unsigned int i;

	for (i = 0; i < IOVA_NR_ORDERS; i++)
		parked += stats->class[i].cpu + stats->class[i].depot;
	return parked;
}

void domain_reclaim(struct iova_domain *iovad)
{
	sim_check(!alloc_iova_fast(iovad, IOVA_SIZE_MAX, ~0UL, true),
		  "the whole space was handed out");
}
