// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many CPUs allocate, and one frees for all of them: cases 2, 17 and 18.
 */
#include "test.h"

#define TOP_PFN	(SHADOW_PFNS - 1)

#define PRODUCERS	64
#define FREES		255
#define NR		(PRODUCERS * FREES)

/*
 * @pfn, @pages: ranges that are in use
 * @in_use: how many
 * @live: of each class
 * @peak: the most at any time
 */
static struct {
	struct iova_domain iovad;
	unsigned long pfn[NR];
	unsigned long pages[NR];
	unsigned long in_use;
	unsigned long live[IOVA_NR_ORDERS];
	unsigned long peak[IOVA_NR_ORDERS];
} t;

FIXTURE(drain) {
};

FIXTURE_SETUP(drain)
{
	world_begin(PRODUCERS);
	domain_begin_cached(&t.iovad, 1);
	iova_domain_set_cached_range(&t.iovad, SZ_4M);
}

FIXTURE_TEARDOWN(drain)
{
	domain_end(&t.iovad);
	world_end();
}

/* Each producer allocates, then CPU 0 frees all; returns tree locks taken. */
static unsigned long one_drain(void)
{
	unsigned long locks = t.iovad.stats.locks, i;

	for (i = 0; i < NR; i++) {
		sim_cpu = i / FREES;
		t.pfn[i] = map_alloc(&t.iovad, t.pages[i], TOP_PFN, true);
		sim_check(t.pfn[i], "%lu pages", t.pages[i]);
	}
	sim_cpu = 0;
	for (i = 0; i < NR; i++)
		map_free(&t.iovad, t.pfn[i], t.pages[i]);
	return t.iovad.stats.locks - locks;
}

/*
 * Drains until 20 in a row left the tree alone but for 1 pair in 1000: with
 * 255 frees and magazines that hold fewer or more, CPUs end each round with a range
 * or two more or less, until their own magazines hold what that takes.
 */
static unsigned int settle(void)
{
	unsigned long locks = ~0UL;
	unsigned int round, i;

	for (round = 0; locks > 20 * NR / 1000; round++) {
		sim_check(round < 20, "still not, after %u drains", 20 * round);
		for (i = 0, locks = 0; i < 20; i++) {
			locks += one_drain();
			/* As late as it can come: when all is over. */
			sim_run_work();
		}
	}
	return round * 20;
}

TEST_F(drain, settles_at_every_size)
{
	unsigned long i, first, trips, locks;
	unsigned int order, rounds;

	for (order = 0; order <= 10; order++) {
		struct iova_depot *depot = &t.iovad.rcache->depot[order];

		for (i = 0; i < NR; i++)
			t.pages[i] = 1UL << order;
		first = one_drain();
		/* A batch a lock, or a magazine where that is smaller. */
		EXPECT_LE(first, 2 * NR / min(depot->cap, 1U * IOVA_BATCH) +
				 NR / 8);
		rounds = settle();
		EXPECT_LE(rounds, 40);
		trips = depot->locks;
		locks = one_drain();
		trips = depot->locks - trips;
		/* Each magazine is fetched once and brought back once. */
		EXPECT_LE(trips, 2 * (NR / depot->cap + PRODUCERS));
		TH_LOG("%u pages: first %lu tree locks, %lu after %u drains, %lu depot locks",
		       1U << order, first, locks, rounds, trips);
		ASSERT_SOUND(&t.iovad);
		domain_reclaim(&t.iovad);
	}
	TH_LOG("at most %lu ranges with interrupts off", world_section_max);
	EXPECT_EQ(IOVA_BATCH, world_section_max);
}

/* Case 2: 33 to 1024 pages, before and after the cached range covers them. */
TEST_F(drain, long_ranges_with_and_without_the_knob)
{
	unsigned long i, before;
	unsigned int rounds;

	for (i = 0; i < NR; i++)
		t.pages[i] = 33 + sim_random_below(1024 - 33 + 1);
	iova_domain_set_cached_range(&t.iovad, 0);
	before = one_drain();
	/* Not cached: a lock for each allocation, and for each free. */
	EXPECT_LE(2 * NR, before);
	iova_domain_set_cached_range(&t.iovad, SZ_4M);
	rounds = settle();
	TH_LOG("%lu tree locks a drain uncached, %lu cached after %u drains",
	       before, one_drain(), rounds);
	EXPECT_LE(world_section_max, IOVA_BATCH);
}

/* With time passing, trimming takes a little that has to be fetched again. */
TEST_F(drain, trimming_leaves_the_working_set_alone)
{
	unsigned long locks = 0, trims, i;
	unsigned int round;

	for (i = 0; i < NR; i++)
		t.pages[i] = 1UL << i % 6;
	for (round = 0; round < 100; round++) {
		one_drain();
		sim_advance(10);
	}
	trims = t.iovad.stats.trim_locks;
	for (round = 0; round < 50; round++) {
		locks += one_drain();
		sim_advance(10);
	}
	trims = t.iovad.stats.trim_locks - trims;
	TH_LOG("a million pairs: %lu tree locks, %lu for trimming",
	       locks * 1000000 / (50 * NR), trims * 1000000 / (50 * NR));
	EXPECT_LE(locks, 50 * NR / 100);
	EXPECT_LE(trims, 50 * NR / 100);
}

/*
 * Case 18, ageing: 64 CPUs allocate, 16 others free, at random and for long.
 *
 * What is cached of a class is bounded: the tree is asked only where the depot
 * has nothing, so that at no time more exists than was in use at once, plus
 * what CPUs may hold, plus a batch.
 */
#define ALLOCATORS	64
#define FREERS		16
#define IN_USE		8192

FIXTURE(ageing) {
};

FIXTURE_SETUP(ageing)
{
	world_begin(ALLOCATORS + FREERS);
	domain_begin_cached(&t.iovad, 1);
}

FIXTURE_TEARDOWN(ageing)
{
	domain_end(&t.iovad);
	world_end();
}

static void use(void)
{
	unsigned long pages = 1UL << sim_random_below(4);
	unsigned int order = __fls(pages);

	sim_cpu = sim_random_below(ALLOCATORS);
	t.pages[t.in_use] = pages;
	t.pfn[t.in_use] = map_alloc(&t.iovad, pages, TOP_PFN, true);
	sim_check(t.pfn[t.in_use++], "%lu pages", pages);
	t.live[order]++;
	t.peak[order] = max(t.peak[order], t.live[order]);
}

static void release(void)
{
	unsigned long i = sim_random_below(t.in_use--);

	sim_cpu = ALLOCATORS + sim_random_below(FREERS);
	map_free(&t.iovad, t.pfn[i], t.pages[i]);
	t.live[__fls(t.pages[i])]--;
	t.pfn[i] = t.pfn[t.in_use];
	t.pages[i] = t.pages[t.in_use];
}

/* Up and down, with a swing that reaches both ends now and then. */
static void age(unsigned long ops)
{
	static bool up = true;
	bool back;

	while (ops--) {
		if (t.in_use == IN_USE)
			up = false;
		else if (!t.in_use)
			up = true;
		back = sim_random_below(100) < (up ? 48 : 52);
		if (t.in_use == IN_USE || (t.in_use && back))
			release();
		else
			use();
		if (ops % 1000 == 0)
			sim_advance(1);
	}
}

static unsigned long ranges_bound(void)
{
	unsigned long bound = 0;
	unsigned int order;

	for (order = 0; order < 4; order++)
		bound += t.peak[order] + IOVA_BATCH +
			 (ALLOCATORS + FREERS) * 2UL *
			 t.iovad.rcache->depot[order].cap_max;
	return bound;
}

TEST_F(ageing, cached_ranges_do_not_pile_up)
{
	unsigned long ops = SCALE(2000000, 100000000), cost[10], most = 0;
	struct iova_tree_stats *stats = &t.iovad.stats;
	unsigned long ranges[10];
	unsigned int decile, order;

	for (decile = 0; decile < 10; decile++) {
		unsigned long before = stats->locks + stats->trim_locks +
				       stats->visited;

		for (order = 0; order < 4; order++)
			before += t.iovad.rcache->depot[order].locks;
		age(ops / 10);
		cost[decile] = stats->locks + stats->trim_locks +
			       stats->visited - before;
		for (order = 0; order < 4; order++)
			cost[decile] += t.iovad.rcache->depot[order].locks;
		TH_LOG("decile %u: %lu ranges of at most %lu, %lu of cost",
		       decile, stats->ranges, ranges_bound(), cost[decile]);
		ASSERT_LE(stats->ranges, ranges_bound());
		ranges[decile] = stats->ranges;
		most = max(most, stats->ranges);
		ASSERT_SOUND(&t.iovad);
	}
	/* The first is the one that warms up; after it, no doubling. */
	EXPECT_LE(cost[9], cost[0]);
	EXPECT_LE(4 * ranges[9], 5 * ranges[1]);
	while (t.in_use)
		release();
	sim_advance(100000);
	TH_LOG("%lu ranges at most, %lu after a rest", most, stats->ranges);
	/* Depots have melted; what is left is what CPUs may hold. */
	for (order = 0; order < 4; order++) {
		EXPECT_EQ(0, domain_stats(&t.iovad)->class[order].depot);
		EXPECT_EQ(0, domain_stats(&t.iovad)->class[order].empty);
	}
	EXPECT_LE(stats->ranges, (ALLOCATORS + FREERS) * 4 * 2 * IOVA_MAG_MAX);
}

/* Case 20: 64 CPUs, 40 groups, by cached range. */
TEST(memory_of_40_idle_groups_on_64_cpus)
{
	static const size_t ranges[] = { 0, SZ_1M, SZ_4M };
	static struct iova_domain iovad[40];
	size_t bytes[ARRAY_SIZE(ranges)] = {};
	unsigned int i, r;

	world_begin(64);
	for (i = 0; i < ARRAY_SIZE(iovad); i++)
		domain_begin_cached(&iovad[i], 1);
	for (r = 0; r < ARRAY_SIZE(ranges); r++) {
		for (i = 0; i < ARRAY_SIZE(iovad); i++) {
			iova_domain_set_cached_range(&iovad[i], ranges[r]);
			bytes[r] += domain_stats(&iovad[i])->bytes;
		}
		TH_LOG("cached range %zu KiB: %zu KiB of memory",
		       iova_domain_cached_range(&iovad[0]) / 1024,
		       bytes[r] / 1024);
		EXPECT_EQ(bytes[0], bytes[r]);
	}
	/* Stock: 12 KiB a CPU and domain. */
	EXPECT_LT(bytes[0], 64 * 40 * 12 * 1024 / 100);
	for (i = 0; i < ARRAY_SIZE(iovad); i++)
		domain_end(&iovad[i]);
	world_end();
}

TEST_HARNESS_MAIN
