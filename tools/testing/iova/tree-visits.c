// SPDX-License-Identifier: GPL-2.0-only
/*
 * Case 3: no search, whatever the tree looks like, visits more nodes than
 * IOVA_TREE_VISITS() allows. The worst is gated, not the mean.
 */
#include "test.h"

#define MANY	300000UL

static struct {
	struct iova_domain iovad;
	struct iova **live;
	unsigned long nr;
	unsigned long worst;
} t;

FIXTURE(visits) {
};

FIXTURE_SETUP(visits)
{
	world_begin(1);
	domain_begin(&t.iovad, 1);
	t.live = calloc(SCALE(1000000, 10000000), sizeof(*t.live));
	ASSERT_NE(NULL, t.live);
}

FIXTURE_TEARDOWN(visits)
{
	TH_LOG("%lu ranges, worst search: %lu nodes of %u allowed", t.nr,
	       t.worst, IOVA_TREE_VISITS(t.nr));
	domain_end(&t.iovad);
	world_end();
	free(t.live);
}

/* alloc_iova(), gated. */
static struct iova *gated(unsigned long size, unsigned long limit, bool aligned)
{
	struct iova_tree_stats *stats = &t.iovad.stats;
	unsigned long before = stats->visited, ranges = stats->ranges, visits;
	struct iova *iova = alloc_iova(&t.iovad, size, limit, aligned);

	visits = stats->visited - before;
	sim_check(visits, "none is counted");
	sim_check(visits <= IOVA_TREE_VISITS(ranges),
		  "%lu nodes of %lu for %lu pages below %#lx", visits, ranges,
		  size, limit);
	sim_check(stats->visited_max >= visits, "the worst is not kept");
	t.worst = max(t.worst, visits);
	return iova;
}

static void fill(unsigned long nr, unsigned long size, unsigned long limit)
{
	while (t.nr < nr) {
		t.live[t.nr] = gated(size, limit, true);
		sim_check(t.live[t.nr++], "no place");
	}
}

/* Every second range goes; the others move to the front of live[]. */
static void free_every_second(void)
{
	unsigned long i, left = 0;

	for (i = 0; i < t.nr; i++) {
		if (i % 2)
			__free_iova(&t.iovad, t.live[i]);
		else
			t.live[left++] = t.live[i];
	}
	t.nr = left;
}

static void replace(unsigned long i, unsigned long size, unsigned long limit)
{
	__free_iova(&t.iovad, t.live[i]);
	t.live[i] = gated(size, limit, true);
	sim_check(t.live[i], "no place");
}

TEST_F(visits, random_one_freed_then_two_allocated)
{
	unsigned long i;

	fill(MANY, 1, ~0UL);
	for (i = 0; i < 1000; i++) {
		replace(sim_random_below(t.nr), 1, ~0UL);
		free_iova(&t.iovad, gated(1, ~0UL, true)->pfn_lo);
	}
}

TEST_F(visits, highest_one_freed_then_two_allocated)
{
	unsigned long i;

	fill(MANY, 1, ~0UL);
	for (i = 0; i < 1000; i++) {
		replace(0, 1, ~0UL);
		free_iova(&t.iovad, gated(1, ~0UL, true)->pfn_lo);
	}
}

TEST_F(visits, low_4_gib_full)
{
	unsigned long i;

	fill(MANY, 1, PFN_4G - 1);
	ASSERT_NE(NULL, reserve_iova(&t.iovad, 1, PFN_4G - 1 - MANY));
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(NULL, gated(1 + i % 9, PFN_4G - 1, i % 2));
		replace(sim_random_below(t.nr), 1, PFN_4G - 1);
	}
}

TEST_F(visits, every_second_page_free_under_a_32_bit_limit)
{
	unsigned long i;

	fill(MANY, 1, PFN_4G - 1);
	free_every_second();
	for (i = 0; i < 1000; i++) {
		struct iova *iova;

		replace(0, 1, PFN_4G - 1);
		iova = gated(2, PFN_4G - 1, true);
		ASSERT_NE(NULL, iova);
		__free_iova(&t.iovad, iova);
	}
}

TEST_F(visits, any_size_in_any_disorder)
{
	unsigned long i, limit = 1UL << 25, size;

	for (i = 0; i < MANY / 3; i++) {
		size = sim_random_below(64) + 1;
		t.live[t.nr] = gated(size, limit, i % 4);
		t.nr += !!t.live[t.nr];
	}
	free_every_second();
	for (i = 0; i < MANY / 3; i++) {
		struct iova *iova;

		limit = sim_random_below(1UL << sim_random_below(27)) + 1;
		size = sim_random_below(1UL << sim_random_below(12)) + 1;
		iova = gated(size, limit, i % 4);
		if (iova)
			__free_iova(&t.iovad, iova);
	}
}

/*
 * Gaps that an aligned request of their length just misses: a tree that keeps
 * lengths alone looks into each of them.
 */
TEST_F(visits, gaps_long_enough_and_all_off_their_boundary)
{
	unsigned long pfn;

	/* [16n + 1, 16n + 15] is free: 15 pages, no 8 at a multiple of 16. */
	for (pfn = 16; pfn < 16 * MANY / 3; pfn += 16)
		ASSERT_NE(NULL, reserve_iova(&t.iovad, pfn, pfn));
	ASSERT_NE(NULL, reserve_iova(&t.iovad, 1, 15));
	t.nr = t.iovad.stats.ranges;
	EXPECT_EQ(NULL, gated(15, pfn - 1 - 16, true));
	EXPECT_EQ(NULL, gated(9, pfn - 1 - 16, true));
	EXPECT_NE(NULL, gated(8, pfn - 1 - 16, true));
	EXPECT_NE(NULL, gated(15, pfn - 1 - 16, false));
}

/* Case 19: a driver that never unmaps is not made slower by what it leaks. */
TEST_F(visits, flat_up_to_millions_of_ranges)
{
	unsigned long nr, most = SCALE(1000000, 10000000);
	struct iova_tree_stats *stats = &t.iovad.stats;
	unsigned long visited, searches;

	ASSERT_LE(sizeof(struct iova), 64);
	for (nr = 1000; nr <= most; nr *= 10) {
		visited = stats->visited;
		searches = stats->searches;
		fill(nr, 1, ~0UL);
		TH_LOG("%lu ranges: %.1f nodes a search", nr,
		       (double)(stats->visited - visited) /
		       (stats->searches - searches));
	}
	ASSERT_EQ(most, sim_memory.live - 1);
	t.iovad.stats.visited_max = 0;
	for (nr = 0; nr < 1000; nr++)
		replace(sim_random_below(t.nr), 1, ~0UL);
}

TEST_HARNESS_MAIN
