// SPDX-License-Identifier: GPL-2.0-only
/*
 * Case 3: no search, whatever the tree looks like, visits more nodes than
 * IOVA_TREE_VISITS() allows. The worst is gated, not the mean.
 */
#include "test.h"

#define MANY	300000UL

FIXTURE(visits) {
	struct iova_domain iovad;
	struct iova **live;
	unsigned long nr;
	unsigned long worst;
};

FIXTURE_SETUP(visits)
{
	world_begin(1);
	domain_begin(&self->iovad, 1);
	self->live = calloc(SCALE(1000000, 10000000), sizeof(*self->live));
	ASSERT_NE(NULL, self->live);
}

FIXTURE_TEARDOWN(visits)
{
	TH_LOG("%lu ranges, worst search: %lu nodes of %u allowed", self->nr,
	       self->worst, IOVA_TREE_VISITS(self->nr));
	domain_end(&self->iovad);
	world_end();
	free(self->live);
}

/* alloc_iova(), gated. */
static struct iova *gated(FIXTURE_DATA(visits) *self, unsigned long size,
			  unsigned long limit, bool aligned)
{
	struct iova_tree_stats *stats = &self->iovad.stats;
	unsigned long before = stats->visited, ranges = stats->ranges, visits;
	struct iova *iova = alloc_iova(&self->iovad, size, limit, aligned);

	visits = stats->visited - before;
	sim_check(visits, "none is counted");
	sim_check(visits <= IOVA_TREE_VISITS(ranges),
		  "%lu nodes of %lu for %lu pages below %#lx", visits, ranges,
		  size, limit);
	sim_check(stats->visited_max >= visits, "the worst is not kept");
	self->worst = max(self->worst, visits);
	return iova;
}

static void fill(FIXTURE_DATA(visits) *self, unsigned long nr,
		 unsigned long size, unsigned long limit)
{
	while (self->nr < nr) {
		self->live[self->nr] = gated(self, size, limit, true);
		sim_check(self->live[self->nr++], "no place");
	}
}

/* Every second range goes; the others move to the front of live[]. */
static void free_every_second(FIXTURE_DATA(visits) *self)
{
	unsigned long i, left = 0;

	for (i = 0; i < self->nr; i++) {
		if (i % 2)
			__free_iova(&self->iovad, self->live[i]);
		else
			self->live[left++] = self->live[i];
	}
	self->nr = left;
}

static void replace(FIXTURE_DATA(visits) *self, unsigned long i,
		    unsigned long size, unsigned long limit)
{
	__free_iova(&self->iovad, self->live[i]);
	self->live[i] = gated(self, size, limit, true);
	sim_check(self->live[i], "no place");
}

TEST_F(visits, random_one_freed_then_two_allocated)
{
	unsigned long i;

	fill(self, MANY, 1, ~0UL);
	for (i = 0; i < 1000; i++) {
		replace(self, sim_random_below(self->nr), 1, ~0UL);
		free_iova(&self->iovad, gated(self, 1, ~0UL, true)->pfn_lo);
	}
}

TEST_F(visits, highest_one_freed_then_two_allocated)
{
	unsigned long i;

	fill(self, MANY, 1, ~0UL);
	for (i = 0; i < 1000; i++) {
		replace(self, 0, 1, ~0UL);
		free_iova(&self->iovad, gated(self, 1, ~0UL, true)->pfn_lo);
	}
}

TEST_F(visits, low_4_gib_full)
{
	unsigned long i;

	fill(self, MANY, 1, PFN_4G - 1);
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 1, PFN_4G - 1 - MANY));
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(NULL, gated(self, 1 + i % 9, PFN_4G - 1, i % 2));
		replace(self, sim_random_below(self->nr), 1, PFN_4G - 1);
	}
}

TEST_F(visits, every_second_page_free_under_a_32_bit_limit)
{
	unsigned long i;

	fill(self, MANY, 1, PFN_4G - 1);
	free_every_second(self);
	for (i = 0; i < 1000; i++) {
		struct iova *iova;

		replace(self, 0, 1, PFN_4G - 1);
		iova = gated(self, 2, PFN_4G - 1, true);
		ASSERT_NE(NULL, iova);
		__free_iova(&self->iovad, iova);
	}
}

TEST_F(visits, any_size_in_any_disorder)
{
	unsigned long i, limit = 1UL << 25, size;

	for (i = 0; i < MANY / 3; i++) {
		size = sim_random_below(64) + 1;
		self->live[self->nr] = gated(self, size, limit, i % 4);
		self->nr += self->live[self->nr] != NULL;
	}
	free_every_second(self);
	for (i = 0; i < MANY / 3; i++) {
		struct iova *iova;

		limit = sim_random_below(1UL << sim_random_below(27)) + 1;
		size = sim_random_below(1UL << sim_random_below(12)) + 1;
		iova = gated(self, size, limit, i % 4);
		if (iova)
			__free_iova(&self->iovad, iova);
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
		ASSERT_NE(NULL, reserve_iova(&self->iovad, pfn, pfn));
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 1, 15));
	self->nr = self->iovad.stats.ranges;
	EXPECT_EQ(NULL, gated(self, 15, pfn - 1 - 16, true));
	EXPECT_EQ(NULL, gated(self, 9, pfn - 1 - 16, true));
	EXPECT_NE(NULL, gated(self, 8, pfn - 1 - 16, true));
	EXPECT_NE(NULL, gated(self, 15, pfn - 1 - 16, false));
}

/* Case 19: a driver that never unmaps is not made slower by what it leaks. */
TEST_F(visits, flat_up_to_millions_of_ranges)
{
	unsigned long nr, most = SCALE(1000000, 10000000);
	struct iova_tree_stats *stats = &self->iovad.stats;
	unsigned long visited, searches;

	ASSERT_LE(sizeof(struct iova), 64);
	for (nr = 1000; nr <= most; nr *= 10) {
		visited = stats->visited;
		searches = stats->searches;
		fill(self, nr, 1, ~0UL);
		TH_LOG("%lu ranges: %.1f nodes a search", nr,
		       (double)(stats->visited - visited) /
		       (stats->searches - searches));
	}
	ASSERT_EQ(most, sim_memory.live - 1);
	self->iovad.stats.visited_max = 0;
	for (nr = 0; nr < 1000; nr++)
		replace(self, sim_random_below(self->nr), 1, ~0UL);
}

TEST_HARNESS_MAIN
