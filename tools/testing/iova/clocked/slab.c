// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: each CPU keeps what it has freed last, so that an object stays with
 * the CPU that uses it; what it has too much of goes to all, and back, by the
 * batch. Compiled as the code under test is: its accesses cost what theirs do.
 */
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "clock.h"

#define HEAP_SIZE	(1UL << 30)
#define CHUNK		(64UL << 10)
#define CPU_MAX		128
#define BATCH		32
#define ORDER_MIN	5
#define ORDER_MAX	22

struct object {
	struct object *next;
};

struct cpu_list {
	struct object	*first;
	unsigned int	nr;
};

struct kmem_cache {
	size_t			size;
	struct cpu_list		*cpu;
	spinlock_t		lock;	/* all below */
	struct object		*shared;
	char			*fresh;
	char			*fresh_end;
};

static spinlock_t heap_lock = __SPIN_LOCK_UNLOCKED(heap_lock);
static char *heap;
static size_t heap_used;
/* Whose objects a chunk holds. */
static struct kmem_cache *chunk_cache[HEAP_SIZE / CHUNK];
static struct kmem_cache *by_order[ORDER_MAX + 1];

static char *percpu;
static size_t percpu_used;

void *__alloc_percpu(size_t size, size_t align)
{
	char *at;

	if (!percpu)
		percpu = clock_memory(nr_cpu_ids * SIM_PERCPU_UNIT);
	percpu_used = (percpu_used + 63) & ~63UL;
	at = percpu + percpu_used;
	percpu_used += size;
	sim_check(percpu_used <= SIM_PERCPU_UNIT, "%zu bytes", percpu_used);
	return at;
}

static char *chunks(struct kmem_cache *cache, size_t size)
{
	size_t at;

	spin_lock(&heap_lock);
	if (!heap)
		heap = clock_memory(HEAP_SIZE);
	at = heap_used;
	for (; heap_used < at + size; heap_used += CHUNK) {
		sim_check(heap_used < HEAP_SIZE, "%zu bytes", heap_used);
		chunk_cache[heap_used / CHUNK] = cache;
	}
	spin_unlock(&heap_lock);
	return heap + at;
}

/* An object that nobody has had yet. */
static struct object *fresh(struct kmem_cache *cache)
{
	struct object *object;

	if (cache->fresh + cache->size > cache->fresh_end) {
		size_t size = max(CHUNK, cache->size);

		cache->fresh = chunks(cache, size);
		cache->fresh_end = cache->fresh + size;
	}
	object = (struct object *)cache->fresh;
	cache->fresh += cache->size;
	return object;
}

static void push(struct cpu_list *list, struct object *object)
{
	object->next = list->first;
	list->first = object;
	list->nr++;
}

static void refill(struct kmem_cache *cache, struct cpu_list *list)
{
	unsigned int batch = cache->size > PAGE_SIZE ? 1 : BATCH;
	struct object *object;
	unsigned long flags;

	spin_lock_irqsave(&cache->lock, flags);
	while (list->nr < batch) {
		object = cache->shared;
		if (object)
			cache->shared = object->next;
		else
			object = fresh(cache);
		push(list, object);
	}
	spin_unlock_irqrestore(&cache->lock, flags);
}

static void spill(struct kmem_cache *cache, struct cpu_list *list)
{
	struct object *first = list->first, *last = first;
	unsigned int nr = list->nr / 2;
	unsigned long flags;

	list->nr -= nr;
	while (--nr)
		last = last->next;
	list->first = last->next;
	spin_lock_irqsave(&cache->lock, flags);
	last->next = cache->shared;
	cache->shared = first;
	spin_unlock_irqrestore(&cache->lock, flags);
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	struct cpu_list *list = raw_cpu_ptr(cache->cpu);
	struct object *object;

	if (clock_cpu)
		clock_spend(CLOCK_WORK, cost[COST_SLAB]);
	if (!list->first)
		refill(cache, list);
	object = list->first;
	list->first = object->next;
	list->nr--;
	if (gfp & __GFP_ZERO) {
		clock_write_range(object, cache->size);
		memset(object, 0, cache->size);
	}
	return object;
}

void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	struct cpu_list *list = raw_cpu_ptr(cache->cpu);

	if (clock_cpu)
		clock_spend(CLOCK_WORK, cost[COST_SLAB]);
	push(list, object);
	if (list->nr > CPU_MAX)
		spill(cache, list);
}

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *object))
{
	struct kmem_cache *cache = clock_memory(sizeof(*cache));

	cache->size = flags & SLAB_HWCACHE_ALIGN ? (size + 63) & ~63UL : size;
	cache->cpu = __alloc_percpu(sizeof(*cache->cpu), 64);
	spin_lock_init(&cache->lock);
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
}

void *kmalloc(size_t size, gfp_t gfp)
{
	unsigned int order;

	/* The first call is made before there are CPUs. */
	for (order = ORDER_MIN; !by_order[ORDER_MAX]; order++)
		by_order[order] = kmem_cache_create("kmalloc", 1U << order, 0,
						    0, NULL);
	order = max(order_base_2(size), ORDER_MIN);
	sim_check(order <= ORDER_MAX, "%zu bytes", size);
	return kmem_cache_alloc(by_order[order], gfp);
}

void kfree(const void *object)
{
	if (object)
		kmem_cache_free(chunk_cache[((char *)object - heap) / CHUNK],
				(void *)object);
}
