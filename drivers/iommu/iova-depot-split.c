// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several depots for a class that more CPUs use than one lock can serve.
 *
 * Each trip to a depot holds its lock for a few cache lines that come from other
 * CPUs. Magazines that grow make trips rare; but what one may hold is bounded in
 * bytes (IOVA_MAG_BYTES), so that where ranges are long it ends at a few of them,
 * and from some tens of CPUs on the lock is what bounds the class. Such a class
 * is split: IOVA_DEPOT_CPUS CPUs share a depot, with a lock, lists and a working
 * set of its own. Each class starts with one, so that nothing is spent where one
 * is enough, and a class that was split stays so.
 *
 * A CPU trades full magazines for empty ones at its own depot. Full ones it takes
 * where it found the last, its own at first, else where there are any; and there
 * it leaves its empty one, so that the CPUs that free there find it. Each depot
 * thus conserves its magazines, also where ranges are allocated by CPUs of one and
 * freed by CPUs of another.
 *
 * Invariants:
 *
 * P1  iova_rcache.more[] is written once, under nobody's lock but by the supply
 *     work alone, and with release semantics: who sees the pointer sees depots
 *     that are set up. Readers depend on the address they load.
 * P2  A CPU that still takes a class to have one depot uses the first, which is
 *     one of the class's as before.
 */
#include "iova-internal.h"

static void depot_init(struct iova_depot *depot, unsigned int order,
		       unsigned int shift)
{
	spin_lock_init(&depot->lock);
	depot->cap_max = clamp(IOVA_MAG_BYTES >> (order + shift),
			       1, IOVA_MAG_MAX);
	depot->cap = min_t(unsigned int, IOVA_MAG_MIN, depot->cap_max);
}

/**
 * iova_depots_init - set up one depot without magazines for each class
 * @rcache: caches of a domain
 *
 * Context: nobody else may know the caches yet.
 */
void iova_depots_init(struct iova_rcache *rcache)
{
	unsigned int order;

	rcache->nr_depots = clamp(nr_cpu_ids / IOVA_DEPOT_CPUS, 1,
				  IOVA_DEPOTS_MAX);
	for (order = 0; order < IOVA_NR_ORDERS; order++)
		depot_init(&rcache->depot[order], order,
			   iova_shift(rcache->iovad));
}

/**
 * iova_depot_split - give a class more depots, if it has asked for them
 * @rcache: caches
 * @order: class
 *
 * Without memory the class stays as it is, and asks again.
 *
 * Context: process context, may sleep; the supply work only.
 */
void iova_depot_split(struct iova_rcache *rcache, unsigned int order)
{
	struct iova_depot *first = &rcache->depot[order], *more;
	unsigned int i;
	bool wanted;

	spin_lock_irq(&first->lock);
	wanted = first->split;
	first->split = false;
	spin_unlock_irq(&first->lock);
	if (!wanted || rcache->more[order])
		return;

	more = kcalloc(rcache->nr_depots - 1, sizeof(*more),
		       GFP_KERNEL | __GFP_NOWARN);
	if (!more)
		return;
	for (i = 0; i < rcache->nr_depots - 1; i++) {
		depot_init(&more[i], order, iova_shift(rcache->iovad));
		more[i].cap = more[i].cap_max;
	}
	/* Pairs with the address dependency in iova_depot(). */
	smp_store_release(&rcache->more[order], more);
}

static void free_list(struct iova_mag *mag)
{
	struct iova_mag *next;

	for (; mag; mag = next) {
		next = mag->next;
		kfree(mag);
	}
}

/**
 * iova_depots_destroy - free all depots' magazines, and the depots
 * @rcache: caches of a domain
 *
 * The ranges in them stay live: the tree is torn down with them.
 *
 * Context: no other user is left.
 */
void iova_depots_destroy(struct iova_rcache *rcache)
{
	unsigned int order, i;

	for (order = 0; order < IOVA_NR_ORDERS; order++) {
		for (i = 0; i < iova_nr_depots(rcache, order); i++) {
			free_list(iova_depot(rcache, order, i)->full);
			free_list(iova_depot(rcache, order, i)->empty);
		}
		kfree(rcache->more[order]);
	}
}
