// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for tests: each object is one of the sanitizers', is not zero unless
 * asked for, is counted, and can be made to fail.
 */
#include <malloc.h>
#include <stdlib.h>

#include <linux/slab.h>
#include <linux/spinlock.h>

#include "sim.h"

#define POISON	0xa5

struct sim_memory sim_memory;

struct kmem_cache {
	unsigned int	size;
	long		live;
};

static void add(long *counter, long n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static bool fails(void)
{
	unsigned long call, from = READ_ONCE(sim_memory.fail_from);

	call = __atomic_add_fetch(&sim_memory.calls, 1, __ATOMIC_RELAXED);
	if (call != READ_ONCE(sim_memory.fail_at) && !(from && call >= from))
		return false;
	__atomic_fetch_add(&sim_memory.failed, 1, __ATOMIC_RELAXED);
	return true;
}

void *kmalloc(size_t size, gfp_t gfp)
{
	void *object;

	if (gfpflags_allow_blocking(gfp))
		might_sleep();
	if (fails())
		return NULL;
	BUG_ON(posix_memalign(&object, SMP_CACHE_BYTES, size));
	memset(object, gfp & __GFP_ZERO ? 0 : POISON, size);
	add(&sim_memory.live, 1);
	add(&sim_memory.bytes, malloc_usable_size(object));
	return object;
}

void kfree(const void *object)
{
	if (!object)
		return;
	add(&sim_memory.live, -1);
	add(&sim_memory.bytes, -(long)malloc_usable_size((void *)object));
	free((void *)object);
}

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *object))
{
	struct kmem_cache *cache = kzalloc(sizeof(*cache), GFP_KERNEL);

	if (cache)
		cache->size = size;
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	if (cache)
		sim_check(!cache->live, "%ld objects leak", cache->live);
	kfree(cache);
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	void *object = kmalloc(cache->size, gfp);

	if (object)
		add(&cache->live, 1);
	return object;
}

void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	BUG_ON(!object);
	add(&cache->live, -1);
	kfree(object);
}
