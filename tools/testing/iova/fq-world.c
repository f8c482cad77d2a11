// SPDX-License-Identifier: GPL-2.0-only
/*
 * The unit, its domains, and what is checked of them at each step. Atomic, so
 * that threads may use it as well.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include <linux/jiffies.h>
#include <linux/preempt.h>

#include "fq-world.h"

#define WAITERS	(128 * 1024UL)

/* A page-table page: what was in it when it was cut off. */
struct page {
	struct list_head	lru;
	struct fq_domain	*domain;
	u32			cleared;
};

struct fq_unit fq_unit;
unsigned long fq_uncovered, fq_window;

static u32 clock_now;

static u32 tick(void)
{
	return __atomic_add_fetch(&clock_now, 1, __ATOMIC_SEQ_CST);
}

static u32 get(u32 *stamp)
{
	return __atomic_load_n(stamp, __ATOMIC_SEQ_CST);
}

static void set(u32 *stamp, u32 value)
{
	__atomic_store_n(stamp, value, __ATOMIC_SEQ_CST);
}

/* Of flushes that overlap, the one that began last counts. */
static void advance(u32 *stamp, u32 value)
{
	u32 seen = get(stamp);

	while (seen < value && !try_cmpxchg(stamp, &seen, value))
		;
}

/* No TLB can have what was cleared at @cleared. */
static bool covered(struct fq_domain *d, u32 cleared)
{
	return get(&d->iotlb) > cleared &&
	       (!READ_ONCE(d->extra) || get(&d->dev_tlb) > cleared);
}

#ifndef __SANITIZE_THREAD__
/* An unmap that waits for its flush, for the window. */
struct waiter {
	struct fq_domain	*domain;
	u32			cleared;
	unsigned long		since;
};

static struct waiter waiters[WAITERS];
static unsigned long first_waiter, last_waiter;

static void forget_waits(void)
{
	fq_uncovered = 0;
	fq_window = 0;
	first_waiter = 0;
	last_waiter = 0;
}

static void note_wait(struct fq_domain *d, u32 cleared)
{
	waiters[last_waiter++ % WAITERS] = (struct waiter) { d, cleared, jiffies };
	sim_check(last_waiter - first_waiter < WAITERS, "too many wait");
	fq_uncovered++;
}

static void note_flush(void)
{
	unsigned long i;

	for (i = first_waiter; i != last_waiter; i++) {
		struct waiter *w = &waiters[i % WAITERS];

		if (w->domain && covered(w->domain, w->cleared)) {
			fq_window = max(fq_window, jiffies - w->since);
			fq_uncovered--;
			w->domain = NULL;
		}
		if (!w->domain && i == first_waiter)
			first_waiter++;
	}
}
#else
static void forget_waits(void) {}
static void note_wait(struct fq_domain *d, u32 cleared) {}
static void note_flush(void) {}
#endif

static void in_hardware(void)
{
	typeof(fq_unit.during) during = READ_ONCE(fq_unit.during);

	if (during)
		during();
}

static void flush_scope(void *scope)
{
	struct fq_unit *unit = scope;
	u32 begin = tick();
	unsigned int i;

	sim_check(sim_preempt_off, "a flush that can be preempted");
	__atomic_fetch_add(&unit->scope_flushes, 1, __ATOMIC_RELAXED);
	in_hardware();
	for (i = 0; i < unit->nr; i++)
		advance(&unit->domain[i].iotlb, begin);
	note_flush();
}

static void flush_domain(struct iommu_domain *domain)
{
	struct fq_domain *d = container_of(domain, struct fq_domain, domain);
	u32 begin = tick();

	__atomic_fetch_add(&d->flushes, 1, __ATOMIC_RELAXED);
	in_hardware();
	advance(&d->iotlb, begin);
	/* Filled from the IOTLB up to now, if it was not from the page table. */
	advance(&d->dev_tlb, begin);
	note_flush();
}

void iommu_put_pages_list(struct list_head *list)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, list, lru) {
		sim_check(covered(page->domain, page->cleared),
			  "a page-table page is freed before its flush");
		__atomic_fetch_sub(&fq_unit.pages, 1, __ATOMIC_RELAXED);
		free(page);
	}
	/* As some kernels leave it. */
	list->next = (void *)0x5a5a;
	list->prev = (void *)0x5a5a;
}

static void add_tables(struct list_head *list, struct fq_domain *d, u32 cleared,
		       unsigned int tables)
{
	while (tables--) {
		struct page *page = malloc(sizeof(*page));

		*page = (struct page) { .domain = d, .cleared = cleared };
		list_add_tail(&page->lru, list);
		__atomic_fetch_add(&fq_unit.pages, 1, __ATOMIC_RELAXED);
	}
}

unsigned long fq_map(unsigned int i, unsigned long pages)
{
	struct fq_domain *d = &fq_unit.domain[i];
	unsigned long pfn, p;

	pfn = alloc_iova_fast(&d->iovad, pages, FQ_PFNS - 1, true);
	for (p = pfn; pfn && p < pfn + pages; p++)
		sim_check(!get(&d->cleared[p]) || covered(d, d->cleared[p]),
			  "domain %u, %#lx: the device still has it", i, p);
	return pfn;
}

void fq_unmap(unsigned int i, unsigned long pfn, unsigned long pages,
	      unsigned int tables)
{
	struct fq_domain *d = &fq_unit.domain[i];
	LIST_HEAD(freelist);
	unsigned long p;
	u32 now = tick();

	for (p = pfn; p < pfn + pages; p++)
		set(&d->cleared[p], now);
	add_tables(&freelist, d, now, tables);
	note_wait(d, now);
	if (iommu_fq_add(&d->client, pfn, pages, &freelist))
		return;
	__atomic_fetch_add(&d->strict, 1, __ATOMIC_RELAXED);
	flush_domain(&d->domain);
	iommu_put_pages_list(&freelist);
	free_iova_fast(&d->iovad, pfn, pages);
}

void fq_set_extra(unsigned int i, bool extra)
{
	struct fq_domain *d = &fq_unit.domain[i];

	if (!extra)
		WRITE_ONCE(d->extra, false);
	iommu_fq_set_extra(&d->client, extra);
	if (extra) {
		/* From now on, it may fill itself from what the IOTLB has. */
		advance(&d->dev_tlb, get(&d->iotlb));
		WRITE_ONCE(d->extra, true);
	}
}

static bool flush_parked(struct iova_domain *iovad)
{
	struct fq_domain *d = container_of(iovad, struct fq_domain, iovad);

	return iommu_fq_reclaim(&d->client);
}

void fq_domain_begin(unsigned int i, struct iommu_fq *fq)
{
	struct fq_domain *d = &fq_unit.domain[i];
	size_t bytes = FQ_PFNS * sizeof(*d->cleared);

	/* Its stamps stay: the unit flushes, whoever is there. */
	d->domain.flush_iotlb_all = flush_domain;
	WRITE_ONCE(d->extra, false);
	d->flushes = 0;
	d->strict = 0;
	d->cleared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	sim_check(d->cleared != MAP_FAILED, "%zu bytes", bytes);
	init_iova_domain(&d->iovad, PAGE_SIZE, 1);
	sim_check(!iova_domain_init_rcaches(&d->iovad), "no magazine caches");
	d->iovad.flush_parked = flush_parked;
	/* Whatever is not set up shows. */
	memset(&d->client, 0xa5, sizeof(d->client));
	iommu_fq_join(fq, &d->client, &d->domain, &d->iovad);
}

void fq_domain_leave(unsigned int i)
{
	struct fq_domain *d = &fq_unit.domain[i];

	d->iovad.flush_parked = NULL;
	iommu_fq_leave(&d->client);
	memset(&d->client, 0xa5, sizeof(d->client));
#ifndef __SANITIZE_THREAD__
	domain_reclaim(&d->iovad);
	sim_check(!d->iovad.stats.ranges, "%lu ranges", d->iovad.stats.ranges);
#endif
	put_iova_domain(&d->iovad);
	munmap(d->cleared, FQ_PFNS * sizeof(*d->cleared));
}

void fq_begin(unsigned int cpus, unsigned int nr, bool unit)
{
	unsigned int i;

	sim_set_cpus(cpus);
	sim_memory = (struct sim_memory) {};
	fq_unit = (struct fq_unit) { .nr = nr };
	forget_waits();
	sim_check(!iova_cache_get(), "no caches");
	if (unit) {
		fq_unit.fq = iommu_fq_alloc(flush_scope, &fq_unit, false);
		sim_check(fq_unit.fq, "no queue");
	}
	for (i = 0; i < nr; i++)
		fq_domain_begin(i, unit ? iommu_fq_get(fq_unit.fq) :
				iommu_fq_alloc(NULL, NULL, false));
}

void fq_end(void)
{
	unsigned int i;

	WRITE_ONCE(fq_unit.during, NULL);
	for (i = 0; i < fq_unit.nr; i++)
		fq_domain_leave(i);
	iommu_fq_put(fq_unit.fq);
	iova_cache_put();
	sim_check(!fq_unit.pages, "%ld page-table pages leak", fq_unit.pages);
	sim_check(!sim_memory.live, "%ld objects leak", sim_memory.live);
	sim_check(!sim_work_pending(), "work outlives its queue");
}

struct iommu_fq_stats fq_stats(struct iommu_fq *fq)
{
	struct iommu_fq_stats stats, sum = {};
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!iommu_fq_get_stats(fq, cpu, &stats))
			continue;
		sum.pending += stats.pending;
		sum.reclaimable += stats.reclaimable;
		sum.oldest = max(sum.oldest, stats.oldest);
		sum.bytes += stats.bytes;
	}
	return sum;
}

unsigned long fq_flushes(struct iommu_fq *fq)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < IOMMU_FQ_REASONS; i++)
		sum += atomic_long_read(&fq->flushes[i]);
	return sum;
}
