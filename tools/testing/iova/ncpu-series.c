// SPDX-License-Identifier: GPL-2.0-only
/*
 * The series: its own allocator and flush queue. What is a model here is the
 * order of steps of dma-iommu and of the VT-d driver around them.
 */
#include "ncpu.h"

#include "../../../drivers/iommu/flush-queue.h"
#include "../../../drivers/iommu/iova-internal.h"

#ifndef CLOCK_REAL
/* Locks are as long as the kernel's. */
static_assert(sizeof(struct iova_depot) == SMP_CACHE_BYTES);
#endif

struct dma_domain {
	struct iova_domain	iovad;
	struct iommu_domain	domain;
	struct iommu_fq_client	client;
	bool			wide;
} ____cacheline_aligned_in_smp;

static struct dma_domain *domains;
static bool is_strict;

void iommu_put_pages_list(struct list_head *list)
{
}

static void flush_unit(void *scope)
{
	ncpu_qi_flush();
}

static void flush_domain(struct iommu_domain *domain)
{
	ncpu_qi_flush();
}

static bool flush_parked(struct iova_domain *iovad)
{
	struct dma_domain *d = container_of(iovad, struct dma_domain, iovad);

	return iommu_fq_reclaim(&d->client);
}

static void begin(unsigned int nr, size_t range, bool strict)
{
	struct iommu_fq *fq = NULL;
	unsigned int i;

	ncpu_qi_begin();
	is_strict = strict;
	domains = clock_memory(nr * sizeof(*domains));
	sim_check(!iova_cache_get(), "no caches");
	if (!strict)
		fq = iommu_fq_alloc(flush_unit, domains, false);
	for (i = 0; i < nr; i++) {
		struct dma_domain *d = &domains[i];

		init_iova_domain(&d->iovad, PAGE_SIZE, 1);
		sim_check(!iova_domain_init_rcaches(&d->iovad), "no caches");
		sim_check(!iova_domain_set_cached_range(&d->iovad, range), "");
		if (strict)
			continue;
		d->iovad.flush_parked = flush_parked;
		d->domain.flush_iotlb_all = flush_domain;
		iommu_fq_join(iommu_fq_get(fq), &d->client, &d->domain,
			      &d->iovad);
	}
}

static unsigned long map(unsigned int domain, unsigned long pages)
{
	return ncpu_alloc(&domains[domain].iovad, &domains[domain].wide, pages);
}

static void unmap(unsigned int domain, unsigned long pfn, unsigned long pages)
{
	struct dma_domain *d = &domains[domain];
	LIST_HEAD(freelist);

	if (!is_strict && iommu_fq_add(&d->client, pfn, pages, &freelist))
		return;
	ncpu_qi_flush();
	free_iova_fast(&d->iovad, pfn, pages);
}

static const struct ncpu_policy series = {
	"series", "this series", begin, map, unmap,
};

const struct ncpu_policy *const ncpu_policies[] = { &ncpu_off, &series, NULL };
