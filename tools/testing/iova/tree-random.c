// SPDX-License-Identifier: GPL-2.0-only
/*
 * The range tree against the slow oracle: random operations, every search
 * compared, every rule checked after each.
 */
#include "test.h"

#define MAX_LIVE	256

static struct {
	struct iova_domain iovad;
	struct iova *live[MAX_LIVE];
	unsigned int nr;
} t;

FIXTURE(random) {
};

/*
 * @start: start_pfn
 * @pages: pages above it that are in reach
 * @longest: of a request, in pages
 * @seeds: how many runs
 */
FIXTURE_VARIANT(random) {
	unsigned long start;
	unsigned long pages;
	unsigned long longest;
	unsigned int seeds;
};

FIXTURE_VARIANT_ADD(random, so_small_that_all_collide) {
	.start = 1, .pages = 24, .longest = 12, .seeds = 300,
};

FIXTURE_VARIANT_ADD(random, tight) {
	.start = 5, .pages = 250, .longest = 40, .seeds = 150,
};

FIXTURE_VARIANT_ADD(random, pages) {
	.start = 1, .pages = 200, .longest = 2, .seeds = 100,
};

FIXTURE_VARIANT_ADD(random, around_4_gib) {
	.start = PFN_4G - 1000, .pages = 2000, .longest = 129, .seeds = 60,
};

FIXTURE_VARIANT_ADD(random, top) {
	.start = ~0UL - 400, .pages = 400, .longest = 70, .seeds = 100,
};

FIXTURE_VARIANT_ADD(random, whole_space) {
	.start = 1, .pages = ~0UL - 1, .longest = ~0UL, .seeds = 60,
};

FIXTURE_VARIANT_ADD(random, whole_space_from_0) {
	.start = 0, .pages = ~0UL, .longest = 1UL << 62, .seeds = 60,
};

FIXTURE_SETUP(random)
{
	world_begin(1);
}

FIXTURE_TEARDOWN(random)
{
	world_end();
}

/* 1 to @max: small and large, and next to powers of two, more often. */
static unsigned long random_size(unsigned long max)
{
	unsigned long size = sim_random() >> sim_random_below(64);

	switch (sim_random_below(4)) {
	case 0:
		size = 1UL << __fls(size | 1);
		break;
	case 1:
		size = (1UL << __fls(size | 1)) + sim_random_below(3) - 1;
		break;
	case 2:
		size = sim_random_below(8) + 1;
		break;
	}
	return size % max + 1;
}

static void try_alloc(struct __test_metadata *_metadata, unsigned long start,
		      unsigned long pages, unsigned long longest)
{
	struct iova_request req = {
		.size = random_size(longest),
		.limit = start + sim_random_below(pages) + 1,
		.aligned = sim_random_below(4),
	};
	struct iova_domain *iovad = &t.iovad;
	unsigned long pfn = 0, visited;
	struct iova *iova;
	bool fits;

	spin_lock_irq(&iovad->iova_rbtree_lock);
	fits = iova_tree_oracle(iovad, &req, &pfn);
	spin_unlock_irq(&iovad->iova_rbtree_lock);

	visited = iovad->stats.visited;
	iova = alloc_iova(iovad, req.size, req.limit, req.aligned);
	visited = iovad->stats.visited - visited;
	ASSERT_EQ(fits, !!iova) {
		TH_LOG("seed %lu", sim_seed);
	}
	ASSERT_LE(visited, IOVA_TREE_VISITS(iovad->stats.ranges));
	if (!iova)
		return;
	ASSERT_EQ(pfn, iova->pfn_lo) {
		TH_LOG("seed %lu", sim_seed);
	}
	t.live[t.nr++] = iova;
}

TEST_F(random, each_search_equals_the_oracle)
{
	unsigned int step, i;

	for (sim_seed = 1; sim_seed <= variant->seeds; sim_seed++) {
		unsigned int crowd = sim_random_below(MAX_LIVE) + 1;

		domain_begin(&t.iovad, variant->start);
		t.nr = 0;
		for (step = 0; step < 400; step++) {
			if (t.nr < crowd && sim_random_below(5) > 1) {
				try_alloc(_metadata, variant->start,
					  variant->pages, variant->longest);
			} else if (t.nr) {
				i = sim_random_below(t.nr);
				__free_iova(&t.iovad, t.live[i]);
				t.live[i] = t.live[--t.nr];
			}
			ASSERT_SOUND(&t.iovad) {
				TH_LOG("seed %lu", sim_seed);
			}
			ASSERT_EQ(t.nr, t.iovad.stats.ranges);
		}
		domain_end(&t.iovad);
	}
}

TEST_HARNESS_MAIN
