/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that counts what is live and fails when the test says so. */
#ifndef _SIM_SLAB_H
#define _SIM_SLAB_H

#include <linux/bug.h>
#include <linux/gfp.h>
#include <linux/overflow.h>

#define SLAB_HWCACHE_ALIGN	0x2000u

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *object));
void kmem_cache_destroy(struct kmem_cache *cache);
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp);
void kmem_cache_free(struct kmem_cache *cache, void *object);
void *kmalloc(size_t size, gfp_t gfp);
void kfree(const void *object);

#define kmem_cache_zalloc(cache, gfp)					\
	kmem_cache_alloc(cache, (gfp) | __GFP_ZERO)
#define kzalloc(size, gfp)		kmalloc(size, (gfp) | __GFP_ZERO)
#define kzalloc_node(size, gfp, node)	((void)(node), kzalloc(size, gfp))
#define kcalloc(n, size, gfp)		kzalloc((size_t)(n) * (size), gfp)

#endif
