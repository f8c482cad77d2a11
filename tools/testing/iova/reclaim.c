// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an allocation takes back when the tree is full, and in which order.
 */
#include "test.h"

#define TOP_PFN		(PFN_4G - 1)
#define NR		4000

FIXTURE(reclaim) {
	struct iova_domain iovad;
	unsigned long pfn[NR];
};

static unsigned int flushes;
static bool more;
static unsigned long queued;

/* Park ranges of 2 pages on CPUs 0 to 2 and in the depot; fill all the rest. */
FIXTURE_SETUP(reclaim)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned int i;

	world_begin(4);
	domain_begin_cached(iovad, 1);
	flushes = 0;
	more = false;
	queued = 0;
	for (i = 0; i < NR; i++) {
		sim_cpu = i % 3;
		self->pfn[i] = alloc_iova_fast(iovad, 2, TOP_PFN, false);
	}
	for (i = 0; i < NR; i++) {
		sim_cpu = i % 3;
		free_iova_fast(iovad, self->pfn[i], 2);
		sim_run_work();
	}
	while (alloc_iova(iovad, 4096, TOP_PFN, false))
		;
	while (alloc_iova(iovad, 1, TOP_PFN, false))
		;
	sim_cpu = 0;
	ASSERT_LT(2, iovad->rcache->depot[1].nr_full);
}

FIXTURE_TEARDOWN(reclaim)
{
	domain_end(&self->iovad);
	world_end();
}

static unsigned int in_depot(struct iova_domain *iovad)
{
	return iovad->rcache->depot[1].nr_full;
}

/* One page, which no magazine has. */
static unsigned long one_page(struct iova_domain *iovad)
{
	return alloc_iova_fast(iovad, 1, TOP_PFN, true);
}

static void empty_depot(struct iova_domain *iovad)
{
	while (iova_depot_drain(iovad->rcache, 1))
		;
}

/* Use up what has come free. */
static void fill(struct iova_domain *iovad)
{
	while (alloc_iova(iovad, 1, TOP_PFN, true))
		;
}

static bool flush_parked(struct iova_domain *iovad)
{
	sim_check(!sim_irqs_disabled(), "interrupts are off");
	sim_check(!sim_lock_held(&iovad->iova_rbtree_lock), "tree lock held");
	flushes++;
	if (queued)
		free_iova(iovad, queued);
	queued = 0;
	return more;
}

TEST_F(reclaim, only_if_asked_for)
{
	unsigned long parked = domain_parked(&self->iovad);

	self->iovad.flush_parked = flush_parked;
	EXPECT_EQ(0, alloc_iova_fast(&self->iovad, 1, TOP_PFN, false));
	EXPECT_EQ(NULL, alloc_iova(&self->iovad, 1, TOP_PFN, true));
	EXPECT_EQ(parked, domain_parked(&self->iovad));
	EXPECT_EQ(0, flushes);
}

TEST_F(reclaim, this_cpu_comes_first)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long cpu1 = cpu_parked(iovad, 1), cpu2 = cpu_parked(iovad, 2);
	unsigned int depot = in_depot(iovad);

	self->iovad.flush_parked = flush_parked;
	ASSERT_NE(0, one_page(iovad));
	EXPECT_EQ(0, cpu_parked(iovad, 0));
	EXPECT_EQ(depot, in_depot(iovad));
	EXPECT_EQ(cpu1, cpu_parked(iovad, 1));
	EXPECT_EQ(cpu2, cpu_parked(iovad, 2));
	EXPECT_EQ(0, flushes);
}

TEST_F(reclaim, then_the_depot_one_magazine_at_a_time)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long cpu1 = cpu_parked(iovad, 1);
	unsigned int depot = in_depot(iovad);

	self->iovad.flush_parked = flush_parked;
	iova_cpu_rcache_drain(iovad->rcache, 0, 0, false);
	fill(iovad);
	while (depot--) {
		ASSERT_NE(0, one_page(iovad));
		ASSERT_EQ(depot, in_depot(iovad));
		iova_cpu_rcache_drain(iovad->rcache, 0, 0, false);
		fill(iovad);
	}
	EXPECT_EQ(cpu1, cpu_parked(iovad, 1));
	EXPECT_EQ(0, flushes);
}

/* What comes back may go straight to the tree: that is a success as well. */
TEST_F(reclaim, then_the_owners_queue)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long cpu1 = cpu_parked(iovad, 1), cpu2 = cpu_parked(iovad, 2);

	self->iovad.flush_parked = flush_parked;
	ASSERT_NE(0, one_page(iovad));
	iova_cpu_rcache_drain(iovad->rcache, 0, 0, false);
	empty_depot(iovad);
	queued = alloc_iova(iovad, 1, TOP_PFN, true)->pfn_lo;
	fill(iovad);
	ASSERT_EQ(0, flushes);
	ASSERT_NE(0, one_page(iovad));
	EXPECT_EQ(1, flushes);
	EXPECT_EQ(0, queued);
	EXPECT_EQ(cpu1, cpu_parked(iovad, 1));
	EXPECT_EQ(cpu2, cpu_parked(iovad, 2));
}

/* An owner that does a part at a time is asked until it has no more, or for long. */
TEST_F(reclaim, the_owners_queue_in_parts)
{
	struct iova_domain *iovad = &self->iovad;

	iovad->flush_parked = flush_parked;
	more = true;
	EXPECT_EQ(0, alloc_iova_fast(iovad, 1UL << 19, TOP_PFN, true));
	EXPECT_EQ(nr_cpu_ids, flushes);
	more = false;
	EXPECT_EQ(0, alloc_iova_fast(iovad, 1UL << 19, TOP_PFN, true));
	EXPECT_EQ(nr_cpu_ids + 1, flushes);
}

TEST_F(reclaim, then_the_other_cpus_one_by_one)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long cpu2 = cpu_parked(iovad, 2);

	ASSERT_NE(0, cpu_parked(iovad, 1));
	ASSERT_NE(0, cpu2);
	iova_cpu_rcache_drain(iovad->rcache, 0, 0, false);
	empty_depot(iovad);
	fill(iovad);
	ASSERT_NE(0, one_page(iovad));
	EXPECT_EQ(0, cpu_parked(iovad, 1));
	EXPECT_EQ(cpu2, cpu_parked(iovad, 2));
	iova_cpu_rcache_drain(iovad->rcache, 0, 0, false);
	fill(iovad);
	ASSERT_NE(0, one_page(iovad));
	EXPECT_EQ(0, cpu_parked(iovad, 2));
}

TEST_F(reclaim, everything_and_no_more)
{
	struct iova_domain *iovad = &self->iovad;

	self->iovad.flush_parked = flush_parked;
	EXPECT_EQ(0, alloc_iova_fast(iovad, 1UL << 19, TOP_PFN, true));
	EXPECT_EQ(1, flushes);
	EXPECT_EQ(0, domain_parked(iovad));
	/* It ends where nothing is left, too. */
	fill(iovad);
	EXPECT_EQ(0, one_page(iovad));
	EXPECT_EQ(2, flushes);
	ASSERT_SOUND(iovad);
}

/*
 * Case 10: a device of 32 bits beside busy ones of 64 bits, whose ranges and
 * caches take the low 4 GiB first, at the largest cached range. The low space
 * is cut so short that what is parked there is missed.
 */
#define CHURN	3000

static struct {
	struct iova_domain iovad;
	unsigned long pfn[CHURN];
	unsigned long pages[CHURN];
} busy;

static void churn_step(void)
{
	unsigned int i = sim_random_below(CHURN);
	unsigned long pages = 1 + sim_random_below(1UL << sim_random_below(11));

	sim_cpu = sim_random_below(8);
	if (busy.pfn[i])
		map_free(&busy.iovad, busy.pfn[i], busy.pages[i]);
	busy.pages[i] = pages;
	busy.pfn[i] = map_alloc(&busy.iovad, pages, PFN_4G - 1, false) ?:
		      map_alloc(&busy.iovad, pages, SHADOW_PFNS - 1, true);
	sim_check(busy.pfn[i], "%lu pages", pages);
}

TEST(a_32_bit_device_beside_busy_64_bit_ones)
{
	unsigned long step, low, pages, reclaimed = 0, full = 0;

	world_begin(8);
	domain_begin_cached(&busy.iovad, 1);
	iova_domain_set_cached_range(&busy.iovad, SZ_4M);
	ASSERT_NE(NULL, reserve_iova(&busy.iovad, 1, PFN_4G * 13 / 16));
	for (step = 0; step < SCALE(100000, 5000000); step++) {
		churn_step();
		if (step % 100 == 0)
			sim_advance(1);
		if (step % 7)
			continue;
		pages = 1 + step % 256;
		low = map_alloc(&busy.iovad, pages, PFN_4G - 1, false);
		if (!low) {
			low = map_alloc(&busy.iovad, pages, PFN_4G - 1, true);
			reclaimed += low != 0;
		}
		if (low) {
			map_free(&busy.iovad, low, pages);
			continue;
		}
		/* Only what is in use may stand in its way. */
		ASSERT_EQ(0, domain_parked(&busy.iovad));
		full++;
	}
	TH_LOG("of %lu allocations %lu had to reclaim, %lu found it full",
	       step / 7, reclaimed, full);
	EXPECT_LT(0, reclaimed);
	EXPECT_LT(full, reclaimed);
	for (step = 0; step < CHURN; step++) {
		if (busy.pfn[step])
			map_free(&busy.iovad, busy.pfn[step], busy.pages[step]);
	}
	domain_end(&busy.iovad);
	world_end();
}

TEST_HARNESS_MAIN
