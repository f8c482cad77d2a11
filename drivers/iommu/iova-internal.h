/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of the IOVA allocator and its tests, and by nobody else.
 *
 *   iova.c		exported interface, memory of ranges, locking of the tree
 *   iova-tree.c	the range tree: search, insert, erase
 *   iova-rcache.c	per-CPU magazines in front of it
 *   iova-depot.c	full and empty magazines shared by the CPUs
 *   iova-depot-split.c	several depots for a class that many CPUs use
 *   iova-reclaim.c	what is given back when the tree is full, a CPU goes
 *			away or the cached range shrinks
 *   iova-rcache-setup.c	life cycle, CPU hotplug, the cached range
 *   iova-stats.c	a snapshot of the counters
 *   iova-validate.c	invariants and the slow oracle, for tests and debugging
 *   iova-debugfs.c	counters for people
 *
 * Lock order, outermost first:
 *
 *   1. iova_cache_mutex	(iova.c) users of the slab caches
 *   2. iova_rcache_mutex	(iova-rcache-setup.c) the list of domains with caches;
 *				inside cpu_hotplug_lock, never around it
 *   3. iova_cpu_rcache.lock	the magazines of one CPU; irqs off
 *   4. iova_depot.lock		the magazines between CPUs; irqs off
 *   5. iova_rbtree_lock	the tree; irqs off
 *
 * Two locks of one kind are never held together. 5 is not taken inside 3 or 4:
 * ranges are first moved out to the stack, at most IOVA_BATCH at a time, which
 * also bounds how long interrupts stay off.
 */
#ifndef _IOVA_INTERNAL_H_
#define _IOVA_INTERNAL_H_

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/iova.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/rbtree_augmented.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/* The anchor stands here; no allocation can reach it. */
#define IOVA_ANCHOR		(~0UL)
/* Longest request in pages: its alignment must still be a power of two. */
#define IOVA_SIZE_MAX		(1UL << (BITS_PER_LONG - 1))
/* Bound on the nodes that one search visits in a tree of @n ranges. */
#define IOVA_TREE_VISITS(n)	(4 * (fls_long((n) + 1) + 1))

/* Ranges moved under one hold of the tree lock. */
#define IOVA_BATCH		16

/* Largest size of any class, whatever the granule, in bytes. */
#define IOVA_CACHED_MAX		SZ_4M
/* Orders that can be cached: 0 to IOVA_NR_ORDERS - 1. */
#define IOVA_NR_ORDERS		11
/* Largest order that is cached unless told otherwise. */
#define IOVA_ORDER_DEFAULT	5

/* Address space that one magazine may hold, in bytes. */
#define IOVA_MAG_BYTES		SZ_8M
/* Capacity of a magazine: where a class starts, and where growth ends. */
#define IOVA_MAG_MIN		30
#define IOVA_MAG_MAX		510

static_assert((unsigned short)IOVA_MAG_MAX == IOVA_MAG_MAX); /* iova_depot.cap */

/* How often the depot's working set is looked at. */
#define IOVA_TRIM_DELAY		msecs_to_jiffies(100)
/* Magazines of each kind that one look takes out of a depot at the most. */
#define IOVA_TRIM_MAX		64
/* Fewest magazines of each kind that a depot in use keeps in reserve. */
#define IOVA_RESERVE_MIN	4
/* A magazine grows on this many trips, or contended trips, per interval. */
#define IOVA_GROW_TRIPS		64
#define IOVA_GROW_CONTENDED	4
/* A class is split on this many contended trips, a quarter of all, per interval. */
#define IOVA_SPLIT_CONTENDED	256
/* CPUs to a depot of a class that is split, and the most depots of one. */
#define IOVA_DEPOT_CPUS		16
#define IOVA_DEPOTS_MAX		16
/* Ranges that one run of the supply work allocates magazines for, per class. */
#define IOVA_SUPPLY_MAX		4096

/**
 * struct iova_request - what to search for
 * @size: pages
 * @limit: highest pfn that may be part of the result, inclusive
 * @aligned: start at a multiple of @size rounded up to a power of two
 */
struct iova_request {
	unsigned long	size;
	unsigned long	limit;
	bool		aligned;
};

/* iova-tree.c */
void iova_tree_init(struct iova_domain *iovad);
struct iova *iova_tree_find(struct iova_domain *iovad, unsigned long pfn);
struct iova *iova_tree_find_from(struct iova_domain *iovad, unsigned long pfn);
void iova_tree_insert(struct iova_domain *iovad, struct iova *iova,
		      struct iova *next);
bool iova_tree_place(struct iova_domain *iovad, const struct iova_request *req,
		     struct iova *iova);
void iova_tree_erase(struct iova_domain *iovad, struct iova *iova);
struct iova *iova_tree_remove(struct iova_domain *iovad, unsigned long pfn);
void iova_tree_extend_down(struct iova_domain *iovad, struct iova *iova,
			   unsigned long pfn_lo);

/* iova.c */
unsigned int iova_alloc_batch(struct iova_domain *iovad,
			      const struct iova_request *req,
			      unsigned long *pfns, unsigned int nr);
void iova_free_batch(struct iova_domain *iovad, const unsigned long *pfns,
		     unsigned int nr, bool trim);

/**
 * struct iova_mag - a magazine: a stack of whole ranges of one class
 * @next: next magazine in a list of the depot
 * @nr: ranges held
 * @cap: ranges that fit; fixed when the magazine is allocated
 * @pfns: first pfn of each
 *
 * Belongs to one CPU (its lock), to a depot (its lock), or to whoever has taken
 * it out of either.
 */
struct iova_mag {
	struct iova_mag	*next;
	unsigned int	nr;
	unsigned int	cap;
	unsigned long	pfns[] __counted_by(cap);
};

/**
 * struct iova_cpu_class - one class on one CPU, less what each call looks at
 * @prev: the magazine loaded before, full or empty unless the limit of an
 *	  allocation has made it something between; may be NULL
 * @misses: allocations that went on to the depot or the tree
 * @refill: log2 of the ranges that the next miss takes from the tree
 * @source: the depot where there was a full magazine when the CPU's own had none,
 *	    counted from that
 */
struct iova_cpu_class {
	struct iova_mag	*prev;
	unsigned long	misses;
	unsigned short	refill;
	unsigned short	source;
};

/**
 * struct iova_cpu_rcache - what one CPU keeps of one domain
 * @lock: protects all below; contended only by reclaim and readers
 * @dead: the CPU is offline: nothing may be pushed here
 * @loaded: by order, the magazine that allocations pop from and frees push to;
 *	    may be NULL
 * @hits: by order, allocations served without leaving the CPU
 * @class: by order
 *
 * Allocated when the CPU first uses a class of the domain, and then kept for the
 * life of the domain.
 */
struct iova_cpu_rcache {
	spinlock_t		lock;	/* all below */
	bool			dead;
	struct iova_mag		*loaded[IOVA_NR_ORDERS];
	unsigned long		hits[IOVA_NR_ORDERS];
	struct iova_cpu_class	class[IOVA_NR_ORDERS];
};

/**
 * struct iova_depot - magazines of one class that no CPU holds
 * @lock: protects all below
 * @wanted: ranges to allocate magazines for: what found no empty one since the
 *	    last supply, and the reserve
 * @full: magazines with ranges in them
 * @empty: magazines without
 * @nr_full: length of @full
 * @nr_empty: length of @empty
 * @min_full: smallest @nr_full in this interval: what the working set left alone
 * @min_empty: smallest @nr_empty in this interval
 * @cap: capacity of the magazines now allocated
 * @cap_max: where the address space bound, IOVA_MAG_BYTES, ends its growth
 * @trips: exchanges in this interval
 * @contended: exchanges in this interval that had to wait for the lock
 * @split: magazines cannot grow and yet it is contended: the class wants more
 *	   depots
 * @locks: acquisitions by exchanges since the domain was made
 *
 * A trip writes nearly all of it, and the time that the lock is held is for the
 * most part that of lines which come from another CPU: without the debugging of
 * locks it is one line.
 */
struct iova_depot {
	spinlock_t	lock;	/* all below */
	unsigned int	wanted;
	struct iova_mag	*full;
	struct iova_mag	*empty;
	unsigned int	nr_full;
	unsigned int	nr_empty;
	unsigned int	min_full;
	unsigned int	min_empty;
	unsigned short	cap;
	unsigned short	cap_max;
	unsigned int	trips;
	unsigned int	contended;
	bool		split;
	unsigned long	locks;
} ____cacheline_aligned_in_smp;

/**
 * struct iova_rcache - the magazine caches of a domain
 * @iovad: the domain
 * @order: largest order that is cached now; any CPU may read it without a lock
 * @order_max: bound on @order, from the granule
 * @list: entry in the list of domains with caches
 * @want_cpu: CPUs that have freed and have no &struct iova_cpu_rcache
 * @supply: allocates what the free path has asked for
 * @trim: gives back what the working set leaves alone
 * @odd: by order, live ranges that alloc_iova_fast() returned and that are not
 *	 whole; written under the tree lock. See iova_range_is_whole().
 * @nr_depots: of a class that is split
 * @more: by order, all its depots but the first; NULL until it is split
 * @depot: by order, the first, and mostly the only one
 * @cpu: by CPU number; NULL until that CPU uses the domain
 */
struct iova_rcache {
	/* What each call reads, and hardly anything writes. */
	struct iova_domain	*iovad;
	unsigned int		order;
	unsigned int		order_max;
	unsigned int		odd[IOVA_NR_ORDERS];
	unsigned int		nr_depots;
	struct iova_depot	*more[IOVA_NR_ORDERS];

	struct list_head	list ____cacheline_aligned_in_smp;
	unsigned long		*want_cpu;
	struct work_struct	supply;
	struct delayed_work	trim;

	struct iova_depot	depot[IOVA_NR_ORDERS];
	struct iova_cpu_rcache	*cpu[];
};

static inline void iova_mag_push(struct iova_mag *mag, unsigned long pfn)
{
	mag->pfns[mag->nr++] = pfn;
}

/**
 * iova_rcache_pop - allocate from the loaded magazine of this CPU
 * @rcache: caches
 * @order: class
 * @size: pages that are asked for, at most 2^@order
 * @limit: highest pfn that may be one of them, inclusive
 * @pfn: on success, first pfn
 *
 * Inline, as is iova_rcache_push(), so that a call that a magazine serves
 * saves no registers for the paths that it does not take.
 *
 * Context: any.
 * Return: true if it was served; false if iova_rcache_get() has to look further.
 */
static __always_inline bool
iova_rcache_pop(struct iova_rcache *rcache, unsigned int order,
		unsigned long size, unsigned long limit, unsigned long *pfn)
{
	struct iova_cpu_rcache *cpu;
	struct iova_mag *mag;
	unsigned long flags;
	bool served = false;

	cpu = READ_ONCE(rcache->cpu[raw_smp_processor_id()]);
	if (unlikely(!cpu))
		return false;

	spin_lock_irqsave(&cpu->lock, flags);
	mag = cpu->loaded[order];
	if (likely(mag && mag->nr)) {
		*pfn = mag->pfns[mag->nr - 1];
		/* Cannot wrap: what is live ends below the anchor. */
		served = *pfn + size - 1 <= limit;
		if (likely(served)) {
			mag->nr--;
			cpu->hits[order]++;
		}
	}
	spin_unlock_irqrestore(&cpu->lock, flags);

	return served;
}

/**
 * iova_rcache_push - park a range in the loaded magazine of this CPU
 * @rcache: caches
 * @order: class
 * @pfn: first pfn of a whole range of the class
 *
 * Context: any. Allocates nothing.
 * Return: true if it was taken; false if iova_rcache_put() has to make room.
 */
static __always_inline bool
iova_rcache_push(struct iova_rcache *rcache, unsigned int order,
		 unsigned long pfn)
{
	struct iova_cpu_rcache *cpu;
	struct iova_mag *mag;
	unsigned long flags;
	bool room;

	cpu = READ_ONCE(rcache->cpu[raw_smp_processor_id()]);
	if (unlikely(!cpu))
		return false;

	spin_lock_irqsave(&cpu->lock, flags);
	mag = cpu->loaded[order];
	room = mag && mag->nr < mag->cap;
	if (likely(room))
		iova_mag_push(mag, pfn);
	spin_unlock_irqrestore(&cpu->lock, flags);

	return room;
}

/* iova-rcache.c */
unsigned long iova_rcache_get(struct iova_rcache *rcache, unsigned int order,
			      unsigned long limit);
bool iova_rcache_put(struct iova_rcache *rcache, unsigned int order,
		     unsigned long pfn);
struct iova_cpu_rcache *iova_cpu_rcache_create(struct iova_rcache *rcache,
					       unsigned int cpu, gfp_t gfp);

/* iova-depot.c */
struct iova_mag *iova_mag_alloc(unsigned int cap, gfp_t gfp);
void iova_mag_drain(struct iova_domain *iovad, struct iova_mag *mag, bool trim);
bool iova_depot_take_full(struct iova_rcache *rcache, unsigned int order,
			  struct iova_mag **mag, unsigned short *source);
bool iova_depot_take_empty(struct iova_rcache *rcache, unsigned int order,
			   struct iova_mag **mag);
unsigned int iova_depot_drain(struct iova_rcache *rcache, unsigned int order);
void iova_depot_supply_work(struct work_struct *work);
void iova_depot_trim_work(struct work_struct *work);

/* iova-depot-split.c */
void iova_depots_init(struct iova_rcache *rcache);
void iova_depots_destroy(struct iova_rcache *rcache);
void iova_depot_split(struct iova_rcache *rcache, unsigned int order);

/**
 * iova_nr_depots - how many depots a class has
 * @rcache: caches
 * @order: class
 *
 * Context: any.
 * Return: 1, or, from some moment on, &iova_rcache.nr_depots.
 */
static inline unsigned int iova_nr_depots(struct iova_rcache *rcache,
					  unsigned int order)
{
	return READ_ONCE(rcache->more[order]) ? rcache->nr_depots : 1;
}

/**
 * iova_depot - one of the depots of a class
 * @rcache: caches
 * @order: class
 * @n: below iova_nr_depots()
 *
 * Context: any.
 * Return: the depot.
 */
static inline struct iova_depot *iova_depot(struct iova_rcache *rcache,
					    unsigned int order, unsigned int n)
{
	/* Published whole: what is read depends on the address. */
	return n ? READ_ONCE(rcache->more[order]) + n - 1 :
		   &rcache->depot[order];
}

/**
 * iova_own_depot - the depot that this CPU gives full magazines to
 * @nr: iova_nr_depots()
 *
 * Context: any.
 * Return: its number.
 */
static inline unsigned int iova_own_depot(unsigned int nr)
{
	return nr == 1 ? 0 : raw_smp_processor_id() / IOVA_DEPOT_CPUS % nr;
}

/* iova-rcache-setup.c */
int iova_rcache_hotplug_init(void);
void iova_rcache_hotplug_exit(void);
void iova_domain_free_rcaches(struct iova_domain *iovad);

/* iova-reclaim.c */
unsigned int iova_cpu_rcache_drain(struct iova_rcache *rcache, unsigned int cpu,
				   unsigned int from, bool release);

/**
 * enum iova_reclaim_stage - where parked ranges are looked for, in this order
 * @IOVA_RECLAIM_LOCAL: magazines of the CPU we run on
 * @IOVA_RECLAIM_DEPOT: full magazines, the longest ranges first
 * @IOVA_RECLAIM_PARKED: &iova_domain.flush_parked
 * @IOVA_RECLAIM_OTHERS: magazines of the other CPUs, one CPU a step
 * @IOVA_RECLAIM_DONE: nothing is left
 */
enum iova_reclaim_stage {
	IOVA_RECLAIM_LOCAL,
	IOVA_RECLAIM_DEPOT,
	IOVA_RECLAIM_PARKED,
	IOVA_RECLAIM_OTHERS,
	IOVA_RECLAIM_DONE,
};

/**
 * struct iova_reclaim - how far a reclaim has come
 * @rcache: caches to reclaim from
 * @stage: where the next step looks
 * @parked: the owner has nothing more to give
 * @asked: how often the owner has been asked
 * @cpu: next CPU of @IOVA_RECLAIM_OTHERS
 */
struct iova_reclaim {
	struct iova_rcache		*rcache;
	enum iova_reclaim_stage		stage;
	bool				parked;
	unsigned int			asked;
	unsigned int			cpu;
};

bool iova_reclaim_step(struct iova_reclaim *reclaim);

/**
 * struct iova_class_stats - one class of a domain, summed over its CPUs
 * @cpu: ranges in CPUs' magazines
 * @depot: ranges in the depot
 * @empty: empty magazines in the depot
 * @cap: capacity of the magazines now allocated, in ranges; the most of any depot
 * @hits: allocations served by the CPU's own magazines
 * @misses: allocations that went to the depot or the tree
 * @depot_locks: acquisitions of the depot's lock by exchanges
 */
struct iova_class_stats {
	unsigned long	cpu;
	unsigned long	depot;
	unsigned long	empty;
	unsigned long	cap;
	unsigned long	hits;
	unsigned long	misses;
	unsigned long	depot_locks;
};

/**
 * struct iova_domain_stats - a snapshot for people and tests
 * @tree: see &struct iova_tree_stats
 * @order: largest cached order
 * @class: by order
 * @cpus: CPUs that have magazines of this domain
 * @bytes: memory of the caches, in bytes; slab rounding not included
 */
struct iova_domain_stats {
	struct iova_tree_stats	tree;
	unsigned int		order;
	struct iova_class_stats	class[IOVA_NR_ORDERS];
	unsigned int		cpus;
	size_t			bytes;
};

/* iova-stats.c */
void iova_domain_get_stats(struct iova_domain *iovad,
			   struct iova_domain_stats *stats);

/* Ranges up to which a debug kernel checks searches, and whole trees. */
#define IOVA_CHECK_SEARCH_MAX	256
#define IOVA_CHECK_TREE_MAX	8192

/* iova-validate.c; only with CONFIG_IOMMU_IOVA_DEBUG */
const char *iova_tree_validate(struct iova_domain *iovad);
bool iova_tree_oracle(struct iova_domain *iovad, const struct iova_request *req,
		      unsigned long *pfn);
void iova_debug_check_search(struct iova_domain *iovad,
			     const struct iova_request *req,
			     struct iova *next, unsigned long pfn);
void iova_debug_check_tree(struct iova_domain *iovad);
void iova_debug_check_free(struct iova_domain *iovad, unsigned long pfn,
			   unsigned long size);

#endif
