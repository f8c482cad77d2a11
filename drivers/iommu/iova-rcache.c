// SPDX-License-Identifier: GPL-2.0-only
/*
 * Per-CPU magazine caches in front of the range tree.
 *
 * Each CPU keeps two magazines a class, loaded and prev, and serves allocations
 * and frees from the loaded one. Where that runs out they are exchanged; where
 * both are used up, one trip to the depot (iova-depot.c) trades a magazine. The
 * second magazine is what keeps a CPU that goes to and fro around the edge of
 * one from making a trip each time. The scheme is that of Bonwick and Adams,
 * "Magazines and Vmem" (USENIX 2001).
 *
 * The tree is reached only by
 *   - an allocation that finds both magazines empty and no full one in the
 *     depot: it takes a batch, which doubles with every such miss;
 *   - a free that finds both full and no empty one in the depot: it gives a
 *     batch back, and asks for a magazine to be there next time.
 * A steady load does neither.
 *
 * Invariants:
 *
 * R1  A class holds whole ranges, each live in the tree: nobody else can be
 *     given one.
 * R2  Frees allocate nothing. A CPU that only frees gets its magazines from the
 *     supply work; until then its frees go to the tree.
 * R3  Nothing exists for a CPU or a class before its first use.
 * R4  What a CPU parks in a class is bounded by 2 * max(IOVA_MAG_BYTES, size of
 *     the class) bytes.
 * R5  A range goes into class k only while k <= rcache->order, which is read
 *     under the CPU's lock. Whoever lowers it drains each CPU under the same
 *     lock afterwards, so that nothing is left above.
 * R6  pfn 0 is in no class: it stands for failure.
 *
 * A task that reads its CPU's number and then migrates uses the magazines of
 * the CPU it was on. The lock makes that correct, and it is rare.
 *
 * Pointers to struct iova_cpu_rcache are set once by cmpxchg(), a full barrier;
 * readers depend on the address they load.
 */
#include "iova-internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/iommu_iova.h>

/**
 * iova_cpu_rcache_create - give a CPU its part of a domain's caches
 * @rcache: caches
 * @cpu: CPU, online or not
 * @gfp: allocation flags
 *
 * Context: as @gfp allows.
 * Return: the part, be it new or made by somebody else meanwhile; NULL without
 * memory.
 */
struct iova_cpu_rcache *iova_cpu_rcache_create(struct iova_rcache *rcache,
					       unsigned int cpu, gfp_t gfp)
{
	struct iova_cpu_rcache *new, *old;

	new = kzalloc_node(sizeof(*new), gfp | __GFP_NOWARN, cpu_to_node(cpu));
	if (!new)
		return NULL;

	spin_lock_init(&new->lock);
	old = cmpxchg(&rcache->cpu[cpu], NULL, new);
	if (!old)
		return new;

	kfree(new);
	return old;
}

static unsigned int mag_room(struct iova_mag *mag)
{
	return mag ? mag->cap - mag->nr : 0;
}

static bool mag_has_any(struct iova_mag *mag)
{
	return mag && mag->nr;
}

/* Take the topmost range that starts at or below @last; 0 if there is none. */
static unsigned long mag_pop(struct iova_mag *mag, unsigned long last)
{
	unsigned int i;

	for (i = mag ? mag->nr : 0; i--; ) {
		unsigned long pfn = mag->pfns[i];

		if (pfn <= last) {
			mag->pfns[i] = mag->pfns[--mag->nr];
			return pfn;
		}
	}
	return 0;
}

static void mag_push(struct iova_mag *mag, unsigned long pfn)
{
	mag->pfns[mag->nr++] = pfn;
}

/* How many ranges this miss may take from the tree, and make the next bolder. */
static unsigned int class_batch(struct iova_cpu_class *class)
{
	unsigned int room = mag_room(class->loaded);
	unsigned int batch = 1U << class->refill;

	if (batch < IOVA_BATCH)
		class->refill++;
	return min(batch, room / 2 + 1);
}

/* A miss is a use: see to it that what is taken can be freed into something. */
static void class_fit_out(struct iova_rcache *rcache, unsigned int order,
			  struct iova_cpu_class *class)
{
	struct iova_mag **slot = class->loaded ? &class->prev : &class->loaded;

	if (!*slot)
		*slot = iova_mag_alloc(READ_ONCE(rcache->depot[order].cap),
				       GFP_ATOMIC);
}

/*
 * The loaded magazine could not serve. Returns a range, or 0 and in @batch what
 * to take from the tree.
 */
static noinline unsigned long class_pop_slow(struct iova_rcache *rcache,
					     unsigned int order,
					     struct iova_cpu_class *class,
					     unsigned long last,
					     unsigned int *batch)
{
	unsigned long pfn;

	if (!mag_has_any(class->loaded) && mag_has_any(class->prev))
		swap(class->loaded, class->prev);

	pfn = mag_pop(class->loaded, last);
	if (!pfn)
		pfn = mag_pop(class->prev, last);
	if (pfn) {
		class->hits++;
		return pfn;
	}

	class->misses++;
	if (!mag_has_any(class->loaded) &&
	    iova_depot_take_full(rcache, order, &class->loaded))
		pfn = mag_pop(class->loaded, last);
	trace_iova_class_miss(rcache->iovad, order, last, pfn);
	if (pfn)
		return pfn;

	class_fit_out(rcache, order, class);
	*batch = class_batch(class);
	return 0;
}

/* Park ranges on the CPU we are on; returns how many found room. */
static unsigned int stash(struct iova_rcache *rcache, unsigned int order,
			  const unsigned long *pfns, unsigned int nr)
{
	struct iova_cpu_rcache *cpu;
	struct iova_mag *mag;
	unsigned int n = 0;
	unsigned long flags;

	cpu = READ_ONCE(rcache->cpu[raw_smp_processor_id()]);
	if (!cpu)
		return 0;

	spin_lock_irqsave(&cpu->lock, flags);
	mag = cpu->class[order].loaded;
	if (order <= READ_ONCE(rcache->order)) {
		while (n < nr && mag_room(mag))
			mag_push(mag, pfns[n++]);
	}
	spin_unlock_irqrestore(&cpu->lock, flags);

	return n;
}

/* Take @nr ranges from the tree, return one and park the others. */
static unsigned long refill(struct iova_rcache *rcache, unsigned int order,
			    unsigned long limit, unsigned int nr)
{
	struct iova_request req = {
		.size = 1UL << order, .limit = limit, .aligned = true,
	};
	unsigned long pfns[IOVA_BATCH];
	unsigned int kept = 0;

	nr = iova_alloc_batch(rcache->iovad, &req, pfns, nr);
	if (!nr)
		return 0;

	nr--;
	if (nr)
		kept = stash(rcache, order, pfns + 1, nr);
	iova_free_batch(rcache->iovad, pfns + 1 + kept, nr - kept, false);
	return pfns[0];
}

/**
 * iova_rcache_get - allocate a whole range of a class
 * @rcache: caches
 * @order: class, at most rcache->order
 * @limit: highest pfn that may be part of the range, inclusive
 *
 * Looks in this CPU's magazines, the depot and the tree, in this order.
 *
 * Context: any.
 * Return: first pfn; 0 if there is no place or no memory.
 */
unsigned long iova_rcache_get(struct iova_rcache *rcache, unsigned int order,
			      unsigned long limit)
{
	unsigned int this_cpu = raw_smp_processor_id(), batch = 1;
	unsigned long last, flags, pfn;
	struct iova_cpu_class *class;
	struct iova_cpu_rcache *cpu;
	struct iova_mag *mag;

	/* The highest first pfn that keeps the range at or below the limit. */
	if (unlikely(limit < (1UL << order) - 1))
		return 0;
	last = limit - ((1UL << order) - 1);

	cpu = READ_ONCE(rcache->cpu[this_cpu]);
	if (unlikely(!cpu)) {
		cpu = iova_cpu_rcache_create(rcache, this_cpu, GFP_ATOMIC);
		if (!cpu)
			return refill(rcache, order, limit, 1);
	}

	spin_lock_irqsave(&cpu->lock, flags);
	class = &cpu->class[order];
	mag = class->loaded;
	if (likely(mag && mag->nr && mag->pfns[mag->nr - 1] <= last)) {
		pfn = mag->pfns[--mag->nr];
		class->hits++;
	} else {
		pfn = class_pop_slow(rcache, order, class, last, &batch);
	}
	spin_unlock_irqrestore(&cpu->lock, flags);

	return likely(pfn) ? pfn : refill(rcache, order, limit, batch);
}

/*
 * The loaded magazine has no room. Returns true with the range parked, or false
 * with up to IOVA_BATCH ranges in @spill, and their number in @nr, for the tree.
 */
static noinline bool class_push_slow(struct iova_rcache *rcache,
				     unsigned int order,
				     struct iova_cpu_class *class,
				     unsigned long pfn, unsigned long *spill,
				     unsigned int *nr)
{
	struct iova_mag *mag;

	if (mag_room(class->prev) ||
	    iova_depot_take_empty(rcache, order, &class->prev)) {
		swap(class->loaded, class->prev);
		mag_push(class->loaded, pfn);
		return true;
	}

	class->refill = 0;
	mag = class->loaded;
	if (!mag)
		return false;

	while (*nr < IOVA_BATCH && mag->nr)
		spill[(*nr)++] = mag->pfns[--mag->nr];
	mag_push(mag, pfn);
	trace_iova_class_spill(rcache->iovad, order, *nr);
	return true;
}

/* A free on a CPU that has never allocated: see R2. */
static void ask_for_cpu(struct iova_rcache *rcache, unsigned int cpu)
{
	if (!test_bit(cpu, rcache->want_cpu)) {
		set_bit(cpu, rcache->want_cpu);
		queue_work(system_unbound_wq, &rcache->supply);
	}
}

/**
 * iova_rcache_put - park a whole range
 * @rcache: caches
 * @order: its class
 * @pfn: its first pfn
 *
 * Context: any. Allocates nothing.
 * Return: true if the range was taken; false if it is still the caller's.
 */
bool iova_rcache_put(struct iova_rcache *rcache, unsigned int order,
		     unsigned long pfn)
{
	unsigned int this_cpu = raw_smp_processor_id(), nr = 0;
	unsigned long spill[IOVA_BATCH], flags;
	struct iova_cpu_class *class;
	struct iova_cpu_rcache *cpu;
	struct iova_mag *mag;
	bool taken = false;

	cpu = READ_ONCE(rcache->cpu[this_cpu]);
	if (unlikely(!cpu)) {
		ask_for_cpu(rcache, this_cpu);
		return false;
	}

	spin_lock_irqsave(&cpu->lock, flags);
	class = &cpu->class[order];
	mag = class->loaded;
	if (unlikely(cpu->dead || order > READ_ONCE(rcache->order) || !pfn)) {
		/* R5, R6 */
	} else if (likely(mag && mag->nr < mag->cap)) {
		mag_push(mag, pfn);
		taken = true;
	} else {
		taken = class_push_slow(rcache, order, class, pfn, spill, &nr);
	}
	spin_unlock_irqrestore(&cpu->lock, flags);

	if (unlikely(nr))
		iova_free_batch(rcache->iovad, spill, nr, false);
	return taken;
}
