// SPDX-License-Identifier: GPL-2.0-only
/*
 * reserve_iova(), against a model of one bit a page.
 */
#include "test.h"

#define PAGES	64

FIXTURE(reserve) {
	struct iova_domain iovad;
};

FIXTURE_SETUP(reserve)
{
	world_begin(1);
	domain_begin(&self->iovad, 8);
}

FIXTURE_TEARDOWN(reserve)
{
	domain_end(&self->iovad);
	world_end();
}

static u64 bits(unsigned long lo, unsigned long hi)
{
	return (~0ull >> (63 - (hi - lo))) << lo;
}

/* The pages that are not free. */
static u64 taken(struct iova_domain *iovad)
{
	unsigned long pfn;
	u64 map = 0;

	for (pfn = 0; pfn < PAGES; pfn++) {
		struct iova *iova = find_iova(iovad, pfn);

		if (!iova)
			continue;
		sim_check(iova->pfn_lo <= pfn && iova->pfn_hi >= pfn, "%#lx",
			  pfn);
		map |= 1ull << pfn;
	}
	return map;
}

/*
 * Every stretch of a space with ranges at [10, 13], [14, 15], [20, 29] and
 * [40, 40] in it: apart from all, touching, inside, equal, overlapping on
 * either side, bridging two, swallowing several, below start_pfn.
 */
TEST_F(reserve, every_overlap)
{
	unsigned long lo, hi;

	for (lo = 0; lo < PAGES; lo++) {
		for (hi = lo; hi < PAGES; hi++) {
			struct iova_domain iovad;
			struct iova *iova;
			u64 before;

			domain_begin(&iovad, 8);
			ASSERT_NE(NULL, reserve_iova(&iovad, 10, 13));
			ASSERT_NE(NULL, reserve_iova(&iovad, 14, 15));
			ASSERT_NE(NULL, reserve_iova(&iovad, 20, 29));
			ASSERT_NE(NULL, reserve_iova(&iovad, 40, 40));
			before = taken(&iovad);
			ASSERT_EQ(bits(10, 15) | bits(20, 29) | bits(40, 40),
				  before);

			iova = reserve_iova(&iovad, lo, hi);
			ASSERT_NE(NULL, iova);
			ASSERT_EQ(iova, find_iova(&iovad, hi));
			ASSERT_EQ(before | bits(lo, hi), taken(&iovad));
			ASSERT_SOUND(&iovad);
			domain_end(&iovad);
		}
	}
}

TEST_F(reserve, random_stretches_among_random_ranges)
{
	unsigned int round, step;

	for (round = 1; round <= 2000; round++) {
		struct iova_domain iovad;
		u64 model = 0;

		sim_seed = round;
		domain_begin(&iovad, 8);
		for (step = 0; step < 12; step++) {
			unsigned long lo = sim_random_below(PAGES);
			unsigned long hi = lo + sim_random_below(PAGES - lo);
			struct iova *iova;

			if (sim_random_below(3)) {
				iova = reserve_iova(&iovad, lo, hi);
				ASSERT_NE(NULL, iova);
			} else {
				iova = alloc_iova(&iovad, hi - lo + 1,
						  PAGES - 1, lo % 2);
				if (!iova)
					continue;
				lo = iova->pfn_lo;
				hi = iova->pfn_hi;
				ASSERT_EQ(0, model & bits(lo, hi));
			}
			model |= bits(lo, hi);
			ASSERT_EQ(model, taken(&iovad));
			ASSERT_SOUND(&iovad);
		}
		domain_end(&iovad);
	}
}

TEST_F(reserve, what_is_reserved_is_not_handed_out)
{
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 50, 60));
	EXPECT_EQ(63, alloc_iova(&self->iovad, 1, 63, true)->pfn_lo);
	EXPECT_EQ(61, alloc_iova(&self->iovad, 2, 63, false)->pfn_lo);
	EXPECT_EQ(49, alloc_iova(&self->iovad, 1, 63, true)->pfn_lo);
}

TEST_F(reserve, top_of_the_space)
{
	unsigned long top = ULLONG_MAX >> PAGE_SHIFT;
	struct iova *iova = reserve_iova(&self->iovad, top - 3, top);

	ASSERT_NE(NULL, iova);
	EXPECT_EQ(top - 4, alloc_iova(&self->iovad, 1, top, true)->pfn_lo);
	__free_iova(&self->iovad, iova);
	EXPECT_EQ(top, alloc_iova(&self->iovad, 1, top, true)->pfn_lo);
}

TEST_F(reserve, granule_of_one_byte)
{
	struct iova_domain iovad;
	struct iova *iova;

	init_iova_domain(&iovad, 1, 1);
	iova = reserve_iova(&iovad, 1, ~0UL - 1);
	EXPECT_NE(NULL, iova);
	EXPECT_EQ(NULL, alloc_iova(&iovad, 1, ~0UL, true));
	sim_expect_warnings(true);
	EXPECT_EQ(NULL, reserve_iova(&iovad, 1, ~0UL));
	EXPECT_EQ(1, sim_warnings);
	put_iova_domain(&iovad);
}

TEST_F(reserve, senseless_stretches_change_nothing)
{
	unsigned long top = ULLONG_MAX >> PAGE_SHIFT;

	sim_expect_warnings(true);
	EXPECT_EQ(NULL, reserve_iova(&self->iovad, 2, 1));
	EXPECT_EQ(NULL, reserve_iova(&self->iovad, 1, top + 1));
	EXPECT_EQ(NULL, reserve_iova(&self->iovad, ~0UL, ~0UL));
	EXPECT_EQ(3, sim_warnings);
	EXPECT_EQ(0, self->iovad.stats.ranges);
	ASSERT_SOUND(&self->iovad);
}

TEST_F(reserve, no_memory_changes_nothing)
{
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 10, 12));
	sim_memory.fail_from = 1;
	EXPECT_EQ(NULL, reserve_iova(&self->iovad, 5, 20));
	EXPECT_EQ(NULL, reserve_iova(&self->iovad, 10, 12));
	sim_memory.fail_from = 0;
	EXPECT_EQ(bits(10, 12), taken(&self->iovad));
	ASSERT_SOUND(&self->iovad);
}

TEST_HARNESS_MAIN
