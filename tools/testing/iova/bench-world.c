// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"
#include "sim.h"

/* Chunks after which a workload is warm: a second of it. */
#define WARM_UP	1000

const struct workload *bench_begin(const char *name, struct iova_domain *iovad)
{
	const struct workload *workload = workload_named(name);

	sim_check(workload, "no workload is called %s", name);
	sim_set_cpus(4);
	sim_check(!iova_cache_get(), "no caches");
	init_iova_domain(iovad, PAGE_SIZE, 1);
	sim_check(!iova_domain_init_rcaches(iovad), "no caches");
	bench_set_range(iovad, workload->range);
	workload_run(workload, iovad, WARM_UP);
	return workload;
}

void bench_end(struct iova_domain *iovad)
{
	put_iova_domain(iovad);
	iova_cache_put();
}
