// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O virtual address (IOVA) allocation: the exported interface.
 *
 * A domain is a range tree (iova-tree.c) behind one lock. A domain that maps
 * and unmaps at a high rate adds magazine caches (iova-rcache.c), which the
 * _fast calls go through. This file owns the memory of the ranges, takes the
 * tree lock, and decides which of the two serves a call.
 *
 * Rounding, and the ranges it leaves out
 * --------------------------------------
 *
 * A class holds whole ranges only. alloc_iova_fast() therefore rounds a size
 * whose order is cached up to a power of two, and free_iova_fast() finds the
 * class from the size by rounding it again. The cached range can change while
 * ranges are live, so that the two need not agree:
 *
 *   shrunk between	the range is whole, and longer than the size says. It is
 *			not cached; the tree knows its extent, and frees by that.
 *   grown between	the range may be odd: of exactly the size, and shorter
 *			than its class. Cached as if whole, it would be handed
 *			out again together with what follows it.
 *
 * Invariants:
 *
 * A1  Each odd range that alloc_iova_fast() returned is counted in
 *     iova_rcache.odd of its order, from before it is returned until it has
 *     left the tree.
 * A2  free_iova_fast() caches a range whose size is not a power of two only
 *     where that count is zero. The range being freed is itself counted if it
 *     is odd, so that a count of zero proves that it is whole; an older value
 *     of the count cannot be seen, since whoever frees a range has it from
 *     whoever allocated it.
 * A3  What is not cached is freed by the extent that the tree knows.
 *
 * Reading the count without the tree lock needs no barrier for that reason.
 */
#include <linux/export.h>
#include <linux/module.h>

#include "iova-internal.h"

static struct kmem_cache *iova_slab;
static unsigned int iova_cache_users;
static DEFINE_MUTEX(iova_cache_mutex);

#ifdef CONFIG_64BIT
/* The footprint that drivers with many mappings count on. */
static_assert(sizeof(struct iova) <= 64);
#endif

static struct iova *iova_mem_alloc(void)
{
	return kmem_cache_alloc(iova_slab, GFP_ATOMIC | __GFP_NOWARN);
}

static void iova_mem_free(struct iova *iova)
{
	kmem_cache_free(iova_slab, iova);
}

static unsigned long iova_lock(struct iova_domain *iovad)
	__acquires(&iovad->iova_rbtree_lock)
{
	unsigned long flags;

	spin_lock_irqsave(&iovad->iova_rbtree_lock, flags);
	iovad->stats.locks++;
	return flags;
}

static void iova_unlock(struct iova_domain *iovad, unsigned long flags)
	__releases(&iovad->iova_rbtree_lock)
{
	spin_unlock_irqrestore(&iovad->iova_rbtree_lock, flags);
}

/**
 * init_iova_domain - set up an empty address space without caches
 * @iovad: domain
 * @granule: unit of allocation in bytes, a power of two of at most PAGE_SIZE
 * @start_pfn: lowest pfn to allocate, inclusive
 *
 * Context: nobody else may know the domain yet.
 */
void init_iova_domain(struct iova_domain *iovad, unsigned long granule,
		      unsigned long start_pfn)
{
	/* A CPU page must consist of whole granules. */
	if (WARN_ON(granule > PAGE_SIZE || !is_power_of_2(granule)))
		granule = PAGE_SIZE;

	spin_lock_init(&iovad->iova_rbtree_lock);
	iovad->granule = granule;
	iovad->start_pfn = start_pfn;
	iovad->stats = (struct iova_tree_stats) {};
	iovad->rcache = NULL;
	iovad->flush_parked = NULL;
	iova_tree_init(iovad);
}
EXPORT_SYMBOL_GPL(init_iova_domain);

/**
 * put_iova_domain - tear an address space down
 * @iovad: domain; no call on it may be running or follow
 *
 * Frees every range that is still live, and the caches.
 *
 * Context: process context, may sleep.
 */
void put_iova_domain(struct iova_domain *iovad)
{
	struct iova *iova, *next;

	iova_domain_free_rcaches(iovad);

	rbtree_postorder_for_each_entry_safe(iova, next, &iovad->rbroot, node) {
		/* The anchor is part of the domain. */
		if (iova != &iovad->anchor)
			iova_mem_free(iova);
	}
}
EXPORT_SYMBOL_GPL(put_iova_domain);

/**
 * alloc_iova - allocate a range from the tree
 * @iovad: domain
 * @size: pages
 * @limit_pfn: highest pfn that may be part of the range, inclusive
 * @size_aligned: start at a multiple of @size rounded up to a power of two
 *
 * Takes the highest place that fits.
 *
 * Context: any.
 * Return: the range, to be freed by free_iova() or __free_iova(); NULL if there
 * is no place or no memory.
 */
struct iova *alloc_iova(struct iova_domain *iovad, unsigned long size,
			unsigned long limit_pfn, bool size_aligned)
{
	struct iova_request req = {
		.size = size, .limit = limit_pfn, .aligned = size_aligned,
	};
	struct iova *iova = iova_mem_alloc();
	unsigned long flags;
	bool placed;

	if (!iova)
		return NULL;

	flags = iova_lock(iovad);
	placed = iova_tree_place(iovad, &req, iova);
	iova_unlock(iovad, flags);
	if (placed)
		return iova;

	iova_mem_free(iova);
	return NULL;
}
EXPORT_SYMBOL_GPL(alloc_iova);

/**
 * find_iova - the range that covers a pfn
 * @iovad: domain
 * @pfn: any pfn of the range
 *
 * Context: any. The caller sees to it that the range stays live.
 * Return: the range, or NULL if the pfn is free.
 */
struct iova *find_iova(struct iova_domain *iovad, unsigned long pfn)
{
	unsigned long flags = iova_lock(iovad);
	struct iova *iova = iova_tree_find(iovad, pfn);

	iova_unlock(iovad, flags);
	return iova;
}
EXPORT_SYMBOL_GPL(find_iova);

/**
 * __free_iova - free a range
 * @iovad: domain
 * @iova: range from alloc_iova(), reserve_iova() or find_iova()
 *
 * Context: any. Needs no memory and cannot fail.
 */
void __free_iova(struct iova_domain *iovad, struct iova *iova)
{
	unsigned long flags = iova_lock(iovad);

	iova_tree_erase(iovad, iova);
	iova_unlock(iovad, flags);
	iova_mem_free(iova);
}
EXPORT_SYMBOL_GPL(__free_iova);

/**
 * free_iova - free the range that covers a pfn
 * @iovad: domain
 * @pfn: any pfn of the range; nothing happens if it is free
 *
 * Context: any. Needs no memory and cannot fail.
 */
void free_iova(struct iova_domain *iovad, unsigned long pfn)
{
	unsigned long flags = iova_lock(iovad);
	struct iova *iova = iova_tree_remove(iovad, pfn);

	iova_unlock(iovad, flags);
	if (iova)
		iova_mem_free(iova);
}
EXPORT_SYMBOL_GPL(free_iova);

/**
 * reserve_iova - make a stretch of address space unavailable
 * @iovad: domain
 * @pfn_lo: first pfn, inclusive
 * @pfn_hi: last pfn, inclusive
 *
 * What is live already inside the stretch is left as it is; the range below
 * which free space remains is extended down over it, and space above the last
 * one gets a range of its own. Ranges in caches are live.
 *
 * Context: any.
 * Return: the range that covers @pfn_hi, or NULL without memory or where the
 * stretch is not sane; nothing has changed then.
 */
struct iova *reserve_iova(struct iova_domain *iovad, unsigned long pfn_lo,
			  unsigned long pfn_hi)
{
	unsigned long top = min_t(u64, ULLONG_MAX >> iova_shift(iovad),
				  IOVA_ANCHOR - 1);
	struct iova *iova, *spare;
	unsigned long flags;

	if (WARN_ON(pfn_lo > pfn_hi || pfn_hi > top))
		return NULL;

	spare = iova_mem_alloc();
	if (!spare)
		return NULL;

	flags = iova_lock(iovad);
	for (;;) {
		iova = iova_tree_find_from(iovad, pfn_lo);
		if (iova->pfn_lo > pfn_hi) {
			spare->pfn_lo = pfn_lo;
			spare->pfn_hi = pfn_hi;
			iova_tree_insert(iovad, spare, iova);
			swap(iova, spare);
			spare = NULL;
			break;
		}
		if (iova->pfn_lo > pfn_lo)
			iova_tree_extend_down(iovad, iova, pfn_lo);
		if (iova->pfn_hi >= pfn_hi)
			break;
		pfn_lo = iova->pfn_hi + 1;
	}
	iova_unlock(iovad, flags);

	if (spare)
		iova_mem_free(spare);
	return iova;
}
EXPORT_SYMBOL_GPL(reserve_iova);

/**
 * iova_alloc_batch - allocate several ranges under one hold of the tree lock
 * @iovad: domain
 * @req: size, limit and alignment of each
 * @pfns: filled with the first pfn of each
 * @nr: how many are wanted, 1 to IOVA_BATCH
 *
 * Context: any.
 * Return: how many were allocated, 0 to @nr.
 */
unsigned int iova_alloc_batch(struct iova_domain *iovad,
			      const struct iova_request *req,
			      unsigned long *pfns, unsigned int nr)
{
	struct iova *new[IOVA_BATCH];
	unsigned int got, used;
	unsigned long flags;

	for (got = 0; got < nr; got++) {
		new[got] = iova_mem_alloc();
		if (!new[got])
			break;
	}
	if (!got)
		return 0;

	flags = iova_lock(iovad);
	for (used = 0; used < got; used++) {
		if (!iova_tree_place(iovad, req, new[used]))
			break;
		pfns[used] = new[used]->pfn_lo;
	}
	iova_unlock(iovad, flags);

	while (got > used)
		iova_mem_free(new[--got]);
	return used;
}

/**
 * iova_free_batch - free several ranges under one hold of the tree lock
 * @iovad: domain
 * @pfns: first pfn of each
 * @nr: how many, at most IOVA_BATCH; 0 does nothing
 * @trim: account the lock to background trimming
 *
 * Context: any. Needs no memory and cannot fail.
 */
void iova_free_batch(struct iova_domain *iovad, const unsigned long *pfns,
		     unsigned int nr, bool trim)
{
	struct iova *old[IOVA_BATCH];
	unsigned int i, found = 0;
	unsigned long flags;

	if (!nr)
		return;

	flags = iova_lock(iovad);
	if (trim) {
		iovad->stats.locks--;
		iovad->stats.trim_locks++;
	}
	for (i = 0; i < nr; i++) {
		struct iova *iova = iova_tree_remove(iovad, pfns[i]);

		if (!WARN_ON_ONCE(!iova))
			old[found++] = iova;
	}
	iova_unlock(iovad, flags);

	while (found)
		iova_mem_free(old[--found]);
}

/* Where an odd range of this size is counted; NULL if it is never cached. */
static unsigned int *odd_count(struct iova_domain *iovad, unsigned long size)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned int order = order_base_2(size);

	if (!rcache || is_power_of_2(size) || order > rcache->order_max)
		return NULL;
	return &rcache->odd[order];
}

/* Allocate exactly @size pages from the tree, and count the range if odd. */
static __always_inline unsigned long
alloc_exact(struct iova_domain *iovad, unsigned long size,
	    unsigned long limit_pfn)
{
	struct iova_request req = {
		.size = size, .limit = limit_pfn, .aligned = true,
	};
	unsigned int *odd = odd_count(iovad, size);
	struct iova *iova = iova_mem_alloc();
	unsigned long flags, pfn = 0;

	if (unlikely(!iova))
		return 0;

	flags = iova_lock(iovad);
	if (likely(iova_tree_place(iovad, &req, iova))) {
		pfn = iova->pfn_lo;
		if (unlikely(!pfn))	/* means failure, and must not leak */
			iova_tree_erase(iovad, iova);
		else if (odd)
			WRITE_ONCE(*odd, *odd + 1);
	}
	iova_unlock(iovad, flags);

	if (unlikely(!pfn))
		iova_mem_free(iova);
	return pfn;
}

/* Take back what is parked until there is a place. */
static noinline unsigned long alloc_reclaim(struct iova_domain *iovad,
					    unsigned long size,
					    unsigned long limit_pfn)
{
	struct iova_reclaim reclaim = { .rcache = iovad->rcache };
	unsigned long pfn = 0;

	while (!pfn && iova_reclaim_step(&reclaim))
		pfn = alloc_exact(iovad, size, limit_pfn);

	return pfn;
}

/* Free by the extent that the tree knows. */
static noinline void free_exact(struct iova_domain *iovad, unsigned long pfn)
{
	unsigned long flags = iova_lock(iovad);
	struct iova *iova = iova_tree_remove(iovad, pfn);
	unsigned int *odd;

	if (iova) {
		odd = odd_count(iovad, iova_size(iova));
		if (odd && !WARN_ON_ONCE(!*odd))
			WRITE_ONCE(*odd, *odd - 1);
	}
	iova_unlock(iovad, flags);
	if (iova)
		iova_mem_free(iova);
}

/* Whether a range allocated for @size pages is sure to be whole: A2. */
static bool range_is_whole(struct iova_rcache *rcache, unsigned long size,
			   unsigned int order)
{
	return is_power_of_2(size) || !READ_ONCE(rcache->odd[order]);
}

/* What alloc_iova_fast() does where the size is not cached. */
static noinline unsigned long alloc_tree(struct iova_domain *iovad,
					 unsigned long size,
					 unsigned long limit_pfn, bool reclaim)
{
	unsigned long pfn = alloc_exact(iovad, size, limit_pfn);

	if (unlikely(!pfn) && reclaim && iovad->rcache)
		pfn = alloc_reclaim(iovad, size, limit_pfn);
	return pfn;
}

/* What alloc_iova_fast() does where the loaded magazine cannot serve. */
static noinline unsigned long alloc_slow(struct iova_domain *iovad,
					 unsigned long size,
					 unsigned long limit_pfn,
					 bool flush_rcache)
{
	unsigned int order = order_base_2(size);
	unsigned long pfn;

	pfn = iova_rcache_get(iovad->rcache, order, limit_pfn);
	if (!pfn)
		pfn = alloc_tree(iovad, 1UL << order, limit_pfn, flush_rcache);

	/* The exact size may still fit where the rounded one does not. */
	if (!pfn && !is_power_of_2(size))
		pfn = alloc_exact(iovad, size, limit_pfn);
	return pfn;
}

/**
 * alloc_iova_fast - allocate a size-aligned range through the caches
 * @iovad: domain
 * @size: pages
 * @limit_pfn: highest pfn that may be part of the range, inclusive
 * @flush_rcache: where there is no room, take back what is parked in caches and
 *		  queues before giving up
 *
 * Context: any.
 * Return: first pfn of the range, to be freed by free_iova_fast() with the same
 * size; 0 if there is no place or no memory.
 */
unsigned long alloc_iova_fast(struct iova_domain *iovad, unsigned long size,
			      unsigned long limit_pfn, bool flush_rcache)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned int order = order_base_2(size);
	unsigned long pfn;

	if (unlikely(!rcache || order > READ_ONCE(rcache->order)))
		return alloc_tree(iovad, size, limit_pfn, flush_rcache);
	if (likely(iova_rcache_pop(rcache, order, size, limit_pfn, &pfn)))
		return pfn;

	return alloc_slow(iovad, size, limit_pfn, flush_rcache);
}
EXPORT_SYMBOL_GPL(alloc_iova_fast);

/* What free_iova_fast() does where the loaded magazine has no room. */
static noinline void free_slow(struct iova_domain *iovad, unsigned long pfn,
			       unsigned int order)
{
	if (!iova_rcache_put(iovad->rcache, order, pfn))
		free_exact(iovad, pfn);
}

/**
 * free_iova_fast - free a range through the caches
 * @iovad: domain
 * @pfn: what alloc_iova_fast() returned
 * @size: the size in pages that it was asked for
 *
 * Context: any. Allocates nothing and cannot fail.
 */
void free_iova_fast(struct iova_domain *iovad, unsigned long pfn,
		    unsigned long size)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned int order = order_base_2(size);

	if (IS_ENABLED(CONFIG_IOMMU_IOVA_DEBUG))
		iova_debug_check_free(iovad, pfn, size);

	if (unlikely(!rcache || order > READ_ONCE(rcache->order)) ||
	    unlikely(!range_is_whole(rcache, size, order)))
		free_exact(iovad, pfn);
	else if (unlikely(!iova_rcache_push(rcache, order, pfn)))
		free_slow(iovad, pfn, order);
}
EXPORT_SYMBOL_GPL(free_iova_fast);

/**
 * iova_cache_get - take a reference to the allocator's own resources
 *
 * To be held by each user while it has domains.
 *
 * Context: process context, may sleep.
 * Return: 0, or a negative error code without a reference.
 */
int iova_cache_get(void)
{
	int err = 0;

	mutex_lock(&iova_cache_mutex);
	if (!iova_cache_users) {
		iova_slab = kmem_cache_create("iommu_iova", sizeof(struct iova),
					      0, SLAB_HWCACHE_ALIGN, NULL);
		err = iova_slab ? iova_rcache_hotplug_init() : -ENOMEM;
		if (err) {
			kmem_cache_destroy(iova_slab);
			iova_slab = NULL;
		}
	}
	if (!err)
		iova_cache_users++;
	mutex_unlock(&iova_cache_mutex);

	return err;
}
EXPORT_SYMBOL_GPL(iova_cache_get);

/**
 * iova_cache_put - drop a reference taken by iova_cache_get()
 *
 * Context: process context, may sleep.
 */
void iova_cache_put(void)
{
	mutex_lock(&iova_cache_mutex);
	if (!WARN_ON(!iova_cache_users) && !--iova_cache_users) {
		iova_rcache_hotplug_exit();
		kmem_cache_destroy(iova_slab);
		iova_slab = NULL;
	}
	mutex_unlock(&iova_cache_mutex);
}
EXPORT_SYMBOL_GPL(iova_cache_put);

MODULE_DESCRIPTION("IOMMU I/O virtual address allocation");
MODULE_LICENSE("GPL");
