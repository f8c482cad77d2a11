// SPDX-License-Identifier: GPL-2.0-only
/*
 * The depots of an IOVA domain: magazines that no CPU holds, one depot a class
 * or, where too many CPUs meet in one, several (iova-depot-split.c).
 *
 * A CPU that has used up both of its magazines trades one here: an empty one
 * against a full one, or the other way round. Magazines are conserved by a trade,
 * so that a steady load neither allocates nor frees any.
 *
 * What is kept follows the working set. A depot remembers the fewest magazines
 * of each kind that it held over an interval; that many were not needed, and of
 * what exceeds a reserve a quarter goes: full ones back to the tree, empty ones
 * to the slab. An idle domain's depots have no reserve and thus melt away, and
 * what frees on one CPU and allocations on another would pile up is bounded by
 * what they use.
 *
 * The reserve is for loads that are steady but not the same in each interval:
 * what one leaves alone the next may need, and would have to fetch from the tree
 * or, without empty magazines, have given back there. It is an eighth of the
 * working set and IOVA_RESERVE_MIN; a free that finds no empty magazine orders
 * as many beyond its own.
 *
 * Capacity follows contention. A class starts with small magazines, and moves on
 * to larger ones when trips come often or meet on the lock (Bonwick and Adams
 * size magazines so), up to what the address space bound allows. Smaller ones
 * are retired as they come back empty. A depot that has been empty and unused for
 * an interval starts over.
 *
 * Invariants:
 *
 * D1  Magazines on the full list are full, those on the empty list are empty.
 * D2  min_full <= nr_full and min_empty <= nr_empty.
 * D3  Trips run with interrupts off and allocate nothing. Magazines come from
 *     allocations that missed (iova-rcache.c) and from the supply work.
 * D4  Ranges leave for the tree IOVA_BATCH at a time, from process context, with
 *     no lock held in between.
 * D5  The supply work may queue the trim work. The trim work queues nothing but
 *     itself, so that cancelling the two in this order is final.
 */
#include "iova-internal.h"

#include <trace/events/iommu_iova.h>

/**
 * iova_mag_alloc - allocate an empty magazine
 * @cap: ranges it shall hold, at least 1
 * @gfp: allocation flags
 *
 * Context: as @gfp allows.
 * Return: the magazine, to be freed by kfree(); NULL without memory.
 */
struct iova_mag *iova_mag_alloc(unsigned int cap, gfp_t gfp)
{
	struct iova_mag *mag;

	mag = kmalloc(struct_size(mag, pfns, cap), gfp | __GFP_NOWARN);
	if (mag) {
		mag->next = NULL;
		mag->nr = 0;
		mag->cap = cap;
	}
	return mag;
}

/**
 * iova_mag_drain - give all ranges of a magazine back to the tree
 * @iovad: domain
 * @mag: magazine that the caller has taken out of CPU and depot
 * @trim: account the tree lock to background trimming
 *
 * Context: any.
 */
void iova_mag_drain(struct iova_domain *iovad, struct iova_mag *mag, bool trim)
{
	while (mag->nr) {
		unsigned int nr = min_t(unsigned int, mag->nr, IOVA_BATCH);

		mag->nr -= nr;
		iova_free_batch(iovad, mag->pfns + mag->nr, nr, trim);
	}
}

static struct iova_mag *list_pop(struct iova_mag **list, unsigned int *nr)
{
	struct iova_mag *mag = *list;

	WRITE_ONCE(*list, mag->next);
	mag->next = NULL;
	(*nr)--;
	return mag;
}

static void list_push(struct iova_mag **list, unsigned int *nr,
		      struct iova_mag *mag)
{
	mag->next = *list;
	WRITE_ONCE(*list, mag);
	(*nr)++;
}

/* Take the lock for a trip, and count what decides on the capacity. */
static void trip_begin(struct iova_depot *depot)
	__acquires(&depot->lock)
{
	lockdep_assert_irqs_disabled();

	if (!spin_trylock(&depot->lock)) {
		spin_lock(&depot->lock);
		depot->contended++;
	}
	depot->locks++;
	depot->trips++;

	if (depot->cap < depot->cap_max &&
	    (depot->trips >= IOVA_GROW_TRIPS ||
	     depot->contended >= IOVA_GROW_CONTENDED)) {
		/* Keep the footprint, with the header, a power of two. */
		WRITE_ONCE(depot->cap,
			   min_t(unsigned int, 2 * depot->cap + 2,
				 depot->cap_max));
		depot->trips = 0;
		depot->contended = 0;
	}
}

/*
 * Have the supply work run. One that is pending need not be told, and its mark is
 * for all CPUs to read. It takes the lock later, and finds what is wanted: had it
 * taken the lock before, its mark would have been seen to be gone.
 */
static void order_supply(struct iova_rcache *rcache, struct iova_depot *depot)
{
	lockdep_assert_held(&depot->lock);

	if (!work_pending(&rcache->supply))
		queue_work(system_unbound_wq, &rcache->supply);
}

/* Whether magazines that cannot grow leave the lock what bounds the class. */
static bool wants_split(struct iova_rcache *rcache, struct iova_depot *depot,
			unsigned int order)
{
	return depot->contended >= IOVA_SPLIT_CONTENDED &&
	       depot->contended >= depot->trips / 4 &&
	       depot->cap == depot->cap_max && !depot->split &&
	       iova_nr_depots(rcache, order) < rcache->nr_depots;
}

static void trip_end(struct iova_rcache *rcache, struct iova_depot *depot,
		     unsigned int order, bool full)
	__releases(&depot->lock)
{
	if (wants_split(rcache, depot, order)) {
		depot->split = true;
		order_supply(rcache, depot);
	}
	depot->min_full = min(depot->min_full, depot->nr_full);
	depot->min_empty = min(depot->min_empty, depot->nr_empty);
	trace_iova_depot_exchange(rcache->iovad, order, full, depot->nr_full,
				  depot->nr_empty);
	spin_unlock(&depot->lock);

	if (!delayed_work_pending(&rcache->trim))
		queue_delayed_work(system_unbound_wq, &rcache->trim,
				   IOVA_TRIM_DELAY);
}

/* Put an empty magazine on the list, or retire it if it has been outgrown. */
static void depot_give_empty(struct iova_rcache *rcache,
			     struct iova_depot *depot, struct iova_mag *mag)
{
	lockdep_assert_held(&depot->lock);

	if (mag->cap >= depot->cap) {
		list_push(&depot->empty, &depot->nr_empty, mag);
		return;
	}
	kfree(mag);
	depot->wanted += depot->cap;
	order_supply(rcache, depot);
}

/* Trade at one depot: an empty magazine, or none, against a full one. */
static bool take_full(struct iova_rcache *rcache, struct iova_depot *depot,
		      unsigned int order, struct iova_mag **mag)
{
	struct iova_mag *full = NULL;

	/* A stale answer costs a trip, or a miss; neither matters. */
	if (!READ_ONCE(depot->full))
		return false;

	trip_begin(depot);
	if (depot->full) {
		full = list_pop(&depot->full, &depot->nr_full);
		if (*mag)
			depot_give_empty(rcache, depot, *mag);
		*mag = full;
	}
	trip_end(rcache, depot, order, true);
	return full;
}

/**
 * iova_depot_take_full - trade an empty magazine for a full one
 * @rcache: caches
 * @order: class
 * @mag: an empty magazine, or NULL to take without giving; replaced
 * @source: &iova_cpu_class.source, where to look first; set to where one was found
 *
 * Context: irqs off, the lock of the CPU that @mag belongs to held.
 * Return: true if there was a full one.
 */
bool iova_depot_take_full(struct iova_rcache *rcache, unsigned int order,
			  struct iova_mag **mag, unsigned short *source)
{
	unsigned int nr = iova_nr_depots(rcache, order);
	unsigned int own = iova_own_depot(nr), i, n;

	if (take_full(rcache, iova_depot(rcache, order, own), order, mag))
		return true;
	for (i = 0; i < nr; i++) {
		n = (own + *source + i) % nr;
		if (take_full(rcache, iova_depot(rcache, order, n), order,
			      mag)) {
			*source = (*source + i) % nr;
			return true;
		}
	}
	return false;
}

/**
 * iova_depot_take_empty - trade a full magazine for an empty one
 * @rcache: caches
 * @order: class
 * @mag: a full magazine, or NULL to take without giving; replaced
 *
 * Where there is none, one is ordered for the next time.
 *
 * Context: irqs off, the lock of the CPU that @mag belongs to held.
 * Return: true if there was an empty one.
 */
bool iova_depot_take_empty(struct iova_rcache *rcache, unsigned int order,
			   struct iova_mag **mag)
{
	unsigned int own = iova_own_depot(iova_nr_depots(rcache, order));
	struct iova_depot *depot = iova_depot(rcache, order, own);
	struct iova_mag *empty = NULL;

	trip_begin(depot);
	if (depot->empty) {
		empty = list_pop(&depot->empty, &depot->nr_empty);
		if (*mag)
			list_push(&depot->full, &depot->nr_full, *mag);
		*mag = empty;
	} else {
		/* The reserve, and what the caller now gives to the tree. */
		if (!depot->wanted)
			depot->wanted = IOVA_RESERVE_MIN * depot->cap;
		depot->wanted += min_t(unsigned int, depot->cap, IOVA_BATCH);
		order_supply(rcache, depot);
	}
	trip_end(rcache, depot, order, false);
	return empty;
}

static struct iova_mag *pop_full(struct iova_depot *depot)
{
	struct iova_mag *mag = NULL;
	unsigned long flags;

	spin_lock_irqsave(&depot->lock, flags);
	if (depot->full) {
		mag = list_pop(&depot->full, &depot->nr_full);
		depot->min_full = min(depot->min_full, depot->nr_full);
	}
	spin_unlock_irqrestore(&depot->lock, flags);
	return mag;
}

/**
 * iova_depot_drain - give the ranges of one full magazine back to the tree
 * @rcache: caches
 * @order: class
 *
 * Context: any.
 * Return: ranges given back; 0 if no depot of the class has a full magazine.
 */
unsigned int iova_depot_drain(struct iova_rcache *rcache, unsigned int order)
{
	struct iova_mag *mag = NULL;
	unsigned int nr, i;

	for (i = 0; !mag && i < iova_nr_depots(rcache, order); i++)
		mag = pop_full(iova_depot(rcache, order, i));
	if (!mag)
		return 0;

	nr = mag->nr;
	iova_mag_drain(rcache->iovad, mag, false);
	kfree(mag);
	return nr;
}

/* Allocate what a class has asked for since the last run. */
static void depot_supply(struct iova_rcache *rcache, struct iova_depot *depot)
{
	unsigned int wanted, cap;
	struct iova_mag *mag;

	spin_lock_irq(&depot->lock);
	cap = depot->cap;
	wanted = min_t(unsigned int, depot->wanted, IOVA_SUPPLY_MAX);
	depot->wanted = 0;
	spin_unlock_irq(&depot->lock);

	for (wanted = DIV_ROUND_UP(wanted, cap); wanted; wanted--) {
		mag = iova_mag_alloc(cap, GFP_KERNEL);
		if (!mag)
			return;
		spin_lock_irq(&depot->lock);
		list_push(&depot->empty, &depot->nr_empty, mag);
		spin_unlock_irq(&depot->lock);
	}
}

/**
 * iova_depot_supply_work - allocate what the free path could not
 * @work: &iova_rcache.supply
 *
 * Context: process context, may sleep.
 */
void iova_depot_supply_work(struct work_struct *work)
{
	struct iova_rcache *rcache;
	unsigned int cpu, order, i;

	rcache = container_of(work, struct iova_rcache, supply);

	for_each_set_bit(cpu, rcache->want_cpu, nr_cpu_ids) {
		clear_bit(cpu, rcache->want_cpu);
		if (!READ_ONCE(rcache->cpu[cpu]))
			iova_cpu_rcache_create(rcache, cpu, GFP_KERNEL);
	}

	for (order = 0; order <= rcache->order_max; order++) {
		iova_depot_split(rcache, order);
		for (i = 0; i < iova_nr_depots(rcache, order); i++)
			depot_supply(rcache, iova_depot(rcache, order, i));
	}

	queue_delayed_work(system_unbound_wq, &rcache->trim, IOVA_TRIM_DELAY);
}

/* Move up to @cut magazines from one list to another. */
static void list_cut(struct iova_mag **list, unsigned int *nr,
		     unsigned int cut, struct iova_mag **to)
{
	unsigned int moved = 0;

	while (*list && moved < cut)
		list_push(to, &moved, list_pop(list, nr));
}

/*
 * Magazines of each kind that a depot keeps beyond what it needed in an
 * interval. Trips conserve magazines, so that those that were neither full nor
 * empty throughout are the working set; none is where nobody made a trip.
 */
static unsigned int reserve(const struct iova_depot *depot)
{
	unsigned int swing = depot->nr_full - depot->min_full +
			     depot->nr_empty - depot->min_empty;

	return swing ? swing / 8 + IOVA_RESERVE_MIN : 0;
}

/* What to take away where the working set left @min magazines alone. */
static unsigned int surplus(unsigned int min, unsigned int reserve)
{
	if (min <= reserve)
		return 0;
	return min_t(unsigned int, DIV_ROUND_UP(min - reserve, 4),
		     IOVA_TRIM_MAX);
}

/* Move what a depot can do without to @cut; true while it holds anything. */
static bool depot_cut_surplus(struct iova_rcache *rcache,
			      struct iova_depot *depot, unsigned int order,
			      struct iova_mag **cut)
{
	unsigned int full = IOVA_TRIM_MAX, empty = IOVA_TRIM_MAX;
	bool busy;

	lockdep_assert_held(&depot->lock);

	if (order <= READ_ONCE(rcache->order)) {
		full = surplus(depot->min_full, reserve(depot));
		empty = surplus(depot->min_empty, reserve(depot));
	}
	list_cut(&depot->full, &depot->nr_full, full, cut);
	list_cut(&depot->empty, &depot->nr_empty, empty, cut);
	if (*cut)
		trace_iova_depot_trim(rcache->iovad, order, depot->nr_full,
				      depot->nr_empty);

	busy = depot->nr_full || depot->nr_empty;
	if (!busy && !depot->trips)
		WRITE_ONCE(depot->cap, min_t(unsigned int, IOVA_MAG_MIN,
					     depot->cap_max));
	depot->min_full = depot->nr_full;
	depot->min_empty = depot->nr_empty;
	depot->trips = 0;
	depot->contended = 0;
	return busy;
}

static bool depot_trim(struct iova_rcache *rcache, struct iova_depot *depot,
		       unsigned int order)
{
	struct iova_mag *cut = NULL, *mag;
	bool busy;

	spin_lock_irq(&depot->lock);
	busy = depot_cut_surplus(rcache, depot, order, &cut);
	spin_unlock_irq(&depot->lock);

	while (cut) {
		mag = cut;
		cut = mag->next;
		iova_mag_drain(rcache->iovad, mag, true);
		kfree(mag);
		cond_resched();
	}
	return busy;
}

/**
 * iova_depot_trim_work - give back what the working set has left alone
 * @work: &iova_rcache.trim
 *
 * Runs once an interval while any depot holds a magazine.
 *
 * Context: process context, may sleep.
 */
void iova_depot_trim_work(struct work_struct *work)
{
	struct iova_rcache *rcache;
	unsigned int order, i;
	bool busy = false;

	rcache = container_of(to_delayed_work(work), struct iova_rcache, trim);

	for (order = 0; order <= rcache->order_max; order++)
		for (i = 0; i < iova_nr_depots(rcache, order); i++)
			busy |= depot_trim(rcache, iova_depot(rcache, order, i),
					   order);

	if (IS_ENABLED(CONFIG_IOMMU_IOVA_DEBUG))
		iova_debug_check_tree(rcache->iovad);

	if (busy)
		queue_delayed_work(system_unbound_wq, &rcache->trim,
				   IOVA_TRIM_DELAY);
}
