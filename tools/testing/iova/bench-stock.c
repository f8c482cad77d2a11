// SPDX-License-Identifier: GPL-2.0-only
/* The base's own allocator, as it is, from the tree that KSRC names. */
#include "drivers/iommu/iova.c"
#include "bench.h"

void bench_set_range(struct iova_domain *iovad, size_t bytes)
{
	/* What it caches was fixed when it was compiled. */
}

unsigned long bench_depot_locks(struct iova_domain *iovad)
{
	unsigned long locks = 0;
	unsigned int order;

	for (order = 0; order < IOVA_RANGE_CACHE_MAX_SIZE; order++)
		locks += sim_lock_acquired(&iovad->rcaches[order].lock);
	return locks;
}
