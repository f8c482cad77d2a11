// SPDX-License-Identifier: GPL-2.0-only
#include "../../../drivers/iommu/iova-internal.h"
#include "bench.h"

void bench_set_range(struct iova_domain *iovad, size_t bytes)
{
	BUG_ON(iova_domain_set_cached_range(iovad, bytes));
}

unsigned long bench_depot_locks(struct iova_domain *iovad)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned int order, i;
	unsigned long locks = 0;

	for (order = 0; order < IOVA_NR_ORDERS; order++)
		for (i = 0; i < iova_nr_depots(rcache, order); i++)
			locks += sim_lock_acquired(&iova_depot(rcache, order,
							       i)->lock);
	return locks;
}
