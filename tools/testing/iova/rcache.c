// SPDX-License-Identifier: GPL-2.0-only
/*
 * Magazines and depots.
 */
#include "test.h"

/* How often a free found no room and gave a batch back to the tree. */
extern unsigned long sim_trace_iova_class_spill;

#define TOP_PFN		(SHADOW_PFNS - 1)
#define MAX_LIVE	200000

static struct {
	struct iova_domain iovad;
	struct iova_rcache *rcache;
	unsigned long *live;
	unsigned int nr;
} t;

FIXTURE(rcache) {
};

FIXTURE_SETUP(rcache)
{
	world_begin(4);
	domain_begin_cached(&t.iovad, 1);
	t.rcache = t.iovad.rcache;
	t.live = calloc(MAX_LIVE, sizeof(*t.live));
	ASSERT_NE(NULL, t.live);
	/* All classes are open, unless a test says otherwise. */
	ASSERT_EQ(0, iova_domain_set_cached_range(&t.iovad,
						  iova_rcache_range_max()));
}

FIXTURE_TEARDOWN(rcache)
{
	domain_end(&t.iovad);
	world_end();
	free(t.live);
}

static void take(unsigned int nr, unsigned long pages)
{
	while (nr--) {
		unsigned long pfn = map_alloc(&t.iovad, pages, TOP_PFN, false);

		sim_check(pfn && t.nr < MAX_LIVE, "%u live", t.nr);
		t.live[t.nr++] = pfn;
	}
}

/* Free all, the oldest first; let ordered magazines arrive now and then. */
static void give(unsigned long pages, unsigned int pause)
{
	unsigned int i;

	for (i = 0; i < t.nr; i++) {
		map_free(&t.iovad, t.live[i], pages);
		if (pause && i % pause == 0)
			sim_run_work();
	}
	t.nr = 0;
}

static unsigned long tree_locks(void)
{
	return t.iovad.iova_rbtree_lock.acquired;
}

static unsigned long parked(unsigned int cpu, unsigned int order)
{
	return class_parked(t.rcache->cpu[cpu], order);
}

TEST_F(rcache, second_allocation_does_not_leave_the_cpu)
{
	unsigned long pfn = map_alloc(&t.iovad, 1, TOP_PFN, true), locks;

	ASSERT_NE(0, pfn);
	map_free(&t.iovad, pfn, 1);
	locks = tree_locks();
	EXPECT_EQ(pfn, map_alloc(&t.iovad, 1, TOP_PFN, true));
	EXPECT_EQ(locks, tree_locks());
	EXPECT_EQ(0, t.rcache->depot[0].lock.acquired);
	EXPECT_EQ(1, domain_stats(&t.iovad)->class[0].hits);
	EXPECT_EQ(1, domain_stats(&t.iovad)->class[0].misses);
	map_free(&t.iovad, pfn, 1);
}

/* Case 20: what an idle domain costs, whatever the cached range. */
TEST_F(rcache, idle_domain_costs_an_array_of_pointers)
{
	struct iova_domain idle;
	unsigned long bytes = sim_memory.bytes, live = sim_memory.live;

	domain_begin_cached(&idle, 1);
	EXPECT_EQ(live + 2, sim_memory.live);
	if (SIM_EXACT_BYTES)
		EXPECT_EQ(domain_stats(&idle)->bytes, sim_memory.bytes - bytes);
	bytes = sim_memory.bytes;
	EXPECT_EQ(0, iova_domain_set_cached_range(&idle,
						  iova_rcache_range_max()));
	EXPECT_EQ(0, iova_domain_set_cached_range(&idle, 0));
	EXPECT_EQ(bytes, sim_memory.bytes);
	EXPECT_FALSE(sim_work_pending());
	domain_end(&idle);
}

TEST_F(rcache, a_class_is_paid_for_where_it_is_used)
{
	const struct iova_domain_stats *stats;
	unsigned long bytes = sim_memory.bytes, live = sim_memory.live;
	unsigned int i;

	sim_cpu = 2;
	take(1, 8);
	for (i = 0; i < nr_cpu_ids; i++)
		EXPECT_EQ(i == 2, !!t.rcache->cpu[i]);
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		EXPECT_EQ(i == 3, !!t.rcache->cpu[2]->loaded[i]);
	stats = domain_stats(&t.iovad);
	EXPECT_EQ(1, stats->cpus);
	/* The part of a CPU, a magazine, a range, and nothing else. */
	EXPECT_EQ(live + 3, sim_memory.live);
	live = sizeof(struct iova_cpu_rcache) + sizeof(struct iova_mag) +
	       IOVA_MAG_MIN * sizeof(long) + sizeof(struct iova);
	if (SIM_EXACT_BYTES)
		EXPECT_EQ(live, sim_memory.bytes - bytes);
	give(8, 0);
}

TEST_F(rcache, frees_on_a_fresh_cpu_allocate_nothing)
{
	unsigned int i;

	take(200, 1);
	sim_cpu = 3;
	/* The first goes to the tree, and asks for more the next time. */
	for (i = 0; i < 100; i++)
		map_free(&t.iovad, t.live[--t.nr], 1);
	EXPECT_EQ(NULL, t.rcache->cpu[3]);
	sim_run_work();
	ASSERT_NE(NULL, t.rcache->cpu[3]);
	ASSERT_SOUND(&t.iovad);
	map_free(&t.iovad, t.live[--t.nr], 1);
	EXPECT_EQ(0, parked(3, 0));
	sim_run_work();
	map_free(&t.iovad, t.live[--t.nr], 1);
	EXPECT_EQ(1, parked(3, 0));
	give(1, 10);
	EXPECT_LT(16, parked(3, 0));
}

TEST_F(rcache, two_who_make_one_cpus_part_agree)
{
	struct iova_cpu_rcache *part;
	long live = sim_memory.live;

	part = iova_cpu_rcache_create(t.rcache, 1, GFP_KERNEL);
	ASSERT_NE(NULL, part);
	EXPECT_EQ(part, iova_cpu_rcache_create(t.rcache, 1, GFP_KERNEL));
	EXPECT_EQ(live + 1, sim_memory.live);
}

/* The task that has taken a batch from the tree finds itself elsewhere. */
static void migrate(bool off)
{
	if (!off)
		sim_cpu = 3;
}

TEST_F(rcache, task_that_migrates_in_a_miss)
{
	unsigned int i;

	/* So that the next miss takes a whole batch. */
	take(200, 1);
	for (i = 0; i < 20; i++) {
		sim_cpu = 0;
		take(parked(0, 0), 1);
		sim_locks.irqs_hook = migrate;
		take(1, 1);
		sim_locks.irqs_hook = NULL;
		ASSERT_SOUND(&t.iovad);
		ASSERT_EQ(t.nr + domain_parked(&t.iovad),
			  t.iovad.stats.ranges);
	}
	give(1, 10);
}

TEST_F(rcache, cached_ranges_are_whole)
{
	unsigned long pages, pfn, longest = 1UL << t.rcache->order;

	for (pages = 1; pages <= longest; pages++) {
		pfn = map_alloc(&t.iovad, pages, TOP_PFN, true);
		ASSERT_EQ(roundup_pow_of_two(pages),
			  iova_size(find_iova(&t.iovad, pfn)));
		map_free(&t.iovad, pfn, pages);
	}
	pfn = map_alloc(&t.iovad, longest + 1, TOP_PFN, true);
	EXPECT_EQ(longest + 1, iova_size(find_iova(&t.iovad, pfn)));
	map_free(&t.iovad, pfn, longest + 1);
	EXPECT_EQ(NULL, find_iova(&t.iovad, pfn));
}

/* Magazines and depot full of high addresses must not answer for low ones. */
TEST_F(rcache, limit_holds_at_every_size)
{
	unsigned int order, i;

	for (order = 0; order <= t.rcache->order_max; order++) {
		unsigned long pages = 1UL << order, limit, pfn;

		take(3000 >> order / 2, pages);
		give(pages, 20);
		ASSERT_NE(0, domain_parked(&t.iovad));
		for (i = 0; i < 300; i++) {
			limit = sim_random_below(1UL << (i % 26));
			limit += 2 * pages - 1;
			pfn = map_alloc(&t.iovad, pages, limit, false) ?:
			      map_alloc(&t.iovad, pages, limit, true);
			/* Low and high ones come to lie side by side. */
			if (pfn)
				map_free(&t.iovad, pfn, pages);
			else
				ASSERT_EQ(0, domain_parked(&t.iovad));
			if (i % 3 == 0)
				take(1, pages);
		}
		give(pages, 20);
		ASSERT_SOUND(&t.iovad);
		domain_reclaim(&t.iovad);
	}
	EXPECT_EQ(0, t.iovad.stats.ranges);
}

TEST_F(rcache, limit_near_zero)
{
	unsigned int order;

	for (order = 0; order <= t.rcache->order_max; order++) {
		unsigned long pages = 1UL << order, limit, pfn;

		take(40, pages);
		give(pages, 1);
		for (limit = 0; limit < 3 * pages; limit += 1 + pages / 16) {
			/* The place at 0 is below start_pfn. */
			bool fits = limit >= 2 * pages - 1;

			if (pages == 1)
				fits = limit >= 1;
			pfn = map_alloc(&t.iovad, pages, limit, true);
			ASSERT_EQ(fits, !!pfn) {
				TH_LOG("%lu pages, limit %lu", pages, limit);
			}
			if (pfn)
				map_free(&t.iovad, pfn, pages);
		}
	}
}

TEST_F(rcache, limit_near_the_top)
{
	struct iova_domain *iovad = &t.iovad;
	unsigned int order;

	for (order = 0; order <= t.rcache->order_max; order++) {
		unsigned long pages = 1UL << order, last, pfn, other;

		pfn = alloc_iova_fast(iovad, pages, ~0UL, true);
		last = pfn + pages - 1;
		ASSERT_LT(last, ~0UL);
		free_iova_fast(iovad, pfn, pages);
		/* Parked, and out of reach by one page. */
		other = alloc_iova_fast(iovad, pages, last - 1, true);
		ASSERT_LT(other, pfn);
		free_iova_fast(iovad, other, pages);
		pfn = alloc_iova_fast(iovad, pages, last, true);
		ASSERT_LE(pfn + pages - 1, last);
		free_iova_fast(iovad, pfn, pages);
		ASSERT_EQ(pfn, alloc_iova_fast(iovad, pages, ~0UL, true));
		free_iova_fast(iovad, pfn, pages);
	}
}

/* R4, by bytes, for each class. */
TEST_F(rcache, what_a_cpu_parks_is_bounded)
{
	unsigned int order;

	for (order = 0; order <= t.rcache->order_max; order++) {
		unsigned long pages = 1UL << order, bytes, bound;

		take(40000 >> order, pages);
		give(pages, 4);
		take(40000 >> order, pages);
		give(pages, 4);
		ASSERT_SOUND(&t.iovad);
		bytes = parked(0, order) * pages * PAGE_SIZE;
		bound = 2 * max(pages * PAGE_SIZE, (unsigned long)IOVA_MAG_BYTES);
		TH_LOG("order %u: %lu KiB of %lu", order, bytes / 1024,
		       bound / 1024);
		ASSERT_LE(bytes, bound);
		ASSERT_NE(0, bytes);
	}
}

TEST_F(rcache, magazines_grow_where_the_lock_is_contended)
{
	struct iova_depot *depot = &t.rcache->depot[0];
	unsigned int i;

	EXPECT_EQ(IOVA_MAG_MIN, depot->cap);
	/* Fewer trips than make a class grow by themselves. */
	for (i = 0; i < 4; i++) {
		take(100, 1);
		sim_locks.contended = IOVA_GROW_CONTENDED;
		give(1, 50);
		sim_locks.contended = 0;
	}
	EXPECT_LT(IOVA_MAG_MIN, depot->cap);
	EXPECT_LE(depot->cap, IOVA_MAG_MAX);
	ASSERT_SOUND(&t.iovad);
}

TEST_F(rcache, magazines_do_not_grow_in_peace)
{
	unsigned int i;

	for (i = 0; i < 100; i++) {
		take(100, 1);
		give(1, 50);
		/* Before a rest starts them over. */
		ASSERT_EQ(IOVA_MAG_MIN, t.rcache->depot[0].cap);
		sim_advance(100);
	}
}

TEST_F(rcache, magazines_start_over_after_a_rest)
{
	struct iova_depot *depot = &t.rcache->depot[0];

	take(20000, 1);
	give(1, 10);
	take(20000, 1);
	give(1, 10);
	EXPECT_EQ(IOVA_MAG_MAX, depot->cap);
	sim_advance(100000);
	EXPECT_EQ(IOVA_MAG_MIN, depot->cap);
	take(1000, 1);
	give(1, 10);
	ASSERT_SOUND(&t.iovad);
}

/* The depots of an idle domain melt, in small steps, down to nothing. */
TEST_F(rcache, depot_melts_in_small_steps)
{
	struct iova_depot *depot = &t.rcache->depot[0];
	unsigned long full, locks, trimmed, ranges;
	unsigned int steps = 0;

	take(100000, 1);
	give(1, 1);
	ASSERT_LT(2 * IOVA_TRIM_MAX, depot->nr_full);
	locks = t.iovad.stats.locks;
	trimmed = t.iovad.stats.trim_locks;
	do {
		full = depot->nr_full;
		ranges = t.iovad.stats.ranges;
		ASSERT_EQ(1, sim_advance(100));
		ASSERT_LE(full - depot->nr_full, IOVA_TRIM_MAX);
		ASSERT_LE(ranges - t.iovad.stats.ranges,
			  IOVA_TRIM_MAX * IOVA_MAG_MAX);
		ASSERT_SOUND(&t.iovad);
		ASSERT_LT(steps++, 60);
	} while (sim_work_pending());
	TH_LOG("%u steps", steps);
	EXPECT_EQ(NULL, depot->full);
	EXPECT_EQ(NULL, depot->empty);
	/* Counted apart. */
	EXPECT_EQ(locks, t.iovad.stats.locks);
	EXPECT_LT(trimmed, t.iovad.stats.trim_locks);
	EXPECT_EQ(tree_locks() - steps,
		  locks + t.iovad.stats.trim_locks) {
		TH_LOG("one is this test's own a step");
	}
	/* What is left is in the CPU's two magazines. */
	EXPECT_EQ(parked(0, 0), t.iovad.stats.ranges);
}

TEST_F(rcache, supply_is_what_was_missing_and_bounded)
{
	struct iova_depot *depot = &t.rcache->depot[0];
	unsigned long locks, missing;

	take(100, 1);
	locks = sim_trace_iova_class_spill;
	give(1, 0);
	locks = sim_trace_iova_class_spill - locks;
	EXPECT_LT(0, locks);
	missing = locks * IOVA_BATCH + IOVA_RESERVE_MIN * depot->cap;
	EXPECT_EQ(missing, depot->wanted);
	sim_run_work();
	EXPECT_EQ(DIV_ROUND_UP(missing, depot->cap), depot->nr_empty);
	EXPECT_EQ(0, depot->wanted);

	take(50000, 1);
	give(1, 0);
	EXPECT_LT(IOVA_SUPPLY_MAX, depot->wanted);
	ASSERT_EQ(NULL, depot->empty);
	locks = tree_locks();
	sim_run_work();
	EXPECT_EQ(DIV_ROUND_UP(IOVA_SUPPLY_MAX, depot->cap), depot->nr_empty);
	EXPECT_EQ(locks, tree_locks());
}

TEST_F(rcache, counters_agree_with_the_locks)
{
	const struct iova_domain_stats *stats;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		sim_cpu = i % 4;
		take(500, 1);
		sim_cpu = (i + 1) % 4;
		give(1, 20);
		sim_advance(30);
	}
	take(77, 1);
	stats = domain_stats(&t.iovad);
	EXPECT_EQ(stats->tree.ranges, domain_parked(&t.iovad) + 77);
	EXPECT_EQ(stats->class[0].hits + stats->class[0].misses, 20 * 500 + 77);
	EXPECT_LE(stats->class[0].depot_locks,
		  t.rcache->depot[0].lock.acquired);
	EXPECT_NE(0, stats->class[0].depot_locks);
	give(1, 0);
}

/* Case 5: whatever the caches hold, all memory comes back at once. */
TEST_F(rcache, teardown_with_empty_half_and_full_depots)
{
	unsigned int round;

	for (round = 0; round < 500; round++) {
		sim_seed = round + 1;
		sim_cpu = sim_random_below(4);
		take(sim_random_below(600), 1UL << round % 11);
		sim_cpu = sim_random_below(4);
		give(1UL << round % 11, sim_random_below(60));
		if (round % 3 == 0)
			sim_advance(sim_random_below(1000));
		domain_end(&t.iovad);
		/* One object is left: the slab cache itself. */
		ASSERT_EQ(1, sim_memory.live);
		ASSERT_FALSE(sim_work_pending());
		domain_begin_cached(&t.iovad, 1);
		t.rcache = t.iovad.rcache;
		iova_domain_set_cached_range(&t.iovad,
					     iova_rcache_range_max());
	}
}

/* The order that iova-internal.h documents, as far as it was ever taken. */
TEST_F(rcache, lock_order_is_the_documented_one)
{
	static const char *const allowed[][2] = {
		{ "iova_rcache_mutex", "&new->lock" },
		{ "iova_rcache_mutex", "&depot->lock" },
		{ "iova_rcache_mutex", "&iovad->iova_rbtree_lock" },
		{ "&new->lock", "&depot->lock" },
	};
	const char *outer, *inner;
	unsigned int i, n;

	for (i = 0; i < 20; i++) {
		sim_cpu = i % 4;
		take(2000, 1);
		sim_cpu = (i + 1) % 4;
		give(1, 20);
		sim_advance(30);
	}
	domain_reclaim(&t.iovad);
	take(2000, 1);
	give(1, 20);
	sim_cpu = 0;
	sim_cpu_down(1);
	sim_cpu_up(1);
	iova_domain_set_cached_range(&t.iovad, 0);
	for (n = 0; sim_lock_order(n, &outer, &inner); n++) {
		for (i = 0; i < ARRAY_SIZE(allowed); i++) {
			if (!strcmp(outer, allowed[i][0]) &&
			    !strcmp(inner, allowed[i][1]))
				break;
		}
		EXPECT_LT(i, ARRAY_SIZE(allowed)) {
			TH_LOG("%s inside %s", inner, outer);
		}
	}
	EXPECT_LE(2, n);
}

TEST_HARNESS_MAIN
