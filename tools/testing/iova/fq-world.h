/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A remapping unit of which everything is assumed that makes a missed flush show:
 * each translation is in the IOTLB when its page table entry is cleared, and in a
 * device TLB as long as the IOTLB has it. What is handed out again, and what
 * page-table page is freed, must have been covered by a flush that began after.
 */
#ifndef _FQ_WORLD_H
#define _FQ_WORLD_H

#include "../../../drivers/iommu/flush-queue.h"
#include "world.h"

/* Addresses of a domain, in pages; below the shadow map's. */
#define FQ_PFNS		(16UL * 1024 * 1024)
#define FQ_DOMAINS_MAX	16

/**
 * struct fq_domain - a domain in lazy mode
 * @domain: how its queue knows it
 * @iovad: its addresses
 * @client: its part in the queue
 * @cleared: clock when a page's entry was cleared; 0 if it never was
 * @iotlb: the IOTLB has nothing of what was cleared before this clock
 * @dev_tlb: nor has what the scope's flush does not reach, where @extra
 * @extra: there is something that the scope's flush does not reach
 * @flushes: flushes of this domain alone
 * @strict: unmaps that found no place in the queue
 */
struct fq_domain {
	struct iommu_domain	domain;
	struct iova_domain	iovad;
	struct iommu_fq_client	client;
	u32			*cleared;
	u32			iotlb;
	u32			dev_tlb;
	bool			extra;
	unsigned long		flushes;
	unsigned long		strict;
};

/**
 * struct fq_unit - the unit
 * @fq: its queue
 * @domain: its domains
 * @nr: how many
 * @scope_flushes: flushes of all of them
 * @during: called in the middle of each flush, if set
 * @pages: page-table pages that exist
 */
struct fq_unit {
	struct iommu_fq		*fq;
	struct fq_domain	domain[FQ_DOMAINS_MAX];
	unsigned int		nr;
	unsigned long		scope_flushes;
	void			(*during)(void);
	long			pages;
};

extern struct fq_unit fq_unit;

/* @cpus CPUs and a unit with @nr domains; or, without @unit, as many queues. */
void fq_begin(unsigned int cpus, unsigned int nr, bool unit);
/* All domains leave; dies if anything is left. */
void fq_end(void);
/* One that has left comes back. */
void fq_domain_begin(unsigned int i, struct iommu_fq *fq);
/* Its addresses must all be free when it has left. */
void fq_domain_leave(unsigned int i);
/* Say whether it has something that the scope's flush does not reach. */
void fq_set_extra(unsigned int i, bool extra);

/* As the DMA API would; the unmap leaves @tables page-table pages. */
unsigned long fq_map(unsigned int i, unsigned long pages);
void fq_unmap(unsigned int i, unsigned long pfn, unsigned long pages,
	      unsigned int tables);

/* The sum over all CPUs of a queue, and the oldest of all. */
struct iommu_fq_stats fq_stats(struct iommu_fq *fq);
unsigned long fq_flushes(struct iommu_fq *fq);

/*
 * The window, for one thread: unmaps that no flush has covered, and the longest
 * time, in jiffies, that one had to wait for it.
 */
extern unsigned long fq_uncovered, fq_window;

#endif
