/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests share: a world with the allocator in it, domains whose rules
 * can be checked at any time, and a map of what has been handed out.
 */
#ifndef _WORLD_H
#define _WORLD_H

#include "../../../drivers/iommu/iova-internal.h"
#include "sim.h"

/* 32 address bits with 4 KiB pages. */
#define PFN_4G	(1UL << 20)

/* @cpus CPUs and the allocator's own resources. */
void world_begin(unsigned int cpus);
/* Dies if anything is left of what world_begin() and the test have made. */
void world_end(void);

void domain_begin(struct iova_domain *iovad, unsigned long start_pfn);
void domain_begin_cached(struct iova_domain *iovad, unsigned long start_pfn);
/* Checks all rules once more, and that there is nothing to free twice. */
void domain_end(struct iova_domain *iovad);

/* NULL, or the rule of the tree or of the caches that is broken. */
const char *domain_wrong(struct iova_domain *iovad);
/* A snapshot, good until the next. */
const struct iova_domain_stats *domain_stats(struct iova_domain *iovad);
/* Ranges in magazines: of a class on a CPU, of a CPU, of the domain. */
unsigned long class_parked(const struct iova_cpu_rcache *cpu,
			   unsigned int order);
unsigned long cpu_parked(struct iova_domain *iovad, unsigned int cpu);
unsigned long domain_parked(struct iova_domain *iovad);
/* Have all that is parked given back, by a request that nothing satisfies. */
void domain_reclaim(struct iova_domain *iovad);

/* Most ranges that came into or left a tree with interrupts off for once. */
extern unsigned long world_section_max;

/* The map: pages below SHADOW_PFNS, and who dies is who takes one twice. */
#define SHADOW_PFNS	(1UL << 26)
void shadow_take(unsigned long pfn, unsigned long pages);
void shadow_give(unsigned long pfn, unsigned long pages);
unsigned long shadow_taken(void);

/* alloc_iova_fast() and free_iova_fast(), checked against the map. */
unsigned long map_alloc(struct iova_domain *iovad, unsigned long pages,
			unsigned long limit, bool flush);
void map_free(struct iova_domain *iovad, unsigned long pfn,
	      unsigned long pages);

#endif
