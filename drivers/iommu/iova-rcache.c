// SPDX-License-Identifier: GPL-2.0-only
/*
 * Per-CPU magazine caches in front of the range tree.
 *
 * Each CPU keeps two magazines a class, loaded and prev, and serves allocations
 * and frees from the loaded one. Where that runs out they are exchanged; where
 * both are used up, one trip to the depot (iova-depot.c) trades a magazine. The
 * second magazine is what keeps a CPU that goes to and fro around the edge of
 * one from making a trip each time. The scheme is that of Bonwick and Adams,
 * "Magazines and Vmem" (USENIX 2001). What the loaded magazine alone can serve
 * is inline in iova-internal.h; all else is here.
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
 * R5  A class is open on a CPU that is not dead, up to rcache->order; both are
 *     looked at under the CPU's lock before a magazine is put into an empty
 *     slot, and a class without magazines parks nothing. Whoever closes classes
 *     takes their magazines away under the same lock afterwards, so that
 *     nothing is left behind.
 * R6  pfn 0 is never live in a domain with caches, and stands for failure.
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

/* How many ranges this miss may take from the tree, and make the next bolder. */
static unsigned int class_batch(struct iova_cpu_rcache *cpu, unsigned int order)
{
	struct iova_cpu_class *class = &cpu->class[order];
	unsigned int room = mag_room(cpu->loaded[order]);
	unsigned int batch = 1U << class->refill;

	if (batch < IOVA_BATCH)
		class->refill++;
	return min(batch, room / 2 + 1);
}

/* Whether ranges may be parked here: R5. */
static bool class_is_open(struct iova_rcache *rcache,
			  struct iova_cpu_rcache *cpu, unsigned int order)
{
	lockdep_assert_held(&cpu->lock);

	return !cpu->dead && order <= READ_ONCE(rcache->order);
}

/* Capacity of a magazine for this CPU. */
static unsigned int class_cap(struct iova_rcache *rcache, unsigned int order)
{
	unsigned int own = iova_own_depot(iova_nr_depots(rcache, order));

	return READ_ONCE(iova_depot(rcache, order, own)->cap);
}

/* A miss is a use: see to it that what is taken can be freed into something. */
static void class_fit_out(struct iova_rcache *rcache,
			  struct iova_cpu_rcache *cpu, unsigned int order)
{
	struct iova_mag **slot = &cpu->loaded[order];

	if (*slot)
		slot = &cpu->class[order].prev;
	if (!*slot && class_is_open(rcache, cpu, order))
		*slot = iova_mag_alloc(class_cap(rcache, order), GFP_ATOMIC);
}

/*
 * The loaded magazine could not serve. Returns a range from elsewhere on the
 * CPU or from the depot; or 0, and in @batch what to take from the tree.
 */
static unsigned long class_pop(struct iova_rcache *rcache,
			       struct iova_cpu_rcache *cpu, unsigned int order,
			       unsigned long last, unsigned int *batch)
{
	struct iova_cpu_class *class = &cpu->class[order];
	struct iova_mag **loaded = &cpu->loaded[order];
	unsigned long pfn;

	if (!mag_has_any(*loaded) && mag_has_any(class->prev))
		swap(*loaded, class->prev);

	pfn = mag_pop(*loaded, last);
	if (!pfn)
		pfn = mag_pop(class->prev, last);
	if (pfn) {
		cpu->hits[order]++;
		return pfn;
	}

	class->misses++;
	if (!mag_has_any(*loaded) && class_is_open(rcache, cpu, order) &&
	    iova_depot_take_full(rcache, order, loaded, &class->source))
		pfn = mag_pop(*loaded, last);
	trace_iova_class_miss(rcache->iovad, order, last, pfn);
	if (pfn)
		return pfn;

	class_fit_out(rcache, cpu, order);
	*batch = class_batch(cpu, order);
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
	mag = cpu->loaded[order];
	while (n < nr && mag_room(mag))
		iova_mag_push(mag, pfns[n++]);
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
 * Looks in this CPU's magazines, the depot and the tree, in this order; for
 * what iova_rcache_pop() could not serve.
 *
 * Context: any.
 * Return: first pfn; 0 if there is no place or no memory.
 */
unsigned long iova_rcache_get(struct iova_rcache *rcache, unsigned int order,
			      unsigned long limit)
{
	unsigned int this_cpu = raw_smp_processor_id(), batch = 1;
	struct iova_cpu_rcache *cpu = READ_ONCE(rcache->cpu[this_cpu]);
	unsigned long last, flags, pfn;

	if (limit < (1UL << order) - 1)
		return 0;
	last = limit - ((1UL << order) - 1);

	if (!cpu)
		cpu = iova_cpu_rcache_create(rcache, this_cpu, GFP_ATOMIC);
	if (cpu) {
		spin_lock_irqsave(&cpu->lock, flags);
		pfn = class_pop(rcache, cpu, order, last, &batch);
		spin_unlock_irqrestore(&cpu->lock, flags);
		if (pfn)
			return pfn;
	}

	return refill(rcache, order, limit, batch);
}

/* Make room for a free and order more for the next time: the loaded one's top. */
static unsigned int class_spill(struct iova_rcache *rcache,
				struct iova_cpu_rcache *cpu, unsigned int order,
				unsigned long *pfns)
{
	struct iova_mag *mag = cpu->loaded[order];
	unsigned int nr = 0;

	cpu->class[order].refill = 0;
	while (mag && mag->nr && nr < IOVA_BATCH)
		pfns[nr++] = mag->pfns[--mag->nr];
	if (nr)
		trace_iova_class_spill(rcache->iovad, order, nr);
	return nr;
}

/* A free on a CPU that has never allocated: R2. */
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
 * For what iova_rcache_push() could not take.
 *
 * Context: any. Allocates nothing.
 * Return: true if the range was taken; false if it is still the caller's.
 */
bool iova_rcache_put(struct iova_rcache *rcache, unsigned int order,
		     unsigned long pfn)
{
	unsigned int this_cpu = raw_smp_processor_id(), nr = 0;
	struct iova_cpu_rcache *cpu = READ_ONCE(rcache->cpu[this_cpu]);
	unsigned long pfns[IOVA_BATCH], flags;
	struct iova_mag **loaded, **prev;
	bool room;

	if (!cpu) {
		ask_for_cpu(rcache, this_cpu);
		return false;
	}

	loaded = &cpu->loaded[order];
	prev = &cpu->class[order].prev;
	spin_lock_irqsave(&cpu->lock, flags);
	if (!mag_room(*loaded)) {
		if (mag_room(*prev) ||
		    (class_is_open(rcache, cpu, order) &&
		     iova_depot_take_empty(rcache, order, prev)))
			swap(*loaded, *prev);
		else
			nr = class_spill(rcache, cpu, order, pfns);
	}
	room = mag_room(*loaded);
	if (room)
		iova_mag_push(*loaded, pfn);
	spin_unlock_irqrestore(&cpu->lock, flags);

	iova_free_batch(rcache->iovad, pfns, nr, false);
	return room;
}
