// SPDX-License-Identifier: GPL-2.0-only
/*
 * No memory: at each point in turn, and for good.
 */
#include "fq-world.h"
#include "test.h"

#define NR	4000

static unsigned long pfn[NR];

static unsigned long strict(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < fq_unit.nr; i++)
		sum += fq_unit.domain[i].strict;
	return sum;
}

/* Rings come, grow, wrap, shrink; returns how often memory was asked for. */
static unsigned long script(unsigned long fail_at)
{
	unsigned long calls;
	unsigned int i;

	fq_begin(3, 2, true);
	for (i = 0; i < NR; i++) {
		pfn[i] = fq_map(i % 2, 1 + i % 3);
		sim_check(pfn[i], "%u", i);
	}
	calls = sim_memory.calls;
	sim_memory.fail_at = fail_at ? calls + fail_at : 0;
	for (i = 0; i < NR; i++) {
		sim_cpu = i / 700 % 3;
		fq_unmap(i % 2, pfn[i], 1 + i % 3, i % 5 == 0);
		if (i % 1000 == 999)
			sim_advance(30);
	}
	calls = sim_memory.calls - calls;
	sim_check(strict() <= (fail_at != 0), "%lu strict", strict());
	sim_check(sim_memory.failed <= 1, "%lu", sim_memory.failed);
	fq_end();
	return calls;
}

TEST(each_allocation_fails_in_turn)
{
	unsigned long points = script(0), k;

	/* 3 rings, and a block for each 64 entries. */
	EXPECT_LT(NR / IOMMU_FQ_BLOCK / 4, points);
	for (k = 1; k <= points; k++)
		script(k);
	TH_LOG("%lu points of failure", points);
}

TEST(without_memory_all_is_strict)
{
	unsigned int i;

	fq_begin(2, 2, true);
	for (i = 0; i < NR; i++)
		pfn[i] = fq_map(i % 2, 1);
	sim_memory.fail_from = 1;
	for (i = 0; i < NR; i++) {
		sim_cpu = i % 2;
		fq_unmap(i % 2, pfn[i], 1, 1);
		ASSERT_EQ(0, fq_uncovered);
	}
	EXPECT_EQ(NR, strict());
	EXPECT_EQ(0, fq_unit.pages);
	sim_memory.fail_from = 0;
	fq_unmap(0, fq_map(0, 1), 1, 1);
	EXPECT_EQ(1, fq_uncovered);
	fq_end();
}

/* What has its place already does not lose it. */
TEST(a_ring_that_cannot_grow_goes_on)
{
	unsigned int i;

	fq_begin(1, 2, true);
	for (i = 0; i < NR; i++)
		pfn[i] = fq_map(i % 2, 1);
	for (i = 0; i < NR; i++) {
		sim_memory.fail_from = i ? 1 : 0;
		fq_unmap(i % 2, pfn[i], 1, 1);
	}
	/* One block for all, and a flush each time that it is full. */
	EXPECT_LT(0, strict());
	EXPECT_GT(NR / 10, strict());
	sim_memory.fail_from = 0;
	fq_end();
}

TEST(a_queue_that_cannot_be_made)
{
	sim_set_cpus(4);
	sim_memory = (struct sim_memory) { .fail_from = 1 };
	EXPECT_EQ(NULL, iommu_fq_alloc(NULL, NULL, false));
	EXPECT_EQ(NULL, iommu_fq_alloc(NULL, NULL, true));
	EXPECT_EQ(0, sim_memory.live);
	iommu_fq_put(NULL);
}

TEST_HARNESS_MAIN
