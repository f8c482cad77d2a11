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
