// SPDX-License-Identifier: GPL-2.0-only
/*
 * The base: its allocator, linked beside this, and the flush queue inside its
 * dma-iommu.c, cut out of that file when this is built. What is a model here is
 * the rest: that an invalidation holds the domain's lock until it has ended.
 */
#include <linux/atomic.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/timer.h>

#include "ncpu-stock.h"

#define phys_addr_t		u64
#define smp_wmb()		do { } while (0)
#define vmalloc(size)		kmalloc(size, GFP_KERNEL)
#define vfree(ptr)		kfree(ptr)
#define pr_warn(...)		do { } while (0)
#define atomic64_inc(v)		((void)sim_atomic_add(v, 1))
#define atomic_read(v)		atomic64_read(v)
#define atomic_set(v, i)	atomic64_set(v, i)
#define atomic_xchg(v, i)	xchg(&(v)->counter, i)

/* As much of these as the queue's code looks at. */
struct stock_domain;
struct stock_ops {
	void	(*flush_iotlb_all)(struct stock_domain *domain);
};

struct stock_domain {
	const struct stock_ops	*ops;
	struct iommu_dma_cookie	*iova_cookie;
	spinlock_t		cache_lock;	/* held across invalidations */
	bool			wide;
} ____cacheline_aligned_in_smp;

#define iommu_domain	stock_domain
/* It is not taken down here. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "dma-iommu-fq.h"
#undef iommu_domain

static struct stock_domain *domains;
static bool is_strict;

void iommu_put_pages_list(struct list_head *list)
{
}

static void flush(struct stock_domain *domain)
{
	unsigned long flags;

	spin_lock_irqsave(&domain->cache_lock, flags);
	ncpu_unit_poll();
	spin_unlock_irqrestore(&domain->cache_lock, flags);
}

static const struct stock_ops ops = { flush };

static void begin(unsigned int nr, size_t range, bool strict)
{
	unsigned int i;

	ncpu_unit_begin();
	is_strict = strict;
	domains = clock_memory(nr * sizeof(*domains));
	sim_check(!iova_cache_get(), "no caches");
	for (i = 0; i < nr; i++) {
		struct stock_domain *d = &domains[i];

		d->ops = &ops;
		spin_lock_init(&d->cache_lock);
		d->iova_cookie = kzalloc(sizeof(*d->iova_cookie), GFP_KERNEL);
		d->iova_cookie->options = (struct iommu_dma_options) {
			IOMMU_DMA_OPTS_PER_CPU_QUEUE, IOVA_DEFAULT_FQ_SIZE,
			IOVA_DEFAULT_FQ_TIMEOUT,
		};
		init_iova_domain(&d->iova_cookie->iovad, PAGE_SIZE, 1);
		sim_check(!iova_domain_init_rcaches(&d->iova_cookie->iovad),
			  "no caches");
		sim_check(strict || !iommu_dma_init_fq(d), "no queue");
	}
}

static unsigned long map(unsigned int domain, unsigned long pages)
{
	struct stock_domain *d = &domains[domain];

	return ncpu_alloc(&d->iova_cookie->iovad, &d->wide, pages);
}

static void unmap(unsigned int domain, unsigned long pfn, unsigned long pages)
{
	struct stock_domain *d = &domains[domain];
	LIST_HEAD(freelist);

	if (!is_strict) {
		queue_iova(d->iova_cookie, pfn, pages, &freelist);
		return;
	}
	flush(d);
	free_iova_fast(&d->iova_cookie->iovad, pfn, pages);
}

const struct ncpu_policy ncpu_stock = {
	"stock", "the base, 6.12", begin, map, unmap,
};
