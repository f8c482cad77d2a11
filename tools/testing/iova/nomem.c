// SPDX-License-Identifier: GPL-2.0-only
/*
 * No memory: once, at each point in turn, and for good.
 */
#include "ops.h"
#include "test.h"

#define TOP_PFN	(PFN_4G - 1)
#define NR	5000

/* Parts of scripts of ops.h. */
#define CROSS		"3:0b  b  b  b  b  b  c10g?0w00g?0w00g?0g?0w00c00b  "
#define ODD_ONES	"a 0a$0a40a80"

/* Every allocation of a good script fails in turn; the rest goes on. */
static void fail_nth(struct __test_metadata *_metadata, const char *name,
		     const char *script)
{
	struct ops_result good, bad;
	size_t len = strlen(script);
	unsigned long k;

	ops_fail_at = 0;
	good = ops_run((const u8 *)script, len, 1);
	ASSERT_LT(0, good.allocated);
	for (k = 1; ; k++) {
		ops_fail_at = k;
		bad = ops_run((const u8 *)script, len, 1);
		if (!bad.failed)
			break;
		ASSERT_EQ(1, bad.failed);
		ASSERT_EQ(good.done, bad.done);
	}
	TH_LOG("%s: %lu points of failure", name, k - 1);
	ASSERT_LT(3, k);
	ops_fail_at = 0;
}

TEST(fail_nth_one_page)
{
	fail_nth(_metadata, "one page", "0:0a 0f00a 0a 0f00f00");
}

/* Allocate on one CPU, free on another, with orders and trims. */
TEST(fail_nth_many_magazines)
{
	fail_nth(_metadata, "many magazines", CROSS
		 "b  b  b  c10g?0w00g?0w00g?0w00p~0p~0");
}

/* Odd sizes before, whole ones after, and back. */
TEST(fail_nth_cached_range)
{
	fail_nth(_metadata, "cached range", "1:0" ODD_ONES "K80" ODD_ONES
		 "f00f00q00f00f00Q00K50" ODD_ONES "f00f00f00f00");
}

TEST(fail_nth_reclaim_and_hotplug)
{
	fail_nth(_metadata, "reclaim and hotplug", CROSS
		 "o10A?~A?~A?~o10c10A0~f00f00i00");
}

FIXTURE(nomem) {
	struct iova_domain iovad;
	unsigned long pfn[NR];
	unsigned long pages[NR];
};

FIXTURE_SETUP(nomem)
{
	world_begin(4);
	domain_begin_cached(&self->iovad, 1);
}

FIXTURE_TEARDOWN(nomem)
{
	domain_end(&self->iovad);
	world_end();
}

static void whole_space_is_there(struct iova_domain *iovad)
{
	struct iova *all;

	domain_reclaim(iovad);
	sim_check(!iovad->stats.ranges, "%lu ranges", iovad->stats.ranges);
	sim_memory.fail_from = 0;
	all = alloc_iova(iovad, TOP_PFN, TOP_PFN, false);
	sim_check(all, "the space is not whole");
	__free_iova(iovad, all);
}

/* Case 6. */
TEST_F(nomem, every_free_works_without_memory)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long calls;
	unsigned int i;

	for (i = 0; i < NR; i++) {
		sim_cpu = i % 2;
		self->pages[i] = 1 + i % 70;
		self->pfn[i] = map_alloc(iovad, self->pages[i], TOP_PFN, true);
		ASSERT_NE(0, self->pfn[i]);
	}
	sim_memory.fail_from = 1;
	for (i = 0; i < NR; i++) {
		/* On CPUs that have allocated, and on others. */
		sim_cpu = i % 4;
		calls = sim_memory.calls;
		map_free(iovad, self->pfn[i], self->pages[i]);
		ASSERT_EQ(calls, sim_memory.calls);
		if (i % 64 == 0)
			sim_advance(10);
	}
	ASSERT_SOUND(iovad);
	calls = sim_memory.calls;
	iova_domain_set_cached_range(iovad, PAGE_SIZE);
	iova_domain_set_cached_range(iovad, SZ_4M);
	sim_cpu = 0;
	sim_cpu_down(1);
	sim_cpu_up(1);
	ASSERT_EQ(calls, sim_memory.calls);
	whole_space_is_there(iovad);
}

TEST_F(nomem, allocations_fail_cleanly_and_recover)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long pages, pfn, ranges;

	for (pages = 1; pages < 100; pages++) {
		ranges = iovad->stats.ranges - domain_parked(iovad);
		sim_memory.fail_from = 1;
		ASSERT_EQ(0, map_alloc(iovad, pages, TOP_PFN, false));
		ASSERT_EQ(0, map_alloc(iovad, pages, TOP_PFN, true));
		ASSERT_EQ(NULL, alloc_iova(iovad, pages, TOP_PFN, true));
		ASSERT_EQ(ranges, iovad->stats.ranges - domain_parked(iovad));
		ASSERT_SOUND(iovad);
		sim_memory.fail_from = 0;
		pfn = map_alloc(iovad, pages, TOP_PFN, false);
		ASSERT_NE(0, pfn);
		map_free(iovad, pfn, pages);
		domain_reclaim(iovad);
	}
}

/* What is parked can be had without memory. */
TEST_F(nomem, magazines_serve_without_memory)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned int i, got = 0;

	for (i = 0; i < 20; i++)
		self->pfn[i] = map_alloc(iovad, 1, TOP_PFN, true);
	while (i--)
		map_free(iovad, self->pfn[i], 1);
	sim_memory.fail_from = 1;
	while ((self->pfn[got] = map_alloc(iovad, 1, TOP_PFN, false)))
		got++;
	EXPECT_LE(20, got);
	while (got--)
		map_free(iovad, self->pfn[got], 1);
}

TEST(set_up_fails_at_each_point)
{
	struct iova_domain iovad;
	unsigned int k;

	sim_set_cpus(4);
	for (k = 1; ; k++) {
		int err;

		sim_memory = (struct sim_memory) { .fail_at = k };
		err = iova_cache_get();
		if (!err)
			break;
		ASSERT_EQ(-ENOMEM, err);
		ASSERT_EQ(0, sim_memory.live);
	}
	EXPECT_LT(2, k);
	init_iova_domain(&iovad, PAGE_SIZE, 1);
	for (k = 1; ; k++) {
		long live = sim_memory.live;
		int err;

		sim_memory.fail_at = sim_memory.calls + k;
		err = iova_domain_init_rcaches(&iovad);
		if (!err)
			break;
		ASSERT_EQ(-ENOMEM, err);
		ASSERT_EQ(NULL, iovad.rcache);
		ASSERT_EQ(live, sim_memory.live);
	}
	EXPECT_LT(2, k);
	put_iova_domain(&iovad);
	iova_cache_put();
	EXPECT_EQ(0, sim_memory.live);
}

TEST_HARNESS_MAIN
