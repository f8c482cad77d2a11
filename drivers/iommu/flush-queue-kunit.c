// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the flush queue: with the kernel's own timers, work queues, CPUs
 * and page-table pages, and domains that only count their flushes. The orders of
 * events that hardly ever come about are for tools/testing/iova.
 */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/iommu.h>
#include <linux/iova.h>
#include <linux/workqueue.h>

#include "flush-queue.h"
#include "iommu-pages.h"

#define DOMAINS		3
#define RING		(IOMMU_FQ_BLOCKS * IOMMU_FQ_BLOCK)
#define TOP_PFN		((1UL << 20) - 1)
/* Long after all that a queue does by itself, on however slow a machine. */
#define LONG_MS		5000

/**
 * struct test_domain - a domain in lazy mode
 * @domain: how its queue knows it
 * @iovad: its addresses
 * @client: its part in the queue
 * @flushes: flushes of this domain alone
 */
struct test_domain {
	struct iommu_domain	domain;
	struct iova_domain	iovad;
	struct iommu_fq_client	client;
	atomic_t		flushes;
};

/**
 * struct test_unit - what its domains share
 * @fq: the queue
 * @domain: the domains
 * @flushes: flushes of the scope
 * @during: called in the middle of each
 */
struct test_unit {
	struct iommu_fq		*fq;
	struct test_domain	domain[DOMAINS];
	atomic_t		flushes;
	void			(*during)(struct test_unit *unit);
};

static void flush_domain(struct iommu_domain *domain)
{
	atomic_inc(&container_of(domain, struct test_domain, domain)->flushes);
}

static void flush_scope(void *scope)
{
	struct test_unit *unit = scope;

	atomic_inc(&unit->flushes);
	/* So that others come to want one meanwhile. */
	udelay(9);
	if (unit->during)
		unit->during(unit);
}

static const struct iommu_domain_ops test_ops = {
	.flush_iotlb_all = flush_domain,
};

static bool flush_parked(struct iova_domain *iovad)
{
	return iommu_fq_reclaim(&container_of(iovad, struct test_domain,
					      iovad)->client);
}

static void unmap(struct test_domain *d, unsigned long pfn,
		  unsigned long pages, bool table)
{
	LIST_HEAD(freelist);
	struct page *page = table ? __iommu_alloc_pages(GFP_ATOMIC, 0) : NULL;

	if (page)
		list_add_tail(&page->lru, &freelist);
	if (iommu_fq_add(&d->client, pfn, pages, &freelist))
		return;
	iommu_flush_iotlb_all(&d->domain);
	iommu_put_pages_list(&freelist);
	free_iova_fast(&d->iovad, pfn, pages);
}

static bool map_unmap(struct test_domain *d, unsigned long pages, bool table)
{
	unsigned long pfn = alloc_iova_fast(&d->iovad, pages, TOP_PFN, true);

	if (pfn)
		unmap(d, pfn, pages, table);
	return pfn;
}

/* Nothing waits, and all rings have given their blocks back. */
static bool at_rest(struct iommu_fq *fq)
{
	struct iommu_fq_stats stats;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (iommu_fq_get_stats(fq, cpu, &stats) &&
		    (stats.pending || stats.reclaimable ||
		     stats.bytes > PAGE_SIZE))
			return false;
	}
	return true;
}

static void expect_rest(struct kunit *test)
{
	struct test_unit *unit = test->priv;
	unsigned int ms;

	for (ms = 0; ms < LONG_MS && !at_rest(unit->fq); ms += 20)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, at_rest(unit->fq));
}

static void one_domain_is_flushed_by_itself(struct kunit *test)
{
	struct test_unit *unit = test->priv;

	KUNIT_ASSERT_TRUE(test, map_unmap(&unit->domain[1], 5, true));
	KUNIT_EXPECT_EQ(test, iommu_fq_queued(&unit->domain[1].client), 1);
	expect_rest(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&unit->flushes), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&unit->domain[1].flushes), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&unit->domain[0].flushes), 0);
}

static void several_are_flushed_at_once(struct kunit *test)
{
	struct test_unit *unit = test->priv;
	unsigned int i;

	preempt_disable();
	for (i = 0; i < 3 * 10; i++)
		map_unmap(&unit->domain[i % 3], 1, false);
	preempt_enable();
	expect_rest(test);
	/* One, unless the timer came in between. */
	KUNIT_EXPECT_GE(test, atomic_read(&unit->flushes), 1);
	KUNIT_EXPECT_LE(test, atomic_read(&unit->flushes), 10);
}

/* Case 1: rings wrap, with page tables. */
static void rings_wrap(struct kunit *test)
{
	struct test_unit *unit = test->priv;
	unsigned int i;

	for (i = 0; i < 3 * RING; i++)
		KUNIT_ASSERT_TRUE(test, map_unmap(&unit->domain[i % 3],
						  1 + i % 40, i % 16 == 0));
	expect_rest(test);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&unit->fq->strict), 0);
}

static void extra_domains_are_flushed_as_well(struct kunit *test)
{
	struct test_unit *unit = test->priv;
	int flushes;

	iommu_fq_set_extra(&unit->domain[0].client, true);
	iommu_fq_set_extra(&unit->domain[1].client, true);
	flushes = atomic_read(&unit->domain[0].flushes);
	preempt_disable();
	map_unmap(&unit->domain[1], 1, false);
	map_unmap(&unit->domain[2], 1, false);
	preempt_enable();
	expect_rest(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&unit->domain[0].flushes), flushes);
	KUNIT_EXPECT_GE(test, atomic_read(&unit->domain[1].flushes), 1);
	iommu_fq_set_extra(&unit->domain[1].client, false);
}

/* The space is full of what waits, and the caller may not sleep. */
static void an_allocation_takes_back_what_waits(struct kunit *test)
{
	struct test_unit *unit = test->priv;
	struct test_domain *d = &unit->domain[0];
	unsigned long pfn, flags;
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_TRUE(test, map_unmap(d, TOP_PFN / 4, true));
	/* More than once only if the timer is at a flush just then. */
	for (i = 0, pfn = 0; i < 3 && !pfn; i++) {
		local_irq_save(flags);
		pfn = alloc_iova_fast(&d->iovad, TOP_PFN / 2 + 1, TOP_PFN, true);
		local_irq_restore(flags);
	}
	KUNIT_ASSERT_NE(test, pfn, 0);
	unmap(d, pfn, TOP_PFN / 2 + 1, false);
	expect_rest(test);
}

/* A flush is under way, and whoever comes here must not wait for it. */
static void reclaim_without_waiting(struct test_unit *unit)
{
	unsigned long flags;

	local_irq_save(flags);
	iommu_fq_reclaim(&unit->domain[0].client);
	local_irq_restore(flags);
	local_bh_disable();
	iommu_fq_reclaim(&unit->domain[0].client);
	local_bh_enable();
	unit->during = NULL;
}

static void who_may_hold_locks_waits_for_no_flush(struct kunit *test)
{
	struct test_unit *unit = test->priv;

	unit->during = reclaim_without_waiting;
	/* So that the timer does not come first. */
	local_bh_disable();
	map_unmap(&unit->domain[0], 1, false);
	map_unmap(&unit->domain[1], 1, false);
	iommu_fq_reclaim(&unit->domain[0].client);
	local_bh_enable();
	expect_rest(test);
	KUNIT_EXPECT_NULL(test, unit->during);
}

/**
 * struct load - one CPU's part of a load
 * @work: runs there
 * @unit: whose domains it uses
 * @left: unmaps still to do
 * @failed: mappings that found no place
 */
struct load {
	struct work_struct	work;
	struct test_unit	*unit;
	unsigned int		left;
	unsigned int		failed;
};

static void load_work(struct work_struct *work)
{
	struct load *load = container_of(work, struct load, work);

	while (load->left--) {
		struct test_domain *d = &load->unit->domain[load->left % 3];

		load->failed += !map_unmap(d, 1 + load->left % 9,
					   load->left % 64 == 0);
		if (load->left % 256 == 0)
			cond_resched();
	}
}

/* All CPUs at once; then a domain goes while entries of all wait. */
static void all_cpus_and_a_domain_that_goes(struct kunit *test)
{
	struct test_unit *unit = test->priv;
	struct load *loads;
	unsigned int cpu;

	loads = kunit_kcalloc(test, nr_cpu_ids, sizeof(*loads), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, loads);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		loads[cpu] = (struct load) { .unit = unit, .left = 10000 };
		INIT_WORK(&loads[cpu].work, load_work);
		queue_work_on(cpu, system_wq, &loads[cpu].work);
	}
	for_each_online_cpu(cpu) {
		flush_work(&loads[cpu].work);
		KUNIT_EXPECT_EQ(test, loads[cpu].failed, 0);
	}
	cpus_read_unlock();

	iommu_fq_leave(&unit->domain[2].client);
	iommu_fq_join(iommu_fq_get(unit->fq), &unit->domain[2].client,
		      &unit->domain[2].domain, &unit->domain[2].iovad);
	KUNIT_EXPECT_EQ(test, iommu_fq_queued(&unit->domain[2].client), 0);
	expect_rest(test);
}

static int domain_init(struct test_unit *unit, struct test_domain *d)
{
	d->domain.ops = &test_ops;
	init_iova_domain(&d->iovad, SZ_4K, 1);
	d->iovad.flush_parked = flush_parked;
	iommu_fq_join(iommu_fq_get(unit->fq), &d->client, &d->domain,
		      &d->iovad);
	return iova_domain_init_rcaches(&d->iovad);
}

static int unit_init(struct kunit *test)
{
	struct test_unit *unit = kunit_kzalloc(test, sizeof(*unit), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!unit)
		return -ENOMEM;
	err = iova_cache_get();
	if (err)
		return err;
	unit->fq = iommu_fq_alloc(flush_scope, unit, false);
	if (!unit->fq) {
		iova_cache_put();
		return -ENOMEM;
	}
	test->priv = unit;
	for (i = 0; i < DOMAINS && !err; i++)
		err = domain_init(unit, &unit->domain[i]);
	return err;
}

static void unit_exit(struct kunit *test)
{
	struct test_unit *unit = test->priv;
	unsigned int i;

	if (!unit)
		return;
	for (i = 0; i < DOMAINS; i++) {
		if (!unit->domain[i].client.fq)
			continue;
		iommu_fq_leave(&unit->domain[i].client);
		put_iova_domain(&unit->domain[i].iovad);
	}
	iommu_fq_put(unit->fq);
	iova_cache_put();
}

static struct kunit_case fq_cases[] = {
	KUNIT_CASE(one_domain_is_flushed_by_itself),
	KUNIT_CASE(several_are_flushed_at_once),
	KUNIT_CASE(rings_wrap),
	KUNIT_CASE(extra_domains_are_flushed_as_well),
	KUNIT_CASE(an_allocation_takes_back_what_waits),
	KUNIT_CASE(who_may_hold_locks_waits_for_no_flush),
	KUNIT_CASE_SLOW(all_cpus_and_a_domain_that_goes),
	{}
};

static struct kunit_suite fq_suite = {
	.name = "iommu_flush_queue",
	.init = unit_init,
	.exit = unit_exit,
	.test_cases = fq_cases,
};

kunit_test_suite(fq_suite);
