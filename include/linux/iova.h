/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O virtual address (IOVA) allocation for IOMMU domains.
 *
 * Vocabulary, here and in drivers/iommu/iova*.c:
 *
 *   pfn      number of a granule of I/O virtual address space
 *   granule  smallest unit a domain hands out, in bytes; a power of two, at
 *            most PAGE_SIZE
 *   page     a granule, where a size is meant; never the CPU's page
 *   range    one live allocation, [pfn_lo, pfn_hi], both ends inclusive
 *   limit    highest pfn that may be part of an allocation, inclusive
 *   order    log2 of a size in pages
 *   class    the cached ranges of one order
 *   whole    said of a range of exactly 2^order pages, naturally aligned
 */
#ifndef _IOVA_H_
#define _IOVA_H_

#include <linux/cache.h>
#include <linux/types.h>
#include <linux/kernel.h>
#include <linux/rbtree.h>
#include <linux/dma-mapping.h>

/**
 * struct iova_room - what the gaps of a set of ranges can take
 * @gap: longest gap, in pages
 * @fit: largest size-aligned request that some gap can take, in pages; every
 *	 smaller one fits as well
 */
struct iova_room {
	unsigned long	gap;
	unsigned long	fit;
};

/**
 * struct iova - a live range of a domain, and a node of its range tree
 * @node: place in &iova_domain.rbroot, ordered by @pfn_lo
 * @pfn_hi: last pfn, inclusive
 * @pfn_lo: first pfn, inclusive
 * @gap_lo: first pfn of the gap below: [@gap_lo, @pfn_lo) is free, and empty
 *	    where @gap_lo >= @pfn_lo; @pfn_lo for the hot and the lowest range,
 *	    whose gaps are known otherwise
 * @room: maximum over the gaps of the subtree rooted here that the tree counts
 *
 * All fields are protected by &iova_domain.iova_rbtree_lock; @pfn_lo and
 * @pfn_hi are stable while the range is live, and the owner may read them
 * without it.
 */
struct iova {
	struct rb_node		node;
	unsigned long		pfn_hi;
	unsigned long		pfn_lo;
	unsigned long		gap_lo;
	struct iova_room	room;
};

struct iova_domain;
struct iova_rcache;

/**
 * struct iova_tree_stats - what the range tree of a domain has done
 * @ranges: live ranges, those parked in caches included
 * @locks: acquisitions of the tree lock, @trim_locks not included
 * @trim_locks: acquisitions on behalf of background trimming
 * @searches: searches for free space
 * @visited: nodes visited by all searches
 * @visited_max: nodes visited by the worst search
 *
 * Protected by &iova_domain.iova_rbtree_lock.
 */
struct iova_tree_stats {
	unsigned long	ranges;
	unsigned long	locks;
	unsigned long	trim_locks;
	unsigned long	searches;
	unsigned long	visited;
	unsigned long	visited_max;
};

/**
 * struct iova_domain - an I/O virtual address space
 * @iova_rbtree_lock: protects the tree, its ranges and @stats
 * @rbroot: every live range, and @anchor
 * @anchor: the range that bounds the space above, at the highest pfn
 * @lowest: the lowest range, or @anchor; its gap starts at @start_pfn
 * @hot: the range above the gap that was changed last
 * @hot_lo: first pfn of that gap
 * @granule: unit of allocation in bytes
 * @start_pfn: lowest pfn that an allocation may return, inclusive
 * @stats: see &struct iova_tree_stats
 * @rcache: magazine caches; NULL for a domain without
 * @flush_parked: optional; asked to give ranges back that wait in a queue of
 *		  the owner's, and true if asking again may bring more. May be
 *		  called in any context, with no lock of the allocator held.
 */
struct iova_domain {
	/* What each call reads, and nothing writes. */
	struct iova_rcache	*rcache;
	unsigned long		granule;
	unsigned long		start_pfn;
	bool			(*flush_parked)(struct iova_domain *iovad);

	/* rbroot, ranges, stats */
	spinlock_t		iova_rbtree_lock ____cacheline_aligned_in_smp;
	struct rb_root		rbroot;
	struct iova		anchor;
	struct iova		*lowest;
	struct iova		*hot;
	unsigned long		hot_lo;
	struct iova_tree_stats	stats;
};

static inline unsigned long iova_size(struct iova *iova)
{
	return iova->pfn_hi - iova->pfn_lo + 1;
}

static inline unsigned long iova_shift(struct iova_domain *iovad)
{
	return __ffs(iovad->granule);
}

static inline unsigned long iova_mask(struct iova_domain *iovad)
{
	return iovad->granule - 1;
}

static inline size_t iova_offset(struct iova_domain *iovad, dma_addr_t iova)
{
	return iova & iova_mask(iovad);
}

static inline size_t iova_align(struct iova_domain *iovad, size_t size)
{
	return ALIGN(size, iovad->granule);
}

static inline size_t iova_align_down(struct iova_domain *iovad, size_t size)
{
	return ALIGN_DOWN(size, iovad->granule);
}

static inline dma_addr_t iova_dma_addr(struct iova_domain *iovad,
				       struct iova *iova)
{
	return (dma_addr_t)iova->pfn_lo << iova_shift(iovad);
}

static inline unsigned long iova_pfn(struct iova_domain *iovad, dma_addr_t iova)
{
	return iova >> iova_shift(iovad);
}

#if IS_REACHABLE(CONFIG_IOMMU_IOVA)
int iova_cache_get(void);
void iova_cache_put(void);

unsigned long iova_rcache_range(void);
unsigned long iova_rcache_range_max(void);

void init_iova_domain(struct iova_domain *iovad, unsigned long granule,
		      unsigned long start_pfn);
int iova_domain_init_rcaches(struct iova_domain *iovad);
int iova_domain_set_cached_range(struct iova_domain *iovad, size_t bytes);
size_t iova_domain_cached_range(struct iova_domain *iovad);
void put_iova_domain(struct iova_domain *iovad);

struct iova *alloc_iova(struct iova_domain *iovad, unsigned long size,
			unsigned long limit_pfn, bool size_aligned);
void free_iova(struct iova_domain *iovad, unsigned long pfn);
void __free_iova(struct iova_domain *iovad, struct iova *iova);
struct iova *find_iova(struct iova_domain *iovad, unsigned long pfn);
struct iova *reserve_iova(struct iova_domain *iovad, unsigned long pfn_lo,
			  unsigned long pfn_hi);

unsigned long alloc_iova_fast(struct iova_domain *iovad, unsigned long size,
			      unsigned long limit_pfn, bool flush_rcache);
void free_iova_fast(struct iova_domain *iovad, unsigned long pfn,
		    unsigned long size);
#else
static inline int iova_cache_get(void)
{
	return -EOPNOTSUPP;
}

static inline void iova_cache_put(void)
{
}

static inline void init_iova_domain(struct iova_domain *iovad,
				    unsigned long granule,
				    unsigned long start_pfn)
{
}

static inline void put_iova_domain(struct iova_domain *iovad)
{
}

static inline struct iova *alloc_iova(struct iova_domain *iovad,
				      unsigned long size,
				      unsigned long limit_pfn,
				      bool size_aligned)
{
	return NULL;
}

static inline void free_iova(struct iova_domain *iovad, unsigned long pfn)
{
}

static inline void __free_iova(struct iova_domain *iovad, struct iova *iova)
{
}

static inline struct iova *find_iova(struct iova_domain *iovad,
				     unsigned long pfn)
{
	return NULL;
}

static inline struct iova *reserve_iova(struct iova_domain *iovad,
					unsigned long pfn_lo,
					unsigned long pfn_hi)
{
	return NULL;
}

static inline unsigned long alloc_iova_fast(struct iova_domain *iovad,
					    unsigned long size,
					    unsigned long limit_pfn,
					    bool flush_rcache)
{
	return 0;
}

static inline void free_iova_fast(struct iova_domain *iovad,
				  unsigned long pfn, unsigned long size)
{
}
#endif

#endif
