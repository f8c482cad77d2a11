// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for benchmarks: a list of free objects for each size, the last one
 * freed first out, as the kernel's slabs have them on each CPU.
 */
#include <stdlib.h>

#include <linux/slab.h>

#include "sim.h"

#define CHUNK	(64UL << 10)

struct sim_memory sim_memory;

struct object {
	struct object *next;
};

struct kmem_cache {
	size_t		size;
	struct object	*free;
};

static void add_chunk(struct kmem_cache *cache)
{
	size_t size = max(CHUNK, cache->size), at;
	void *chunk;

	BUG_ON(posix_memalign(&chunk, SMP_CACHE_BYTES, size));
	for (at = 0; at + cache->size <= size; at += cache->size)
		kmem_cache_free(cache, chunk + at);
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	struct object *object;

	if (!cache->free)
		add_chunk(cache);
	object = cache->free;
	cache->free = object->next;
	if (gfp & __GFP_ZERO)
		memset(object, 0, cache->size);
	return object;
}

void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	*(struct object *)object = (struct object) { cache->free };
	cache->free = object;
}

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *object))
{
	struct kmem_cache *cache = calloc(1, sizeof(*cache));

	cache->size = (size + 63) & ~63UL;
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	free(cache);
}

/* The cache an object came from stands in front of it. */
static struct kmem_cache by_order[32];

void *kmalloc(size_t size, gfp_t gfp)
{
	unsigned int order = order_base_2(max(size, 64UL));
	struct kmem_cache *cache = &by_order[order];
	void **object;

	cache->size = (1UL << order) + SMP_CACHE_BYTES;
	object = kmem_cache_alloc(cache, gfp);
	*object = cache;
	return (void *)object + SMP_CACHE_BYTES;
}

void kfree(const void *object)
{
	void *start = (void *)object - SMP_CACHE_BYTES;

	if (object)
		kmem_cache_free(*(struct kmem_cache **)start, start);
}
