// SPDX-License-Identifier: GPL-2.0-only
/*
 * The range tree, one property at a time.
 */
#include "test.h"

FIXTURE(tree) {
	struct iova_domain iovad;
};

FIXTURE_SETUP(tree)
{
	world_begin(1);
	domain_begin(&self->iovad, 1);
}

FIXTURE_TEARDOWN(tree)
{
	domain_end(&self->iovad);
	world_end();
}

/* First pfn of a new range; 0 if there is none. */
static unsigned long place(struct iova_domain *iovad, unsigned long size,
			   unsigned long limit, bool aligned)
{
	struct iova *iova = alloc_iova(iovad, size, limit, aligned);

	if (!iova)
		return 0;
	sim_check(iova_size(iova) == size, "%lu, not %lu", iova_size(iova),
		  size);
	return iova->pfn_lo;
}

TEST_F(tree, highest_place_first)
{
	EXPECT_EQ(100, place(&self->iovad, 1, 100, true));
	EXPECT_EQ(99, place(&self->iovad, 1, 100, true));
	EXPECT_EQ(96, place(&self->iovad, 2, 100, true));
	EXPECT_EQ(98, place(&self->iovad, 1, 100, true));
	ASSERT_SOUND(&self->iovad);
}

TEST_F(tree, limit_is_inclusive_and_holds_at_every_size)
{
	unsigned long size, limit;

	for (size = 1; size < 70; size++) {
		for (limit = 0; limit < 200; limit++) {
			unsigned long align = roundup_pow_of_two(size), want;
			unsigned long pfn = place(&self->iovad, size, limit,
						  true);

			/* The highest multiple that fits and is not 0. */
			want = limit + 1 >= size ?
			       (limit + 1 - size) / align * align : 0;
			ASSERT_EQ(want, pfn);
			free_iova(&self->iovad, pfn);
		}
	}
	ASSERT_EQ(0, self->iovad.stats.ranges);
}

TEST_F(tree, limit_at_the_ends_of_the_space)
{
	EXPECT_EQ(0, place(&self->iovad, 1, 0, true));
	EXPECT_EQ(0, place(&self->iovad, 2, 1, true));
	EXPECT_EQ(1, place(&self->iovad, 1, 1, true));
	EXPECT_EQ(0, place(&self->iovad, 1, 1, true));
	/* The anchor has the last pfn. */
	EXPECT_EQ(~0UL - 1, place(&self->iovad, 1, ~0UL, true));
	EXPECT_EQ(~0UL - 3, place(&self->iovad, 2, ~0UL, true));
	EXPECT_EQ(~0UL - 7, place(&self->iovad, 4, ~0UL - 1, true));
	ASSERT_SOUND(&self->iovad);
}

TEST_F(tree, sizes_that_are_no_sizes)
{
	static const unsigned long sizes[] = {
		0, IOVA_SIZE_MAX, IOVA_SIZE_MAX + 1, ~0UL - 1, ~0UL
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(NULL, alloc_iova(&self->iovad, sizes[i], ~0UL, true));
		EXPECT_EQ(NULL, alloc_iova(&self->iovad, sizes[i], 100, true));
	}
	EXPECT_EQ(NULL, alloc_iova(&self->iovad, 0, ~0UL, false));
	EXPECT_EQ(0, self->iovad.stats.ranges);
}

TEST_F(tree, longest_request_in_an_empty_space)
{
	/* From start_pfn 1 no multiple of 2^63 has 2^63 pages behind it. */
	EXPECT_EQ(1UL << 63, place(&self->iovad, IOVA_SIZE_MAX - 1, ~0UL, true));
	EXPECT_EQ(1UL << 62, place(&self->iovad, 1UL << 62, ~0UL, true));
	EXPECT_EQ(0, place(&self->iovad, 1UL << 62, ~0UL, true));
	EXPECT_EQ(1, place(&self->iovad, (1UL << 62) - 1, ~0UL, false));
	EXPECT_EQ(0, place(&self->iovad, 1, ~0UL, true));
	ASSERT_SOUND(&self->iovad);
}

TEST_F(tree, whole_space_one_page_at_a_time)
{
	unsigned long pfn, limit = 777;

	self->iovad.start_pfn = 33;
	iova_tree_init(&self->iovad);
	for (pfn = limit; pfn >= 33; pfn--)
		ASSERT_EQ(pfn, place(&self->iovad, 1, limit, true));
	ASSERT_EQ(0, place(&self->iovad, 1, limit, true));
	ASSERT_SOUND(&self->iovad);
	for (pfn = 33; pfn <= limit; pfn++)
		free_iova(&self->iovad, pfn);
	ASSERT_EQ(0, self->iovad.stats.ranges);
}

/* The highest start of @size pages in [lo, hi), by looking at each; or 0. */
static unsigned long by_looking(unsigned long lo, unsigned long hi,
				unsigned long size, unsigned long align)
{
	unsigned long pfn;

	for (pfn = hi - size; size <= hi - lo && pfn >= lo; pfn--) {
		if (pfn % align == 0)
			return pfn;
	}
	return 0;
}

static void gap_by_gap(struct __test_metadata *_metadata, unsigned long from)
{
	unsigned long lo, hi, size, align;
	struct iova_domain iovad;
	struct iova *fence;

	for (lo = from; lo < from + 36; lo++) {
		for (hi = lo + 1; hi < from + 72; hi++) {
			domain_begin(&iovad, lo);
			/* So that a pfn may have 64 bits. */
			iovad.granule = 1;
			fence = reserve_iova(&iovad, hi, hi);
			ASSERT_NE(NULL, fence);
			for (size = 1; size <= hi - lo + 1; size++) {
				unsigned long pfn;

				align = roundup_pow_of_two(size);
				/* By a limit far above: the gap is whole. */
				pfn = place(&iovad, size, hi, true);
				ASSERT_EQ(by_looking(lo, hi, size, align), pfn);
				free_iova(&iovad, pfn);
				pfn = place(&iovad, size, hi, false);
				ASSERT_EQ(by_looking(lo, hi, size, 1), pfn);
				free_iova(&iovad, pfn);
			}
			domain_end(&iovad);
		}
	}
}

TEST_F(tree, fit_in_every_gap_near_the_bottom)
{
	gap_by_gap(_metadata, 1);
}

TEST_F(tree, fit_in_every_gap_around_4_gib)
{
	gap_by_gap(_metadata, PFN_4G - 36);
}

TEST_F(tree, fit_in_every_gap_around_the_middle)
{
	gap_by_gap(_metadata, (1UL << 63) - 36);
}

TEST_F(tree, fit_in_every_gap_near_the_top)
{
	gap_by_gap(_metadata, ~0UL - 1 - 72);
}

TEST_F(tree, odd_size_fits_where_no_whole_block_does)
{
	/* [64, 112) has no block of 64 pages, and room for 33 to 48 at 64. */
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 1, 63));
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 112, 200));
	EXPECT_EQ(0, place(&self->iovad, 64, 200, true));
	EXPECT_EQ(0, place(&self->iovad, 49, 200, true));
	EXPECT_EQ(64, place(&self->iovad, 48, 200, true));
	ASSERT_SOUND(&self->iovad);
}

TEST_F(tree, higher_gap_wins_if_it_fits)
{
	/* [64, 72) holds a block of 8 pages, [132, 140) does not. */
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 1, 63));
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 72, 131));
	ASSERT_NE(NULL, reserve_iova(&self->iovad, 140, 199));
	EXPECT_EQ(64, place(&self->iovad, 8, 199, true));
	EXPECT_EQ(136, place(&self->iovad, 4, 199, true));
	EXPECT_EQ(132, place(&self->iovad, 3, 199, true));
	EXPECT_EQ(0, place(&self->iovad, 3, 199, true));
	ASSERT_SOUND(&self->iovad);
}

TEST_F(tree, failure_is_not_remembered)
{
	ASSERT_EQ(1, place(&self->iovad, 100, 100, false));
	EXPECT_EQ(0, place(&self->iovad, 1, 100, true));
	EXPECT_EQ(0, place(&self->iovad, 1, 100, true));
	free_iova(&self->iovad, 1);
	EXPECT_EQ(64, place(&self->iovad, 32, 100, true));
	EXPECT_EQ(100, place(&self->iovad, 1, 100, true));
}

TEST_F(tree, find_covers_each_pfn_of_a_range_and_no_other)
{
	struct iova *iova = alloc_iova(&self->iovad, 5, 100, true);
	unsigned long pfn;

	ASSERT_NE(NULL, iova);
	for (pfn = 0; pfn <= 200; pfn++) {
		bool inside = pfn >= iova->pfn_lo && pfn <= iova->pfn_hi;

		ASSERT_EQ(inside ? iova : NULL, find_iova(&self->iovad, pfn));
	}
	/* The anchor is nobody's range. */
	EXPECT_EQ(NULL, find_iova(&self->iovad, ~0UL));
	EXPECT_EQ(NULL, find_iova(&self->iovad, ~0UL - 1));
}

TEST_F(tree, free_by_any_pfn_of_the_range)
{
	unsigned long offset;

	for (offset = 0; offset < 5; offset++) {
		unsigned long pfn = place(&self->iovad, 5, 100, true);

		ASSERT_EQ(96, pfn);
		free_iova(&self->iovad, pfn + offset);
		ASSERT_EQ(0, self->iovad.stats.ranges);
	}
	__free_iova(&self->iovad, alloc_iova(&self->iovad, 5, 100, true));
	ASSERT_EQ(0, self->iovad.stats.ranges);
	ASSERT_SOUND(&self->iovad);
}

TEST_F(tree, free_of_a_free_pfn_changes_nothing)
{
	static const unsigned long pfns[] = { 0, 1, 95, 101, ~0UL - 1, ~0UL };
	unsigned int i;

	ASSERT_EQ(96, place(&self->iovad, 5, 100, true));
	for (i = 0; i < ARRAY_SIZE(pfns); i++) {
		free_iova(&self->iovad, pfns[i]);
		free_iova_fast(&self->iovad, pfns[i], 5);
	}
	ASSERT_EQ(1, self->iovad.stats.ranges);
	ASSERT_SOUND(&self->iovad);
}

TEST_F(tree, fast_calls_without_caches)
{
	struct iova_domain *iovad = &self->iovad;

	/* Exactly the size, since no class will have it. */
	EXPECT_EQ(96, map_alloc(iovad, 5, 100, true));
	EXPECT_EQ(5, iova_size(find_iova(iovad, 96)));
	EXPECT_EQ(0, map_alloc(iovad, 96, 100, true));
	EXPECT_EQ(0, iova_domain_cached_range(iovad));
	EXPECT_EQ(-EINVAL, iova_domain_set_cached_range(iovad, 0));
	map_free(iovad, 96, 5);
	EXPECT_EQ(0, domain_stats(iovad)->cpus);
	ASSERT_EQ(0, iovad->stats.ranges);
}

TEST_F(tree, pfn_0_means_failure_and_does_not_leak)
{
	struct iova_domain iovad;

	domain_begin(&iovad, 0);
	EXPECT_EQ(1, map_alloc(&iovad, 1, 1, true));
	EXPECT_EQ(0, map_alloc(&iovad, 1, 1, true));
	EXPECT_EQ(1, iovad.stats.ranges);
	map_free(&iovad, 1, 1);
	/* alloc_iova() may return it. */
	EXPECT_EQ(0, alloc_iova(&iovad, 2, 1, true)->pfn_lo);
	domain_end(&iovad);
}

TEST_F(tree, magazines_need_a_start_above_0)
{
	struct iova_domain iovad;

	domain_begin(&iovad, 0);
	sim_expect_warnings(true);
	EXPECT_EQ(-EINVAL, iova_domain_init_rcaches(&iovad));
	EXPECT_EQ(1, sim_warnings);
	EXPECT_EQ(NULL, iovad.rcache);
	domain_end(&iovad);
}

TEST_F(tree, space_from_0_with_the_top_taken)
{
	struct iova_domain iovad;

	/* A gap that is longer than any request. */
	domain_begin(&iovad, 0);
	iovad.granule = 1;
	ASSERT_NE(NULL, reserve_iova(&iovad, ~0UL - 20, ~0UL - 1));
	ASSERT_SOUND(&iovad);
	EXPECT_NE(NULL, alloc_iova(&iovad, IOVA_SIZE_MAX, ~0UL, true));
	EXPECT_EQ(NULL, alloc_iova(&iovad, IOVA_SIZE_MAX, ~0UL, true));
	domain_end(&iovad);
}

TEST_F(tree, resources_are_counted)
{
	EXPECT_EQ(0, iova_cache_get());
	EXPECT_EQ(0, iova_cache_get());
	iova_cache_put();
	EXPECT_NE(0, place(&self->iovad, 1, 100, true));
	iova_cache_put();
	EXPECT_NE(0, place(&self->iovad, 1, 100, true));
}

TEST(resources_put_once_too_often)
{
	sim_expect_warnings(true);
	iova_cache_put();
	EXPECT_EQ(1, sim_warnings);
	EXPECT_EQ(0, iova_cache_get());
	iova_cache_put();
	EXPECT_EQ(1, sim_warnings);
	EXPECT_EQ(0, sim_memory.live);
}

TEST_F(tree, granule_that_is_none)
{
	static const unsigned long granules[] = {
		0, 3, 4095, 2 * PAGE_SIZE, ~0UL
	};
	struct iova_domain iovad;
	unsigned int i;

	sim_expect_warnings(true);
	for (i = 0; i < ARRAY_SIZE(granules); i++) {
		init_iova_domain(&iovad, granules[i], 1);
		EXPECT_EQ(i + 1, sim_warnings);
		EXPECT_EQ(PAGE_SIZE, iovad.granule);
		put_iova_domain(&iovad);
	}
}

/* Case 21: the anchor is part of the domain, and not the slab's to free. */
TEST_F(tree, teardown_with_0_1_and_n_ranges)
{
	static const unsigned int numbers[] = { 0, 1, 2, 3, 1000 };
	unsigned int i, n, reserved;
	struct iova_domain iovad;
	long live = sim_memory.live;

	for (i = 0; i < 2 * ARRAY_SIZE(numbers); i++) {
		domain_begin(&iovad, 1);
		reserved = i % 2;
		if (reserved)
			ASSERT_NE(NULL, reserve_iova(&iovad, 3, 70));
		for (n = 0; n < numbers[i / 2]; n++)
			ASSERT_NE(0, place(&iovad, n % 7 + 1, ~0UL, n % 2));
		ASSERT_EQ(live + n + reserved, sim_memory.live);
		domain_end(&iovad);
		ASSERT_EQ(live, sim_memory.live);
	}
}

TEST_F(tree, teardown_of_a_domain_that_was_never_used)
{
	struct iova_domain iovad;

	domain_begin_cached(&iovad, 1);
	domain_end(&iovad);
}

/* Case 11: no shortcut is left that points at a freed range. */
TEST_F(tree, ranges_around_4_gib_freed_in_every_order)
{
	enum { NR = 5 };
	unsigned int order, i, n;

	for (order = 0; order < 120; order++) {
		struct iova *iova[NR];
		unsigned int left = order;

		/* Two above the line, one across it, two below. */
		for (i = 0; i < NR; i++) {
			iova[i] = alloc_iova(&self->iovad, 3, PFN_4G + 7, false);
			ASSERT_EQ(PFN_4G + 5 - 3 * i, iova[i]->pfn_lo);
		}
		for (n = NR; n; n--) {
			i = left % n;
			left /= n;
			__free_iova(&self->iovad, iova[i]);
			iova[i] = iova[n - 1];
			ASSERT_SOUND(&self->iovad);
			/* Whatever is cached of the tree is used at once. */
			EXPECT_NE(0, place(&self->iovad, 1, PFN_4G - 1, true));
			EXPECT_NE(0, place(&self->iovad, 1, PFN_4G + 7, true));
			EXPECT_NE(0, place(&self->iovad, 1, ~0UL, true));
		}
		put_iova_domain(&self->iovad);
		domain_begin(&self->iovad, 1);
	}
}

TEST_HARNESS_MAIN
