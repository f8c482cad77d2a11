// SPDX-License-Identifier: GPL-2.0-only
#include "../../../drivers/iommu/iova-internal.h"
#include "bench.h"

void bench_set_range(struct iova_domain *iovad, size_t bytes)
{
	BUG_ON(iova_domain_set_cached_range(iovad, bytes));
}

unsigned long bench_depot_locks(struct iova_domain *iovad)
{
	unsigned long locks = 0;
	unsigned int order;

	for (order = 0; order < IOVA_NR_ORDERS; order++)
		locks += sim_lock_acquired(&iovad->rcache->depot[order].lock);
	return locks;
}
