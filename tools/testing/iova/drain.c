// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many CPUs allocate, and one frees for all of them: cases 2, 17 and 18.
 */
#include "test.h"

#define TOP_PFN	(SHADOW_PFNS - 1)

FIXTURE(drain) {
	struct iova_domain iovad;
	unsigned long *pfn;
	unsigned long *pages;
};

#define PRODUCERS	64
#define FREES		255
#define NR		(PRODUCERS * FREES)

FIXTURE_SETUP(drain)
{
	world_begin(PRODUCERS);
	domain_begin_cached(&self->iovad, 1);
	iova_domain_set_cached_range(&self->iovad, SZ_4M);
	self->pfn = calloc(NR, sizeof(long));
	self->pages = calloc(NR, sizeof(long));
	ASSERT_TRUE(self->pfn && self->pages);
}

FIXTURE_TEARDOWN(drain)
{
	domain_end(&self->iovad);
	world_end();
	free(self->pfn);
	free(self->pages);
}

/* Each producer allocates, then CPU 0 frees all; returns tree locks taken. */
static unsigned long one_drain(FIXTURE_DATA(drain) *self)
{
	unsigned long locks = self->iovad.stats.locks, i;

	for (i = 0; i < NR; i++) {
		sim_cpu = i / FREES;
		self->pfn[i] = map_alloc(&self->iovad, self->pages[i], TOP_PFN,
					 true);
		sim_check(self->pfn[i], "%lu pages", self->pages[i]);
	}
	sim_cpu = 0;
	for (i = 0; i < NR; i++)
		map_free(&self->iovad, self->pfn[i], self->pages[i]);
	return self->iovad.stats.locks - locks;
}

/*
 * Drains until 20 in a row left the tree alone but for 1 pair in 1000: with
 * 255 frees and magazines of 254 or fewer, CPUs end each round with a range
 * or two more or less, until their own magazines hold what that takes.
 */
static unsigned int settle(FIXTURE_DATA(drain) *self)
{
	unsigned long locks = ~0UL;
	unsigned int round, i;

	for (round = 0; locks > 20 * NR / 1000; round++) {
		sim_check(round < 20, "it does not settle");
		for (i = 0, locks = 0; i < 20; i++) {
			locks += one_drain(self);
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
		struct iova_depot *depot = &self->iovad.rcache->depot[order];

		for (i = 0; i < NR; i++)
			self->pages[i] = 1UL << order;
		first = one_drain(self);
		/* A batch a lock, or a magazine where that is smaller. */
		EXPECT_LE(first, 2 * NR / min(depot->cap, 1U * IOVA_BATCH) +
				 NR / 8);
		rounds = settle(self);
		EXPECT_LE(rounds, 40);
		trips = depot->locks;
		locks = one_drain(self);
		trips = depot->locks - trips;
		/* Each magazine is fetched once and brought back once. */
		EXPECT_LE(trips, 2 * (NR / depot->cap + PRODUCERS));
		TH_LOG("%u pages: first %lu tree locks, %lu after %u drains, %lu depot locks",
		       1U << order, first, locks, rounds, trips);
		ASSERT_SOUND(&self->iovad);
		domain_reclaim(&self->iovad);
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
		self->pages[i] = 33 + sim_random_below(1024 - 33 + 1);
	iova_domain_set_cached_range(&self->iovad, 0);
	before = one_drain(self);
	/* Not cached: a lock for each allocation, and for each free. */
	EXPECT_LE(2 * NR, before);
	iova_domain_set_cached_range(&self->iovad, SZ_4M);
	rounds = settle(self);
	TH_LOG("%lu tree locks a drain uncached, %lu cached after %u drains",
	       before, one_drain(self), rounds);
	EXPECT_LE(world_section_max, IOVA_BATCH);
}

/* With time passing, trimming takes a little that has to be fetched again. */
TEST_F(drain, trimming_leaves_the_working_set_alone)
{
	unsigned long locks = 0, trims, i;
	unsigned int round;

	for (i = 0; i < NR; i++)
		self->pages[i] = 1UL << i % 6;
	for (round = 0; round < 100; round++) {
		one_drain(self);
		sim_advance(10);
	}
	trims = self->iovad.stats.trim_locks;
	for (round = 0; round < 50; round++) {
		locks += one_drain(self);
		sim_advance(10);
	}
	trims = self->iovad.stats.trim_locks - trims;
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
	struct iova_domain iovad;
	unsigned long pfn[IN_USE];
	unsigned long pages[IN_USE];
	unsigned long in_use;
	unsigned long peak[IOVA_NR_ORDERS];
	unsigned long live[IOVA_NR_ORDERS];
};

FIXTURE_SETUP(ageing)
{
	world_begin(ALLOCATORS + FREERS);
	domain_begin_cached(&self->iovad, 1);
}

FIXTURE_TEARDOWN(ageing)
{
	domain_end(&self->iovad);
	world_end();
}

static void use(FIXTURE_DATA(ageing) *self)
{
	unsigned long pages = 1UL << sim_random_below(4);
	unsigned int order = __fls(pages);

	sim_cpu = sim_random_below(ALLOCATORS);
	self->pages[self->in_use] = pages;
	self->pfn[self->in_use] = map_alloc(&self->iovad, pages, TOP_PFN, true);
	sim_check(self->pfn[self->in_use++], "%lu pages", pages);
	self->live[order]++;
	self->peak[order] = max(self->peak[order], self->live[order]);
}

static void release(FIXTURE_DATA(ageing) *self)
{
	unsigned long i = sim_random_below(self->in_use--);

	sim_cpu = ALLOCATORS + sim_random_below(FREERS);
	map_free(&self->iovad, self->pfn[i], self->pages[i]);
	self->live[__fls(self->pages[i])]--;
	self->pfn[i] = self->pfn[self->in_use];
	self->pages[i] = self->pages[self->in_use];
}

/* Up and down, with a swing that reaches both ends now and then. */
static void age(FIXTURE_DATA(ageing) *self, unsigned long ops)
{
	static bool up = true;

	while (ops--) {
		if (self->in_use == IN_USE)
			up = false;
		else if (!self->in_use)
			up = true;
		if (self->in_use && (self->in_use == IN_USE ||
				     sim_random_below(100) < (up ? 48 : 52)))
			release(self);
		else
			use(self);
		if (ops % 1000 == 0)
			sim_advance(1);
	}
}

static unsigned long ranges_bound(FIXTURE_DATA(ageing) *self)
{
	unsigned long bound = 0;
	unsigned int order;

	for (order = 0; order < 4; order++)
		bound += self->peak[order] + IOVA_BATCH +
			 (ALLOCATORS + FREERS) * 2UL *
			 self->iovad.rcache->depot[order].cap_max;
	return bound;
}

TEST_F(ageing, cached_ranges_do_not_pile_up)
{
	unsigned long ops = SCALE(2000000, 100000000), cost[10], most = 0;
	struct iova_tree_stats *stats = &self->iovad.stats;
	unsigned int decile, order;

	for (decile = 0; decile < 10; decile++) {
		unsigned long before = stats->locks + stats->trim_locks +
				       stats->visited;

		for (order = 0; order < 4; order++)
			before += self->iovad.rcache->depot[order].locks;
		age(self, ops / 10);
		cost[decile] = stats->locks + stats->trim_locks +
			       stats->visited - before;
		for (order = 0; order < 4; order++)
			cost[decile] += self->iovad.rcache->depot[order].locks;
		TH_LOG("decile %u: %lu ranges of at most %lu, %lu of cost",
		       decile, stats->ranges, ranges_bound(self), cost[decile]);
		ASSERT_LE(stats->ranges, ranges_bound(self));
		most = max(most, stats->ranges);
		ASSERT_SOUND(&self->iovad);
	}
	/* The first is the one that warms up. */
	EXPECT_LE(cost[9], cost[0]);
	EXPECT_LE(cost[9], cost[1] + cost[1] / 5);
	while (self->in_use)
		release(self);
	sim_advance(100000);
	TH_LOG("%lu ranges at most, %lu after a rest", most, stats->ranges);
	/* Depots have melted; what is left is what CPUs may hold. */
	for (order = 0; order < 4; order++) {
		EXPECT_EQ(0, domain_stats(&self->iovad)->class[order].depot);
		EXPECT_EQ(0, domain_stats(&self->iovad)->class[order].empty);
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
