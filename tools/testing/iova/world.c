// SPDX-License-Identifier: GPL-2.0-only
/*
 * A world for one thread that plays all CPUs.
 */
#include <linux/spinlock.h>

#include "world.h"

unsigned long world_section_max;

static struct iova_domain *watched;
static unsigned long ranges_before;

/* Called when interrupts go off, and before they go on again. */
static void watch_section(bool off)
{
	unsigned long moved;

	if (!watched)
		return;
	if (off) {
		ranges_before = watched->stats.ranges;
		return;
	}
	moved = watched->stats.ranges > ranges_before ?
		watched->stats.ranges - ranges_before :
		ranges_before - watched->stats.ranges;
	sim_check(moved <= IOVA_BATCH, "%lu ranges in one go", moved);
	world_section_max = max(world_section_max, moved);
}

void world_begin(unsigned int cpus)
{
	sim_set_cpus(cpus);
	sim_memory = (struct sim_memory) {};
	world_section_max = 0;
	watched = NULL;
	sim_locks.irqs_hook = watch_section;
	sim_check(!iova_cache_get(), "no caches");
}

void world_end(void)
{
	iova_cache_put();
	sim_check(!sim_memory.live, "%ld objects leak", sim_memory.live);
	sim_check(!sim_work_pending(), "work outlives its domain");
	sim_check(!shadow_taken(), "%lu pages", shadow_taken());
}

void domain_begin(struct iova_domain *iovad, unsigned long start_pfn)
{
	/* Whatever is not set up shows. */
	memset(iovad, 0xa5, sizeof(*iovad));
	init_iova_domain(iovad, PAGE_SIZE, start_pfn);
	watched = iovad;
}

void domain_begin_cached(struct iova_domain *iovad, unsigned long start_pfn)
{
	domain_begin(iovad, start_pfn);
	sim_check(!iova_domain_init_rcaches(iovad), "no magazine caches");
}

void domain_end(struct iova_domain *iovad)
{
	const char *wrong = domain_wrong(iovad);

	sim_check(!wrong, "%s", wrong);
	watched = NULL;
	put_iova_domain(iovad);
	memset(iovad, 0xa5, sizeof(*iovad));
}

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
	struct iova_cpu_class *class;
	const char *wrong;
	unsigned int i;

	if (part->lock.held)
		return "a CPU's lock is held";
	for (i = 0; i < IOVA_NR_ORDERS; i++) {
		class = &part->class[i];
		if ((class->loaded || class->prev) &&
		    (part->dead || i > rcache->order))
			return "R5: a closed class has a magazine";
		wrong = mag_wrong(class->loaded, &rcache->depot[i]) ?:
			mag_wrong(class->prev, &rcache->depot[i]);
		if (wrong)
			return wrong;
	}
	return NULL;
}

static const char *depot_wrong(struct iova_rcache *rcache, unsigned int order)
{
	struct iova_depot *depot = &rcache->depot[order];
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
	if (depot->lock.held)
		return "a depot's lock is held";
	if (full != depot->nr_full || empty != depot->nr_empty)
		return "a depot has miscounted its magazines";
	if (depot->min_full > full || depot->min_empty > empty)
		return "D2: a depot never held so few magazines";
	if (full && order > rcache->order)
		return "R5: the depot of a closed class holds ranges";
	return NULL;
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
		wrong = depot_wrong(rcache, i);
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
