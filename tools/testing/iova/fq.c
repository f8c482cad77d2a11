// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flush queue: what is flushed when, by whom, and who reclaims it.
 */
#include <linux/preempt.h>

#include "fq-world.h"
#include "test.h"

#define ALL		(IOMMU_FQ_BLOCKS * IOMMU_FQ_BLOCK)
#define HIGH		(ALL / 4 * 3)
#define MAX_LIVE	(4 * ALL)

static unsigned long live[MAX_LIVE];

FIXTURE(fq) {
	struct iommu_fq *fq;
};

FIXTURE_SETUP(fq)
{
	fq_begin(4, 3, true);
	self->fq = fq_unit.fq;
}

FIXTURE_TEARDOWN(fq)
{
	fq_end();
}

static void map_unmap(unsigned int domain, unsigned long pages,
		      unsigned int tables)
{
	unsigned long pfn = fq_map(domain, pages);

	sim_check(pfn, "no place for %lu pages", pages);
	fq_unmap(domain, pfn, pages, tables);
}

static unsigned int queued(struct iommu_fq *fq)
{
	struct iommu_fq_stats stats = fq_stats(fq);

	return stats.pending + stats.reclaimable;
}

static long flushes(struct iommu_fq *fq, enum iommu_fq_reason reason)
{
	return atomic_long_read(&fq->flushes[reason]);
}

TEST_F(fq, one_unmap_on_an_idle_machine)
{
	struct iommu_fq *fq = self->fq;

	sim_cpu = 1;
	map_unmap(0, 5, 1);
	sim_advance(IOMMU_FQ_TIMEOUT - 1);
	EXPECT_EQ(1, fq_uncovered);
	EXPECT_EQ(1, fq_stats(fq).pending);
	EXPECT_EQ(IOMMU_FQ_TIMEOUT - 1, fq_stats(fq).oldest);
	EXPECT_EQ(1, iommu_fq_queued(&fq_unit.domain[0].client));
	EXPECT_EQ(0, iommu_fq_queued(&fq_unit.domain[1].client));
	sim_advance(1);
	EXPECT_EQ(0, fq_uncovered);
	EXPECT_EQ(1, flushes(fq, IOMMU_FQ_TIMER));
	EXPECT_EQ(1, fq_flushes(fq));
	/* The timer ran on the CPU that had armed it. */
	EXPECT_EQ(0, queued(fq));
	EXPECT_EQ(0, fq_unit.pages);
	/* And then nothing goes on: no timer, no work, no memory but the ring. */
	sim_advance(3 * IOMMU_FQ_TIMEOUT);
	EXPECT_FALSE(sim_work_pending());
	EXPECT_GT(1024, fq_stats(fq).bytes);
	sim_advance(1000);
	EXPECT_EQ(1, fq_flushes(fq));
}

TEST_F(fq, a_ring_is_paid_for_where_it_is_used)
{
	struct iommu_fq_stats stats;
	unsigned int cpu;

	sim_cpu = 2;
	map_unmap(1, 1, 0);
	for (cpu = 0; cpu < 4; cpu++)
		EXPECT_EQ(cpu == 2, iommu_fq_get_stats(self->fq, cpu, &stats));
	EXPECT_FALSE(iommu_fq_get_stats(self->fq, 4, &stats));
	/* One block for one entry, whatever the ring could hold. */
	EXPECT_GT(4096 + 1024, fq_stats(self->fq).bytes);
}

TEST_F(fq, one_domain_is_flushed_by_itself_and_many_at_once)
{
	map_unmap(1, 1, 0);
	map_unmap(1, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_unit.scope_flushes);
	EXPECT_EQ(1, fq_unit.domain[1].flushes);
	EXPECT_EQ(1, atomic_long_read(&self->fq->domain_flushes));
	map_unmap(1, 1, 0);
	map_unmap(2, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(1, fq_unit.scope_flushes);
	EXPECT_EQ(1, fq_unit.domain[1].flushes);
	EXPECT_EQ(0, fq_unit.domain[2].flushes);
	EXPECT_EQ(2, fq_flushes(self->fq));
}

TEST_F(fq, a_busy_cpu_flushes_for_all_and_reclaims_its_own)
{
	unsigned int i;

	sim_cpu = 3;
	map_unmap(2, 1, 0);
	sim_cpu = 0;
	for (i = 0; i < HIGH - 1; i++)
		live[i] = fq_map(i % 2, 1);
	for (i = 0; i < HIGH - 1; i++)
		fq_unmap(i % 2, live[i], 1, 0);
	EXPECT_EQ(0, fq_flushes(self->fq));
	map_unmap(0, 1, 0);
	EXPECT_EQ(1, flushes(self->fq, IOMMU_FQ_LEVEL));
	EXPECT_EQ(1, fq_unit.scope_flushes);
	EXPECT_EQ(0, fq_uncovered);
	/* Each further unmap takes one back, here and nowhere else. */
	for (i = 1; i < HIGH; i++) {
		ASSERT_EQ(HIGH + 1, queued(self->fq));
		map_unmap(i % 2, 1, 0);
	}
	EXPECT_EQ(1, fq_flushes(self->fq));
	map_unmap(0, 1, 0);
	EXPECT_EQ(2, fq_flushes(self->fq));
	EXPECT_EQ(HIGH + 1, queued(self->fq));
	EXPECT_EQ(NULL, fq_unit.domain[2].iovad.rcache->cpu[0]);
}

/* What a flush has covered would fill many magazines, if it came at once. */
TEST_F(fq, a_busy_cpu_needs_no_depot)
{
	struct iova_domain *iovad = &fq_unit.domain[0].iovad;
	struct iova_depot *depot = iovad->rcache->depot;
	unsigned int order, i;

	ASSERT_EQ(0, iova_domain_set_cached_range(iovad, SZ_1M));
	for (order = 0; order <= 6; order += 3) {
		unsigned long trips;

		for (i = 0; i < 2 * HIGH; i++)
			map_unmap(0, 1UL << order, 0);
		trips = depot[order].locks;
		for (i = 0; i < 4 * HIGH; i++)
			map_unmap(0, 1UL << order, 0);
		EXPECT_EQ(trips, depot[order].locks);
	}
	EXPECT_LE(10, flushes(self->fq, IOMMU_FQ_LEVEL));
}

/* Nobody could flush for a while. */
TEST_F(fq, a_ring_that_is_too_full_catches_up)
{
	unsigned int i;

	EXPECT_FALSE(test_and_set_bit_lock(0, &self->fq->flushing));
	for (i = 0; i < HIGH + 200; i++)
		map_unmap(0, 1, 0);
	EXPECT_EQ(0, fq_flushes(self->fq));
	clear_bit_unlock(0, &self->fq->flushing);
	map_unmap(0, 1, 0);
	EXPECT_EQ(1, fq_flushes(self->fq));
	EXPECT_EQ(HIGH + 201, queued(self->fq));
	for (i = 0; i < 200 / (IOMMU_FQ_STEP - 1); i++)
		map_unmap(0, 1, 0);
	EXPECT_GT(HIGH + IOMMU_FQ_STEP, queued(self->fq));
	EXPECT_LE(HIGH, queued(self->fq) + IOMMU_FQ_STEP);
}

/* So few do not matter to the caches, and their page tables come back soon. */
TEST_F(fq, few_are_reclaimed_by_the_step)
{
	unsigned int i;

	for (i = 0; i < 4 * IOMMU_FQ_STEP; i++)
		map_unmap(0, 1, 1);
	/* The timer takes what it may, of another CPU's ring nothing. */
	self->fq->timer.cpu = 1;
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(1, fq_flushes(self->fq));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(4 * IOMMU_FQ_STEP - i * (IOMMU_FQ_STEP - 1),
			  queued(self->fq));
		map_unmap(0, 1, 0);
	}
	EXPECT_EQ(0, fq_unit.pages);
}

TEST_F(fq, much_address_space_asks_for_a_flush_as_well)
{
	unsigned int i;

	for (i = 0; i < IOMMU_FQ_PAGES / 1024; i++)
		live[i] = fq_map(0, 1024);
	for (i = 0; i < IOMMU_FQ_PAGES / 1024; i++) {
		EXPECT_EQ(0, fq_flushes(self->fq));
		fq_unmap(0, live[i], 1024, 0);
	}
	EXPECT_EQ(1, flushes(self->fq, IOMMU_FQ_LEVEL));
}

/* Case 1: a slot's page list is used again and again. */
TEST_F(fq, rings_wrap_with_page_tables)
{
	unsigned int cpu, i, round, tables = 0;

	for (cpu = 0; cpu < 4; cpu++) {
		sim_cpu = cpu;
		for (round = 0; round < 5; round++) {
			for (i = 0; i < ALL / 2; i++)
				live[i] = fq_map(i % 3, 1 + i % 7);
			for (i = 0; i < ALL / 2; i++)
				fq_unmap(i % 3, live[i], 1 + i % 7,
					 tables++ % 3);
		}
	}
	EXPECT_LT(0, fq_unit.pages);
	sim_advance(4 * IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_unit.pages);
	EXPECT_EQ(0, queued(self->fq));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, fq_unit.domain[i].strict);
}

/* An interrupt hits this CPU in the middle of a flush. */
static unsigned int to_unmap;

static void interrupt(void)
{
	unsigned int i, nr = to_unmap;

	to_unmap = 0;
	sim_in_interrupt = true;
	for (i = 0; i < nr; i++)
		map_unmap(i % 2, 1, 0);
	sim_in_interrupt = false;
}

TEST_F(fq, an_interrupt_during_a_flush_queues)
{
	map_unmap(0, 1, 0);
	fq_unit.during = interrupt;
	to_unmap = 10;
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(10, fq_stats(self->fq).pending);
	EXPECT_EQ(10, fq_uncovered);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_uncovered);
	EXPECT_EQ(0, fq_unit.domain[0].strict);
}

TEST_F(fq, an_interrupt_that_finds_the_ring_full_is_strict)
{
	map_unmap(2, 1, 0);
	fq_unit.during = interrupt;
	to_unmap = ALL + 100;
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_LT(0, fq_unit.domain[0].strict);
	EXPECT_GT(200, fq_unit.domain[0].strict + fq_unit.domain[1].strict);
	EXPECT_EQ(fq_unit.domain[0].strict + fq_unit.domain[1].strict,
		  atomic_long_read(&self->fq->strict));
	sim_advance(3 * IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_uncovered);
	EXPECT_EQ(0, queued(self->fq));
}

/*
 * F6: a flush takes the mark of an unmap which then reads that flush's number.
 * Nothing is left to flush when the timer fires, and yet it must count.
 */
static bool flush_once;

static void flush_before_the_epoch(bool off)
{
	unsigned int cpu = sim_cpu;

	if (!off || !flush_once)
		return;
	flush_once = false;
	sim_locks.irqs_off = 0;
	sim_cpu = 3;
	iommu_fq_reclaim(&fq_unit.domain[2].client);
	sim_cpu = cpu;
	sim_locks.irqs_off = 1;
}

TEST_F(fq, a_flush_between_mark_and_epoch_strands_nothing)
{
	unsigned long pfn[2] = { fq_map(0, 1), fq_map(0, 1) };

	/* So that the ring is there, and the first lock taken is the ring's. */
	fq_unmap(0, pfn[0], 1, 0);
	sim_advance(5 * IOMMU_FQ_TIMEOUT);
	fq_unmap(0, fq_map(0, 1), 1, 0);
	sim_locks.irqs_hook = flush_before_the_epoch;
	flush_once = true;
	fq_unmap(0, pfn[1], 1, 1);
	sim_locks.irqs_hook = NULL;
	EXPECT_FALSE(flush_once);
	EXPECT_EQ(0, fq_uncovered);
	EXPECT_EQ(1, fq_stats(self->fq).pending);
	sim_advance(3 * IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, queued(self->fq));
	EXPECT_EQ(0, fq_unit.pages);
}

/* Case 15, and the device TLBs of no other domain. */
TEST_F(fq, device_tlbs_of_domains_that_have_queued)
{
	struct iommu_fq *fq = self->fq;

	fq_set_extra(0, true);
	fq_set_extra(1, true);
	map_unmap(1, 1, 0);
	map_unmap(2, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(1, fq_unit.scope_flushes);
	EXPECT_EQ(0, fq_unit.domain[0].flushes);
	EXPECT_EQ(1, fq_unit.domain[1].flushes);
	EXPECT_EQ(0, fq_unit.domain[2].flushes);
	/* Alone: its own flush, once. */
	map_unmap(0, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(1, fq_unit.domain[0].flushes);
	map_unmap(1, 1, 0);
	map_unmap(2, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(1, fq_unit.domain[0].flushes);
	EXPECT_EQ(2, fq_unit.domain[1].flushes);
	EXPECT_EQ(2, atomic_long_read(&fq->extra_flushes));
	/* Without them again, the scope is enough. */
	fq_set_extra(1, false);
	map_unmap(1, 1, 0);
	map_unmap(2, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(2, fq_unit.domain[1].flushes);
}

TEST_F(fq, device_tlbs_that_come_while_ranges_wait)
{
	unsigned long own;

	map_unmap(0, 1, 0);
	map_unmap(1, 1, 0);
	fq_set_extra(0, true);
	/* What waited was flushed before the device TLB could be filled. */
	EXPECT_EQ(0, fq_uncovered);
	EXPECT_EQ(1, flushes(self->fq, IOMMU_FQ_DRAIN));
	own = fq_unit.domain[0].flushes;
	map_unmap(0, 1, 0);
	map_unmap(1, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(own + 1, fq_unit.domain[0].flushes);
	fq_set_extra(0, true);
	EXPECT_EQ(1, flushes(self->fq, IOMMU_FQ_DRAIN));
}

/* 14 of 16 million pages, and all of them wait. */
static void fill_with_what_waits(unsigned int cpus)
{
	unsigned int i;

	for (i = 0; i < 14; i++) {
		sim_cpu = i % cpus;
		live[i] = fq_map(0, 1UL << 20);
		sim_check(live[i], "%u", i);
	}
	for (i = 0; i < 14; i++) {
		sim_cpu = i % cpus;
		fq_unmap(0, live[i], 1UL << 20, 0);
	}
	sim_cpu = 0;
}

TEST_F(fq, an_allocation_takes_back_what_waits)
{
	fill_with_what_waits(4);
	live[0] = fq_map(0, 1UL << 23);
	EXPECT_NE(0, live[0]);
	fq_unmap(0, live[0], 1UL << 23, 0);
}

TEST_F(fq, an_allocation_in_an_interrupt_takes_back_what_waits)
{
	fill_with_what_waits(4);
	/* Dies if anything sleeps. */
	sim_in_interrupt = true;
	live[0] = fq_map(0, 1UL << 23);
	sim_in_interrupt = false;
	EXPECT_NE(0, live[0]);
	fq_unmap(0, live[0], 1UL << 23, 0);
}

/* Nor does it wait for the flush that it has interrupted. */
static void allocate_in_vain(void)
{
	fq_unit.during = NULL;
	sim_in_interrupt = true;
	sim_check(!fq_map(0, FQ_PFNS / 2 + 1), "it is free already");
	sim_in_interrupt = false;
}

TEST_F(fq, an_allocation_that_interrupts_a_flush_returns)
{
	map_unmap(0, FQ_PFNS / 4, 0);
	fq_unit.during = allocate_in_vain;
	live[0] = fq_map(0, FQ_PFNS / 2);
	fq_unmap(0, live[0], FQ_PFNS / 2, 0);
	EXPECT_EQ(NULL, fq_unit.during);
}

/*
 * Nor for the flush of another CPU, if an interrupt that has hit that one may wait
 * for a lock of this one.
 */
static void allocate_with_interrupts_off(void)
{
	unsigned int cpu = sim_cpu, off = sim_preempt_off;
	bool interrupt = sim_in_interrupt;
	unsigned long flags;

	fq_unit.during = NULL;
	sim_preempt_off = 0;
	sim_in_interrupt = false;
	sim_cpu = 1;
	local_irq_save(flags);
	sim_check(!fq_map(0, FQ_PFNS / 2 + 1), "it is free already");
	local_irq_restore(flags);
	sim_cpu = cpu;
	sim_preempt_off = off;
	sim_in_interrupt = interrupt;
}

TEST_F(fq, an_allocation_with_interrupts_off_waits_for_no_flush)
{
	map_unmap(0, 1, 0);
	fq_unit.during = allocate_with_interrupts_off;
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(NULL, fq_unit.during);
}

TEST_F(fq, what_an_allocation_takes_back_is_bounded)
{
	unsigned int cpu, i;

	for (cpu = 0; cpu < 4; cpu++) {
		sim_cpu = cpu;
		for (i = 0; i < 1504; i++)
			live[i] = fq_map(0, 1);
		for (i = 0; i < 1504; i++)
			fq_unmap(0, live[i], 1, 0);
	}
	sim_cpu = 2;
	iommu_fq_reclaim(&fq_unit.domain[0].client);
	EXPECT_EQ(4 * 1504 - ALL, queued(self->fq));
	for (cpu = 0; cpu < 4; cpu++) {
		struct iommu_fq_stats stats;

		iommu_fq_get_stats(self->fq, cpu, &stats);
		/* This CPU's first, then on from there. */
		EXPECT_EQ(cpu == 2 ? 0 : cpu == 3 ? 3008 - ALL : 1504,
			  stats.reclaimable);
	}
}

TEST_F(fq, a_domain_leaves_nothing_behind_and_takes_nothing_along)
{
	unsigned int i;

	for (i = 0; i < 400; i++) {
		sim_cpu = i % 4;
		map_unmap(i % 3, 1 + i % 40, 1);
	}
	sim_cpu = 0;
	fq_domain_leave(1);
	EXPECT_EQ(0, fq_uncovered);
	fq_domain_begin(1, iommu_fq_get(self->fq));
	EXPECT_EQ(0, iommu_fq_queued(&fq_unit.domain[1].client));
	map_unmap(1, 1, 0);
	sim_advance(4 * IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, queued(self->fq));
}

TEST_F(fq, an_offline_cpu_loses_no_entry)
{
	unsigned int i;

	sim_cpu = 2;
	for (i = 0; i < 1000; i++)
		live[i] = fq_map(i % 3, 3);
	for (i = 0; i < 1000; i++)
		fq_unmap(i % 3, live[i], 3, 1);
	sim_cpu = 0;
	sim_cpu_down(2);
	EXPECT_EQ(1000, queued(self->fq));
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_uncovered);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, queued(self->fq));
	EXPECT_EQ(0, fq_unit.pages);
	sim_cpu_up(2);
	sim_cpu = 2;
	map_unmap(0, 1, 0);
}

/* The window, where nobody but the one that went away has armed the timer. */
TEST_F(fq, the_timer_outlives_its_cpu)
{
	sim_cpu = 2;
	map_unmap(0, 1, 1);
	sim_cpu = 0;
	sim_cpu_down(2);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_uncovered);
	sim_cpu_up(2);
}

TEST_F(fq, a_unit_that_goes_away_is_flushed_no_more)
{
	fq_set_extra(0, true);
	fq_set_extra(1, true);
	iommu_fq_end_scope(self->fq);
	map_unmap(0, 1, 0);
	map_unmap(1, 1, 0);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_unit.scope_flushes);
	EXPECT_EQ(0, fq_uncovered);
	/* The queue lives as long as its last domain. */
	iommu_fq_put(self->fq);
	fq_unit.fq = NULL;
}

/* Scope of a domain: a queue each, and no flush of anything else. */
TEST(queues_of_single_domains)
{
	unsigned int i;

	fq_begin(2, 3, false);
	for (i = 0; i < 300; i++) {
		sim_cpu = i % 2;
		map_unmap(i % 3, 1 + i % 5, 1);
	}
	fq_set_extra(0, true);
	sim_advance(IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_uncovered);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, fq_unit.domain[i].flushes);
	fq_set_extra(0, false);
	fq_end();
}

/* As on s390: one ring, many entries, a long time-out. */
TEST(one_ring_for_all_cpus)
{
	struct iommu_fq *fq;
	unsigned int i;

	fq_begin(4, 0, false);
	fq = iommu_fq_alloc(NULL, NULL, true);
	ASSERT_NE(NULL, fq);
	fq_unit.nr = 1;
	fq_domain_begin(0, fq);
	/* Much address space, too. */
	for (i = 0; i < MAX_LIVE; i++) {
		sim_cpu = i % 4;
		live[i] = fq_map(0, 100);
	}
	for (i = 0; i < MAX_LIVE; i++) {
		sim_cpu = i % 4;
		fq_unmap(0, live[i], 100, 0);
	}
	sim_advance(100);
	EXPECT_EQ(0, fq_flushes(fq));
	EXPECT_EQ(MAX_LIVE, fq_stats(fq).pending);
	sim_advance(IOMMU_FQ_TIMEOUT_SHARED);
	EXPECT_EQ(1, fq_flushes(fq));
	EXPECT_EQ(1, fq_unit.domain[0].flushes);
	sim_advance(IOMMU_FQ_TIMEOUT_SHARED);
	EXPECT_EQ(0, queued(fq));
	fq_end();
}

TEST_HARNESS_MAIN
