// SPDX-License-Identifier: GPL-2.0-only
/*
 * Classes that have several depots.
 */
#include "test.h"

#define TOP_PFN	(SHADOW_PFNS - 1)
#define CPUS	64
/* 256 KiB: a magazine holds 32 at the most. */
#define PAGES	64
#define ORDER	6
/* As many as keep a depot busy. */
#define NR	400

static struct {
	struct iova_domain iovad;
	struct iova_rcache *rcache;
	unsigned long live[NR];
	bool no_memory;
} t;

static void begin(unsigned int cpus)
{
	world_begin(cpus);
	domain_begin_cached(&t.iovad, 1);
	t.rcache = t.iovad.rcache;
	sim_check(!iova_domain_set_cached_range(&t.iovad, SZ_1M), "no range");
}

static void end(void)
{
	domain_end(&t.iovad);
	world_end();
}

static unsigned long tree_locks(void)
{
	return t.iovad.iova_rbtree_lock.acquired;
}

static void run_work(void)
{
	sim_memory.fail_from = t.no_memory;
	sim_run_work();
	sim_memory.fail_from = 0;
}

static void take(unsigned int cpu)
{
	unsigned int i;

	sim_cpu = cpu;
	for (i = 0; i < NR; i++) {
		t.live[i] = map_alloc(&t.iovad, PAGES, TOP_PFN, false);
		sim_check(t.live[i], "no space");
	}
}

/* Allocate on one CPU, free on another, and let the works run. */
static void carry(unsigned int from, unsigned int to)
{
	unsigned int i;

	take(from);
	sim_cpu = to;
	for (i = 0; i < NR; i++) {
		map_free(&t.iovad, t.live[i], PAGES);
		if (i % 50 == 0)
			run_work();
	}
}

/* What it is like where all CPUs meet at the lock. */
static void crowd(unsigned int rounds)
{
	while (rounds--) {
		sim_locks.contended = 1000000;
		carry(0, CPUS / 2);
		sim_locks.contended = 0;
		run_work();
	}
}

/* Full magazines in each depot. */
static void spread(void)
{
	unsigned int i;

	take(0);
	for (i = 0; i < NR; i++) {
		sim_cpu = i * 4 / NR * IOVA_DEPOT_CPUS;
		map_free(&t.iovad, t.live[i], PAGES);
		if (i % 10 == 0)
			run_work();
	}
}

static unsigned long ranges_in(unsigned int n)
{
	struct iova_mag *mag = iova_depot(t.rcache, ORDER, n)->full;
	unsigned long sum = 0;

	for (; mag; mag = mag->next)
		sum += mag->nr;
	return sum;
}

static unsigned int depots(void)
{
	return iova_nr_depots(t.rcache, ORDER);
}

static unsigned long full_of(unsigned int n)
{
	return iova_depot(t.rcache, ORDER, n)->nr_full;
}

TEST(a_class_is_split_where_magazines_cannot_grow)
{
	unsigned int i;

	begin(CPUS);
	EXPECT_EQ(CPUS / IOVA_DEPOT_CPUS, t.rcache->nr_depots);
	carry(0, CPUS / 2);
	EXPECT_EQ(1, depots());
	crowd(20);
	EXPECT_EQ(CPUS / IOVA_DEPOT_CPUS, depots());
	/* No other class pays for it. */
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		EXPECT_EQ(i == ORDER, !!t.rcache->more[i]);
	ASSERT_SOUND(&t.iovad);
	end();
}

TEST(a_class_that_is_not_crowded_has_one_depot)
{
	unsigned int i;

	begin(CPUS);
	for (i = 0; i < 50; i++)
		carry(0, CPUS / 2);
	EXPECT_EQ(1, depots());
	EXPECT_LT(IOVA_SPLIT_CONTENDED,
		  t.rcache->depot[ORDER].lock.acquired);
	end();
}

TEST(a_small_machine_has_one_depot_a_class)
{
	begin(IOVA_DEPOT_CPUS);
	sim_locks.contended = 1000000;
	carry(0, 1);
	carry(0, 1);
	sim_locks.contended = 0;
	EXPECT_EQ(1, t.rcache->nr_depots);
	EXPECT_EQ(1, depots());
	end();
}

/* Nothing is fetched from the tree while ranges wait in another depot. */
TEST(what_one_depot_gets_cpus_of_another_find)
{
	unsigned long locks, ranges;
	unsigned int i;

	begin(CPUS);
	crowd(20);
	ASSERT_LT(1, depots());
	for (i = 0; i < 20; i++)
		carry(0, CPUS - 1);
	locks = tree_locks();
	ranges = t.iovad.stats.ranges;
	for (i = 0; i < 20; i++)
		carry(0, CPUS - 1);
	EXPECT_EQ(locks, tree_locks());
	EXPECT_EQ(ranges, t.iovad.stats.ranges);
	/* Those of the CPU that frees are where its magazines go. */
	EXPECT_NE(0, full_of(depots() - 1));
	EXPECT_EQ(depots() - 1,
		  t.rcache->cpu[0]->class[ORDER].source);
	ASSERT_SOUND(&t.iovad);
	end();
}

TEST(closing_a_class_empties_all_its_depots)
{
	unsigned int i;

	begin(CPUS);
	crowd(20);
	ASSERT_EQ(4, depots());
	spread();
	for (i = 0; i < depots(); i++)
		EXPECT_NE(0, full_of(i));
	EXPECT_EQ(0, iova_domain_set_cached_range(&t.iovad, PAGE_SIZE));
	EXPECT_EQ(0, domain_parked(&t.iovad));
	EXPECT_EQ(0, t.iovad.stats.ranges);
	ASSERT_SOUND(&t.iovad);
	end();
}

TEST(reclaim_empties_all_depots)
{
	begin(CPUS);
	crowd(20);
	ASSERT_EQ(4, depots());
	spread();
	domain_reclaim(&t.iovad);
	EXPECT_EQ(0, domain_parked(&t.iovad));
	EXPECT_EQ(0, t.iovad.stats.ranges);
	end();
}

/* What the working set leaves alone goes from each of them. */
TEST(all_depots_of_an_idle_class_melt)
{
	unsigned int i;

	begin(CPUS);
	crowd(20);
	ASSERT_EQ(4, depots());
	spread();
	sim_advance(100000);
	EXPECT_FALSE(sim_work_pending());
	for (i = 0; i < depots(); i++) {
		EXPECT_EQ(NULL, iova_depot(t.rcache, ORDER, i)->full);
		EXPECT_EQ(NULL, iova_depot(t.rcache, ORDER, i)->empty);
	}
	EXPECT_LT(1, depots());
	end();
}

TEST(without_memory_a_class_stays_whole_and_asks_again)
{
	begin(CPUS);
	crowd(1);
	ASSERT_EQ(1, depots());
	t.no_memory = true;
	crowd(20);
	t.no_memory = false;
	EXPECT_EQ(1, depots());
	ASSERT_SOUND(&t.iovad);
	crowd(20);
	EXPECT_LT(1, depots());
	ASSERT_SOUND(&t.iovad);
	end();
}

TEST(statistics_sum_up_all_depots)
{
	const struct iova_domain_stats *stats;
	unsigned long ranges = 0;
	unsigned int i;

	begin(CPUS);
	crowd(20);
	ASSERT_EQ(4, depots());
	spread();
	for (i = 0; i < depots(); i++)
		ranges += ranges_in(i);
	stats = domain_stats(&t.iovad);
	EXPECT_EQ(ranges, stats->class[ORDER].depot);
	EXPECT_EQ(stats->tree.ranges, domain_parked(&t.iovad));
	if (SIM_EXACT_BYTES)
		EXPECT_LE((depots() - 1) * sizeof(struct iova_depot),
			  stats->bytes);
	end();
}

TEST_HARNESS_MAIN
