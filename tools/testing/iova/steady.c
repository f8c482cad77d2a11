// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a steady load costs once it is warm, in counts.
 */
#include "test.h"
#include "workload.h"

/* How often a free found no room and gave a batch back to the tree. */
extern unsigned long sim_trace_iova_class_spill;

FIXTURE(steady) {
	struct iova_domain iovad;
};

FIXTURE_VARIANT(steady) {
	const char *name;
};

FIXTURE_VARIANT_ADD(steady, lifo_4k) { .name = "lifo-4k" };
FIXTURE_VARIANT_ADD(steady, burst_4k) { .name = "burst-4k" };
FIXTURE_VARIANT_ADD(steady, burst_mixed) { .name = "burst-mixed" };
FIXTURE_VARIANT_ADD(steady, cross_4k) { .name = "cross-4k" };
FIXTURE_VARIANT_ADD(steady, cross_mixed) { .name = "cross-mixed" };
FIXTURE_VARIANT_ADD(steady, lifo_256k) { .name = "lifo-256k" };
FIXTURE_VARIANT_ADD(steady, cross_256k) { .name = "cross-256k" };
FIXTURE_VARIANT_ADD(steady, cross_1m) { .name = "cross-1m" };

FIXTURE_SETUP(steady)
{
	world_begin(4);
	domain_begin_cached(&self->iovad, 1);
}

FIXTURE_TEARDOWN(steady)
{
	domain_end(&self->iovad);
	world_end();
}

TEST_F(steady, tree_lock_is_not_taken)
{
	const struct workload *workload = workload_named(variant->name);
	unsigned long chunks = SCALE(1000000, 100000000) / WORKLOAD_CHUNK;
	struct iova_tree_stats *stats = &self->iovad.stats;
	unsigned long locks, trims, depot = 0, calls, i;

	ASSERT_NE(NULL, workload);
	ASSERT_EQ(0, iova_domain_set_cached_range(&self->iovad,
						  workload->range));
	workload_run(workload, &self->iovad, 1000);
	locks = stats->locks;
	trims = stats->trim_locks;
	calls = sim_memory.calls;
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		depot -= self->iovad.rcache->depot[i].locks;

	workload_run(workload, &self->iovad, chunks);
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		depot += self->iovad.rcache->depot[i].locks;
	TH_LOG("%s, a million pairs: %lu tree locks, %lu trims, %lu depot locks, %lu allocations",
	       variant->name, stats->locks - locks, stats->trim_locks - trims, depot,
	       sim_memory.calls - calls);
	EXPECT_EQ(0, stats->locks - locks);
	/* Nor is there anything to trim, or to order. */
	EXPECT_EQ(0, stats->trim_locks - trims);
	EXPECT_EQ(0, sim_memory.calls - calls);
}

/* One size at a time, from CPU 0; freed there or on CPU 1, 64 in flight. */
static unsigned long locks_of(unsigned long pages, unsigned int to)
{
	static unsigned long pfn[64];
	struct iova_domain iovad;
	unsigned long locks = 0;
	unsigned int round, i;

	world_begin(2);
	domain_begin_cached(&iovad, 1);
	sim_check(!iova_domain_set_cached_range(&iovad, SZ_1M), "no knob");
	for (round = 0; round < 700; round++) {
		if (round == 200)
			locks = iovad.stats.locks;
		sim_cpu = 0;
		for (i = 0; i < ARRAY_SIZE(pfn); i++)
			pfn[i] = alloc_iova_fast(&iovad, pages, WORKLOAD_LIMIT, true);
		sim_cpu = to;
		while (i--)
			free_iova_fast(&iovad, pfn[i], pages);
		sim_advance(1);
	}
	locks = iovad.stats.locks - locks;
	domain_end(&iovad);
	world_end();
	return locks;
}

/* Each class, by its own size and by sizes that are rounded up to it. */
TEST(any_cached_size_leaves_the_tree_alone)
{
	static const unsigned long sizes[] = {
		1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 64, 100, 128, 192, 200, 256,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(0, locks_of(sizes[i], 0))
			TH_LOG("%lu pages, same CPU", sizes[i]);
		EXPECT_EQ(0, locks_of(sizes[i], 1))
			TH_LOG("%lu pages, freed on another", sizes[i]);
	}
}

/*
 * Case 2, with a flush queue: where demand is random, the most that is in use at
 * once grows now and then. That takes ranges from the tree; nothing else does,
 * and nothing goes back.
 */
FIXTURE(queued) {
	struct iova_domain iovad;
};

FIXTURE_VARIANT(queued) {
	const char *name;
};

FIXTURE_VARIANT_ADD(queued, timed_4k) { .name = "timed-4k" };
FIXTURE_VARIANT_ADD(queued, timed_256k) { .name = "timed-256k" };
FIXTURE_VARIANT_ADD(queued, timed_1m) { .name = "timed-1m" };

FIXTURE_SETUP(queued)
{
	world_begin(4);
	domain_begin_cached(&self->iovad, 1);
}

FIXTURE_TEARDOWN(queued)
{
	domain_end(&self->iovad);
	world_end();
}

TEST_F(queued, tree_is_left_alone)
{
	const struct workload *workload = workload_named(variant->name);
	unsigned long chunks = SCALE(1000000, 100000000) / WORKLOAD_CHUNK;
	struct iova_tree_stats *stats = &self->iovad.stats;
	unsigned long locks, trims, spills, ranges;

	ASSERT_NE(NULL, workload);
	ASSERT_EQ(0, iova_domain_set_cached_range(&self->iovad,
						  workload->range));
	workload_run(workload, &self->iovad, 1000);
	locks = stats->locks;
	trims = stats->trim_locks;
	ranges = stats->ranges;
	spills = sim_trace_iova_class_spill;

	workload_run(workload, &self->iovad, chunks);
	TH_LOG("%s, %lu pairs: %lu tree locks, %lu trims, %lu ranges more",
	       variant->name, chunks * WORKLOAD_CHUNK, stats->locks - locks,
	       stats->trim_locks - trims, stats->ranges - ranges);
	EXPECT_LE(stats->locks - locks, 20);
	EXPECT_LE(stats->locks - locks, stats->ranges - ranges);
	EXPECT_EQ(0, stats->trim_locks - trims);
	EXPECT_EQ(0, sim_trace_iova_class_spill - spills);
}

TEST_HARNESS_MAIN
