// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the IOVA allocator: the range tree against the oracle, the
 * caches by their counters, and the cached range against a shadow map.
 *
 *	./tools/testing/kunit/kunit.py run --kunitconfig=drivers/iommu
 *
 * Nothing here looks at the clock. Random sequences come from fixed seeds, and a
 * failure names the seed and the step.
 */
#include <kunit/test.h>
#include <linux/dma-mapping.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "iova-internal.h"

/* Pages of the address space that the random tests crowd. */
#define SPACE		BIT(14)
/* Highest pfn of a device that drives 32 address lines. */
#define LIMIT_32BIT	((unsigned long)DMA_BIT_MASK(32) >> ilog2(SZ_4K))

/**
 * struct iova_kunit - what each test gets
 * @iovad: domain with 4 KiB pages from pfn 1, with caches
 */
struct iova_kunit {
	struct iova_domain	iovad;
};

static int iova_kunit_init(struct kunit *test)
{
	struct iova_kunit *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int err;

	if (!t)
		return -ENOMEM;
	err = iova_cache_get();
	if (err)
		return err;

	init_iova_domain(&t->iovad, SZ_4K, 1);
	err = iova_domain_init_rcaches(&t->iovad);
	if (err) {
		iova_cache_put();
		return err;
	}
	test->priv = t;
	return 0;
}

static void iova_kunit_exit(struct kunit *test)
{
	struct iova_kunit *t = test->priv;

	if (!t)
		return;
	put_iova_domain(&t->iovad);
	iova_cache_put();
}

static struct iova_domain *iovad_of(struct kunit *test)
{
	return &((struct iova_kunit *)test->priv)->iovad;
}

static unsigned long random_below(struct rnd_state *rnd, unsigned long n)
{
	return prandom_u32_state(rnd) % n;
}

static void expect_valid(struct kunit *test, struct iova_domain *iovad)
{
	const char *wrong;

	spin_lock_irq(&iovad->iova_rbtree_lock);
	wrong = iova_tree_validate(iovad);
	spin_unlock_irq(&iovad->iova_rbtree_lock);
	if (wrong)
		KUNIT_FAIL(test, "%s", wrong);
}

static struct iova_tree_stats tree_stats(struct iova_domain *iovad)
{
	struct iova_tree_stats stats;

	spin_lock_irq(&iovad->iova_rbtree_lock);
	stats = iovad->stats;
	spin_unlock_irq(&iovad->iova_rbtree_lock);
	return stats;
}

/* Give back what is parked; what is left live is what the test has leaked. */
static unsigned long ranges_unparked(struct iova_domain *iovad)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned int i;

	/* Background work may have ranges in its hands. */
	cancel_work_sync(&rcache->supply);
	cancel_delayed_work_sync(&rcache->trim);
	for (i = 0; i < nr_cpu_ids; i++)
		iova_cpu_rcache_drain(rcache, i, 0, true);
	for (i = 0; i <= rcache->order_max; i++) {
		while (iova_depot_drain(rcache, i))
			;
	}
	return tree_stats(iovad).ranges;
}

/* ---- the range tree ---- */

static void tree_limits(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	struct iova *iova;

	KUNIT_EXPECT_NULL(test, alloc_iova(iovad, 0, ~0UL, true));
	KUNIT_EXPECT_NULL(test, alloc_iova(iovad, IOVA_SIZE_MAX + 1, ~0UL, 0));
	/* Below start_pfn, and around it. */
	KUNIT_EXPECT_NULL(test, alloc_iova(iovad, 1, 0, true));
	KUNIT_EXPECT_NULL(test, alloc_iova(iovad, 2, 1, false));
	KUNIT_EXPECT_NULL(test, alloc_iova(iovad, 2, 2, true));

	iova = alloc_iova(iovad, 1, 1, true);
	KUNIT_ASSERT_NOT_NULL(test, iova);
	KUNIT_EXPECT_EQ(test, iova->pfn_lo, 1);
	KUNIT_EXPECT_NULL(test, alloc_iova(iovad, 1, 1, true));

	/* The limit is inclusive, and the space ends below the anchor. */
	iova = alloc_iova(iovad, 2, 3, true);
	KUNIT_ASSERT_NOT_NULL(test, iova);
	KUNIT_EXPECT_EQ(test, iova->pfn_lo, 2);
	iova = alloc_iova(iovad, 1, ~0UL, false);
	KUNIT_ASSERT_NOT_NULL(test, iova);
	KUNIT_EXPECT_EQ(test, iova->pfn_hi, IOVA_ANCHOR - 1);

	/* The longest aligned request there is: it starts at its own size. */
	KUNIT_EXPECT_NULL(test, alloc_iova(iovad, IOVA_SIZE_MAX, ~0UL, true));
	iova = alloc_iova(iovad, IOVA_SIZE_MAX / 2, ~0UL, true);
	KUNIT_ASSERT_NOT_NULL(test, iova);
	KUNIT_EXPECT_EQ(test, iova->pfn_lo, IOVA_SIZE_MAX);
	expect_valid(test, iovad);
}

static void tree_alignment(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned long size, top = LIMIT_32BIT;
	struct iova *iova;

	for (size = 1; size <= 130; size++) {
		iova = alloc_iova(iovad, size, LIMIT_32BIT, true);
		KUNIT_ASSERT_NOT_NULL(test, iova);
		KUNIT_EXPECT_TRUE_MSG(test, IS_ALIGNED(iova->pfn_lo,
						       roundup_pow_of_two(size)),
				      "%lu pages at %#lx", size, iova->pfn_lo);
		KUNIT_EXPECT_EQ(test, iova_size(iova), size);
		KUNIT_EXPECT_LE(test, iova->pfn_hi, top);
	}
	expect_valid(test, iovad);

	/* Without alignment there are no gaps. */
	iova = reserve_iova(iovad, 1, LIMIT_32BIT);
	KUNIT_ASSERT_NOT_NULL(test, iova);
	top = SPACE << 8;
	for (size = 1; size <= 130; size++) {
		iova = alloc_iova(iovad, size, SPACE << 8, false);
		KUNIT_ASSERT_NOT_NULL(test, iova);
		KUNIT_EXPECT_EQ(test, iova->pfn_hi, top);
		top = iova->pfn_lo - 1;
	}
	expect_valid(test, iovad);
}

/* Small, odd and long sizes; limits from hopeless to none. */
static struct iova_request random_request(struct rnd_state *rnd)
{
	return (struct iova_request) {
		.size = 1 + random_below(rnd, 1UL << random_below(rnd, 12)),
		.limit = random_below(rnd, SPACE),
		.aligned = random_below(rnd, 3),
	};
}

static void alloc_as_oracle(struct kunit *test, struct rnd_state *rnd,
			    struct iova **live, unsigned int *nr)
{
	struct iova_domain *iovad = iovad_of(test);
	struct iova_request req = random_request(rnd);
	unsigned long pfn = 0;
	struct iova *iova;
	bool fits;

	spin_lock_irq(&iovad->iova_rbtree_lock);
	fits = iova_tree_oracle(iovad, &req, &pfn);
	spin_unlock_irq(&iovad->iova_rbtree_lock);

	iova = alloc_iova(iovad, req.size, req.limit, req.aligned);
	KUNIT_EXPECT_EQ_MSG(test, fits, !!iova,
			    "%lu pages, limit %#lx, aligned %d", req.size,
			    req.limit, req.aligned);
	if (!iova)
		return;
	KUNIT_EXPECT_EQ_MSG(test, iova->pfn_lo, pfn,
			    "%lu pages, limit %#lx, aligned %d", req.size,
			    req.limit, req.aligned);
	live[(*nr)++] = iova;
}

static void free_any(struct kunit *test, struct rnd_state *rnd,
		     struct iova **live, unsigned int *nr)
{
	unsigned int i = random_below(rnd, *nr);

	__free_iova(iovad_of(test), live[i]);
	live[i] = live[--*nr];
}

static const u64 seeds[] = { 1, 2, 3, 0x10f4 };
KUNIT_ARRAY_PARAM(seed, seeds, NULL);

/* Every answer of the tree is the oracle's, whatever came before. */
static void tree_property(struct kunit *test)
{
	const u64 *seed = test->param_value;
	unsigned int nr = 0, step, max = 400;
	struct rnd_state rnd;
	struct iova **live;

	live = kunit_kcalloc(test, max, sizeof(*live), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, live);
	prandom_seed_state(&rnd, *seed);

	for (step = 0; step < 4000; step++) {
		if (nr == max || (nr && random_below(&rnd, 5) < 2))
			free_any(test, &rnd, live, &nr);
		else
			alloc_as_oracle(test, &rnd, live, &nr);
		if (step % 16 == 0)
			expect_valid(test, iovad_of(test));
		if (test->status == KUNIT_FAILURE) {
			kunit_err(test, "seed %llu, step %u\n", *seed, step);
			return;
		}
	}
	while (nr)
		free_any(test, &rnd, live, &nr);
	expect_valid(test, iovad_of(test));
	KUNIT_EXPECT_EQ(test, tree_stats(iovad_of(test)).ranges, 0);
}

/* Fragment: @n one-page ranges down from the limit, every second one freed. */
static struct iova **fragment(struct kunit *test, unsigned int n)
{
	struct iova_domain *iovad = iovad_of(test);
	struct iova **iova;
	unsigned int i;

	iova = kvcalloc(n, sizeof(*iova), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iova);
	for (i = 0; i < n; i++) {
		iova[i] = alloc_iova(iovad, 1, LIMIT_32BIT, true);
		if (!iova[i])
			KUNIT_FAIL(test, "no place for range %u", i);
	}
	for (i = 0; i < n; i += 2) {
		__free_iova(iovad, iova[i]);
		iova[i] = NULL;
	}
	return iova;
}

/* Case 3: the worst search, not the mean one, visits O(log n) nodes. */
static void tree_search_visits(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned int n = 20000, round;
	struct iova *two, **one;
	struct rnd_state rnd;

	one = fragment(test, n);
	prandom_seed_state(&rnd, 3);
	iovad->stats.visited_max = 0;

	for (round = 0; round < 2000; round++) {
		unsigned int i = 1 + 2 * random_below(&rnd, n / 2);

		/* The highest, or any, freed; its gap does not help. */
		if (round % 2)
			i = 1;
		__free_iova(iovad, one[i]);
		one[i] = alloc_iova(iovad, 1, LIMIT_32BIT, true);
		two = alloc_iova(iovad, 2, LIMIT_32BIT, true);
		if (!one[i] || !two) {
			KUNIT_FAIL(test, "no place in round %u", round);
			break;
		}
		__free_iova(iovad, two);
	}
	KUNIT_EXPECT_LE(test, iovad->stats.visited_max, IOVA_TREE_VISITS(n));
	kunit_info(test, "worst search: %lu nodes of %u\n",
		   iovad->stats.visited_max, n / 2);
	expect_valid(test, iovad);
	kvfree(one);
}

/* Case 3: nothing fits below the limit, and that is found out as fast. */
static void tree_search_visits_when_full(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned int n = 20000, i;
	struct iova **one;

	one = fragment(test, n);
	KUNIT_EXPECT_NOT_NULL(test, reserve_iova(iovad, 1, LIMIT_32BIT - n));
	iovad->stats.visited_max = 0;

	for (i = 0; i < 1000; i++) {
		if (alloc_iova(iovad, 2, LIMIT_32BIT - i, true))
			KUNIT_FAIL(test, "a place, limit %#lx", LIMIT_32BIT - i);
	}
	KUNIT_EXPECT_LE(test, iovad->stats.visited_max, IOVA_TREE_VISITS(n));
	kvfree(one);
}

/*
 * Case 3: limits anywhere among the ranges, and gaps of two pages scattered
 * between those of one. Each answer is the oracle's, and each search short.
 */
static void tree_search_visits_at_any_limit(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	struct iova_request req = { .size = 2 };
	unsigned int n = 4000, i, round;
	unsigned long pfn = 0;
	struct iova *iova, **one;
	struct rnd_state rnd;
	bool fits;

	one = fragment(test, n);
	prandom_seed_state(&rnd, 33);
	for (i = 1; i < n; i += 2 * (1 + random_below(&rnd, n / 8)))
		__free_iova(iovad, one[i]);
	iovad->stats.visited_max = 0;

	for (round = 0; round < 1000 && test->status == KUNIT_SUCCESS; round++) {
		req.limit = LIMIT_32BIT - random_below(&rnd, n);
		req.aligned = round % 2;
		spin_lock_irq(&iovad->iova_rbtree_lock);
		fits = iova_tree_oracle(iovad, &req, &pfn);
		spin_unlock_irq(&iovad->iova_rbtree_lock);
		iova = alloc_iova(iovad, 2, req.limit, req.aligned);
		KUNIT_EXPECT_EQ(test, fits, !!iova);
		KUNIT_EXPECT_TRUE(test, !iova || iova->pfn_lo == pfn);
		if (iova)
			__free_iova(iovad, iova);
	}
	KUNIT_EXPECT_LE(test, iovad->stats.visited_max, IOVA_TREE_VISITS(n));
	kunit_info(test, "worst search: %lu nodes of %u\n",
		   iovad->stats.visited_max, n / 2);
	kvfree(one);
}

/* The @nth permutation of @nr numbers. */
static void permutation(unsigned int nth, unsigned int *of, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		of[i] = i;
	for (i = nr; i > 1; i--) {
		swap(of[i - 1], of[nth % i]);
		nth /= i;
	}
}

/* Case 11: around the 4 GiB line no pointer is left behind by any free. */
static void tree_4g_line(struct kunit *test)
{
	const unsigned long line = LIMIT_32BIT + 1;
	const unsigned long lo[] = { line - 9, line - 4, line - 1, line + 1 };
	const unsigned long hi[] = { line - 5, line - 2, line, line + 4 };
	struct iova_domain *iovad = iovad_of(test);
	unsigned int nth, i, order[ARRAY_SIZE(lo)];
	struct iova *iova[ARRAY_SIZE(lo)];

	for (nth = 0; nth < 24; nth++) {
		permutation(nth, order, ARRAY_SIZE(order));
		for (i = 0; i < ARRAY_SIZE(lo); i++) {
			iova[i] = reserve_iova(iovad, lo[i], hi[i]);
			KUNIT_ASSERT_NOT_NULL(test, iova[i]);
		}
		for (i = 0; i < ARRAY_SIZE(lo); i++) {
			struct iova *other;

			__free_iova(iovad, iova[order[i]]);
			other = alloc_iova(iovad, 1, LIMIT_32BIT, true);
			KUNIT_ASSERT_NOT_NULL(test, other);
			__free_iova(iovad, other);
			expect_valid(test, iovad);
		}
		KUNIT_EXPECT_EQ(test, tree_stats(iovad).ranges, 0);
	}
}

/* Case 21: what is embedded in the domain is never freed as if it were not. */
static void teardown(struct kunit *test)
{
	struct iova_domain *iovad = kunit_kzalloc(test, sizeof(*iovad),
						  GFP_KERNEL);
	unsigned int n, i, kind;

	KUNIT_ASSERT_NOT_NULL(test, iovad);
	for (kind = 0; kind < 8; kind++) {
		for (n = 0; n < 40; n += n < 2 ? 1 : 19) {
			init_iova_domain(iovad, SZ_4K, 1);
			if (kind & 1)
				KUNIT_ASSERT_EQ(test, 0,
						iova_domain_init_rcaches(iovad));
			if (kind & 2)
				KUNIT_EXPECT_NOT_NULL(test,
						      reserve_iova(iovad, 0, 9));
			for (i = 0; i < n; i++) {
				unsigned long pfn = alloc_iova_fast(iovad, 1 + i,
								    SPACE, true);

				KUNIT_EXPECT_NE(test, pfn, 0);
				if (kind & 4)
					free_iova_fast(iovad, pfn, 1 + i);
			}
			put_iova_domain(iovad);
		}
	}
}

/* ---- the caches ---- */

/* A CPU's magazines are its own: stay where we are. */
static unsigned int stay_on_cpu(void)
{
	unsigned int cpu = raw_smp_processor_id();

	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	return cpu;
}

/* A steady load of any cached size takes the tree lock zero times. */
static void steady_same_cpu(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned long pfns[8], before;
	unsigned int order, i, round;

	stay_on_cpu();
	KUNIT_ASSERT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_4M));
	for (order = 0; order < IOVA_NR_ORDERS; order++) {
		for (round = 0; round < 2000; round++) {
			/* While warming up, let the supply work do its part. */
			if (round < 1000)
				flush_work(&iovad->rcache->supply);
			if (round == 1000)
				before = tree_stats(iovad).locks;
			for (i = 0; i < ARRAY_SIZE(pfns); i++)
				pfns[i] = alloc_iova_fast(iovad, 1UL << order,
							  LIMIT_32BIT, true);
			for (i = 0; i < ARRAY_SIZE(pfns); i++)
				free_iova_fast(iovad, pfns[i], 1UL << order);
		}
		KUNIT_EXPECT_EQ_MSG(test, tree_stats(iovad).locks - before, 0,
				    "order %u", order);
	}
}

struct free_job {
	struct iova_domain	*iovad;
	unsigned long		size;
	unsigned long		pfns[64];
};

/* From an interrupt of another CPU, as completions come. */
static void free_there(void *data)
{
	struct free_job *job = data;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(job->pfns); i++)
		free_iova_fast(job->iovad, job->pfns[i], job->size);
}

static void alloc_here_free_there(struct free_job *job, unsigned int there)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(job->pfns); i++)
		job->pfns[i] = alloc_iova_fast(job->iovad, job->size,
					       LIMIT_32BIT, true);
	smp_call_function_single(there, free_there, job, true);
}

/* Ranges that go from one CPU to the other and are counted. */
#define STEADY_RANGES	(1000 * ARRAY_SIZE(((struct free_job *)NULL)->pfns))

/* Tree locks of that many, after warming up. */
static u64 steady_locks(struct free_job *job, unsigned int there)
{
	struct iova_domain *iovad = job->iovad;
	unsigned int round;
	u64 before;

	/* The supply work of the other CPU runs in between. */
	for (round = 0; round < 200; round++) {
		alloc_here_free_there(job, there);
		flush_work(&iovad->rcache->supply);
	}
	before = tree_stats(iovad).locks;
	for (round = 0; round < 1000; round++)
		alloc_here_free_there(job, there);
	return tree_stats(iovad).locks - before;
}

static void steady_other_cpu(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned int here, there, try;
	struct free_job *job;
	u64 locks;

	here = stay_on_cpu();
	there = cpumask_any_but(cpu_online_mask, here);
	if (there >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	job = kunit_kzalloc(test, sizeof(*job), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, job);
	job->iovad = iovad;

	for (job->size = 1; job->size <= 32; job->size *= 2) {
		/*
		 * Zero, unless a CPU was held up for so long that the depot
		 * took the magazines between the two for unused, as it may be
		 * by a busy host: not each time.
		 */
		locks = U64_MAX;
		for (try = 0; try < 5 && locks > STEADY_RANGES / 1000; try++)
			locks = min(locks, steady_locks(job, there));
		kunit_info(test, "%lu pages: %llu tree locks, try %u",
			   job->size, locks, try);
		KUNIT_EXPECT_LE_MSG(test, locks, STEADY_RANGES / 1000,
				    "%lu pages, %zu ranges", job->size,
				    STEADY_RANGES);
	}
	KUNIT_EXPECT_EQ(test, ranges_unparked(iovad), 0);
}

/*
 * Case 16: frees from nothing but interrupts, beside trimming that is made to
 * run all the time. Lockdep, or a CPU that hangs, tells of a lock of the depot
 * that was taken with interrupts on.
 */
static void trimming_beside_frees_from_interrupts(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned int here, there, round;
	struct free_job *job;

	here = stay_on_cpu();
	there = cpumask_any_but(cpu_online_mask, here);
	if (there >= nr_cpu_ids)
		there = here;
	job = kunit_kzalloc(test, sizeof(*job), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, job);
	job->iovad = iovad;
	job->size = 1;

	for (round = 0; round < 2000; round++) {
		alloc_here_free_there(job, round % 2 ? there : here);
		mod_delayed_work(system_unbound_wq, &iovad->rcache->trim, 0);
		if (round % 100 == 0)
			flush_delayed_work(&iovad->rcache->trim);
	}
	flush_delayed_work(&iovad->rcache->trim);
	KUNIT_EXPECT_EQ(test, ranges_unparked(iovad), 0);
	expect_valid(test, iovad);
}

/* Address space that one CPU parks is bounded in bytes, at any class. */
static void parked_bytes(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	struct iova_domain_stats *stats;
	unsigned long *pfns;
	unsigned int order, i, n;

	stay_on_cpu();
	stats = kunit_kzalloc(test, sizeof(*stats), GFP_KERNEL);
	pfns = kunit_kcalloc(test, 1000, sizeof(*pfns), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_ASSERT_NOT_NULL(test, pfns);
	KUNIT_ASSERT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_4M));

	for (order = 0; order < IOVA_NR_ORDERS; order++) {
		size_t bytes = SZ_4K << order, bound;

		for (n = 0; n < 1000; n++) {
			pfns[n] = alloc_iova_fast(iovad, 1UL << order,
						  LIMIT_32BIT, true);
			if (!pfns[n])
				break;
		}
		for (i = 0; i < n; i++)
			free_iova_fast(iovad, pfns[i], 1UL << order);

		iova_domain_get_stats(iovad, stats);
		bound = 2 * max_t(size_t, IOVA_MAG_BYTES, bytes);
		KUNIT_EXPECT_LE_MSG(test, stats->class[order].cpu * bytes, bound,
				    "order %u", order);
		KUNIT_EXPECT_NE_MSG(test, stats->class[order].cpu, 0,
				    "order %u", order);
	}
}

/* Case 20: an idle domain costs an array of pointers, whatever its range. */
static void idle_memory(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	struct iova_domain_stats *stats;

	stats = kunit_kzalloc(test, sizeof(*stats), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_ASSERT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_4M));

	iova_domain_get_stats(iovad, stats);
	KUNIT_EXPECT_EQ(test, stats->cpus, 0);
	KUNIT_EXPECT_LE(test, stats->bytes,
			sizeof(struct iova_rcache) +
			nr_cpu_ids * sizeof(void *) +
			BITS_TO_LONGS(nr_cpu_ids) * sizeof(long));
}

/* What is parked above a caller's limit is not for that caller. */
static void cached_limit(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned long size, pfn, high[4];
	unsigned int i;

	stay_on_cpu();
	for (size = 1; size <= 32; size *= 2) {
		for (i = 0; i < ARRAY_SIZE(high); i++)
			high[i] = alloc_iova_fast(iovad, size, SPACE << 8, true);
		for (i = 0; i < ARRAY_SIZE(high); i++)
			free_iova_fast(iovad, high[i], size);

		pfn = alloc_iova_fast(iovad, size, SPACE, true);
		KUNIT_EXPECT_NE(test, pfn, 0);
		KUNIT_EXPECT_LE(test, pfn + size - 1, SPACE);
		/* One page short of what the size needs. */
		KUNIT_EXPECT_EQ(test, 0, alloc_iova_fast(iovad, size, size - 1,
							 true));
	}
}

/* Case 10: the low 4 GiB, parked in ranges of the wrong size, are not lost. */
static void low_4g_is_reclaimed(struct kunit *test)
{
	const unsigned long big = SZ_4M / SZ_4K, n = (LIMIT_32BIT + 1) / big - 1;
	struct iova_domain *iovad = iovad_of(test);
	unsigned long *pfns, i;

	pfns = kunit_kcalloc(test, 2 * n, sizeof(*pfns), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pfns);
	KUNIT_ASSERT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_4M));

	/* All blocks but the first, which pfn 0 spoils. */
	for (i = 0; i < n; i++) {
		pfns[i] = alloc_iova_fast(iovad, big, LIMIT_32BIT, true);
		if (!pfns[i])
			KUNIT_FAIL(test, "no place for block %lu", i);
	}
	KUNIT_EXPECT_EQ(test, 0, alloc_iova_fast(iovad, big, LIMIT_32BIT, true));
	for (i = 0; i < n; i++)
		free_iova_fast(iovad, pfns[i], big);

	for (i = 0; i < 2 * n; i++) {
		pfns[i] = alloc_iova_fast(iovad, big / 2, LIMIT_32BIT, true);
		if (!pfns[i]) {
			KUNIT_FAIL(test, "no place for half block %lu of %lu", i,
				   2 * n);
			break;
		}
	}
	while (i--)
		free_iova_fast(iovad, pfns[i], big / 2);
	KUNIT_EXPECT_EQ(test, ranges_unparked(iovad), 0);
}

/* ---- the cached range ---- */

static void cached_range_values(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	const size_t def = SZ_4K << IOVA_ORDER_DEFAULT;

	KUNIT_EXPECT_EQ(test, iova_domain_cached_range(iovad), def);
	KUNIT_EXPECT_EQ(test, 0, iova_domain_set_cached_range(iovad, 1));
	KUNIT_EXPECT_EQ(test, iova_domain_cached_range(iovad), SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_64K + 1));
	KUNIT_EXPECT_EQ(test, iova_domain_cached_range(iovad), SZ_128K);
	KUNIT_EXPECT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_4M));
	KUNIT_EXPECT_EQ(test, iova_domain_cached_range(iovad), SZ_4M);

	KUNIT_EXPECT_EQ(test, -EINVAL,
			iova_domain_set_cached_range(iovad, SZ_4M + 1));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			iova_domain_set_cached_range(iovad, SIZE_MAX));
	KUNIT_EXPECT_EQ(test, iova_domain_cached_range(iovad), SZ_4M);

	KUNIT_EXPECT_EQ(test, 0, iova_domain_set_cached_range(iovad, 0));
	KUNIT_EXPECT_EQ(test, iova_domain_cached_range(iovad), def);
}

/* What is parked in classes that are cached no more goes back at once. */
static void shrinking_drains(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned long pfns[100], order, i;
	struct iova_domain_stats *stats;

	stay_on_cpu();
	stats = kunit_kzalloc(test, sizeof(*stats), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_ASSERT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_4M));

	for (order = 0; order < IOVA_NR_ORDERS; order++) {
		for (i = 0; i < ARRAY_SIZE(pfns); i++)
			pfns[i] = alloc_iova_fast(iovad, 1UL << order,
						  LIMIT_32BIT, true);
		for (i = 0; i < ARRAY_SIZE(pfns); i++)
			free_iova_fast(iovad, pfns[i], 1UL << order);
	}
	KUNIT_ASSERT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_16K));
	iova_domain_get_stats(iovad, stats);
	for (order = 0; order < IOVA_NR_ORDERS; order++) {
		unsigned long parked = stats->class[order].cpu +
				       stats->class[order].depot;

		KUNIT_EXPECT_EQ_MSG(test, parked != 0, order <= 2,
				    "order %lu", order);
	}
	KUNIT_EXPECT_EQ(test, ranges_unparked(iovad), 0);
}

static unsigned int odd_total(struct iova_domain *iovad)
{
	unsigned int order, total = 0;

	for (order = 0; order < IOVA_NR_ORDERS; order++)
		total += READ_ONCE(iovad->rcache->odd[order]);
	return total;
}

/* A range of 33 pages is odd if its class was not cached, and counted so. */
static void odd_accounting(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	struct iova_domain_stats *stats;
	unsigned long odd, whole;

	stay_on_cpu();
	stats = kunit_kzalloc(test, sizeof(*stats), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stats);

	odd = alloc_iova_fast(iovad, 33, LIMIT_32BIT, true);
	KUNIT_EXPECT_EQ(test, odd_total(iovad), 1);
	KUNIT_EXPECT_EQ(test, 0, iova_domain_set_cached_range(iovad, SZ_256K));
	whole = alloc_iova_fast(iovad, 33, LIMIT_32BIT, true);
	KUNIT_EXPECT_EQ(test, odd_total(iovad), 1);

	/* Nobody can tell the two apart, so neither is cached. */
	free_iova_fast(iovad, whole, 33);
	iova_domain_get_stats(iovad, stats);
	whole = stats->class[6].cpu;
	free_iova_fast(iovad, odd, 33);
	KUNIT_EXPECT_EQ(test, odd_total(iovad), 0);
	iova_domain_get_stats(iovad, stats);
	KUNIT_EXPECT_EQ(test, stats->class[6].cpu, whole);

	/* With the last odd one gone, whole ones are cached again. */
	whole = alloc_iova_fast(iovad, 33, LIMIT_32BIT, true);
	iova_domain_get_stats(iovad, stats);
	odd = stats->class[6].cpu;
	free_iova_fast(iovad, whole, 33);
	iova_domain_get_stats(iovad, stats);
	KUNIT_EXPECT_EQ(test, stats->class[6].cpu, odd + 1);
	KUNIT_EXPECT_EQ(test, ranges_unparked(iovad), 0);
}

/**
 * struct shadow - every page that is handed out, by our own account
 * @map: a bit for each pfn below SPACE
 * @nr: ranges in @pfn and @size
 * @pfn: first pfn of each
 * @size: pages of each, as asked for
 */
struct shadow {
	DECLARE_BITMAP(map, SPACE);
	unsigned int	nr;
	unsigned long	pfn[128];
	unsigned long	size[128];
};

static void shadow_alloc(struct kunit *test, struct shadow *s,
			 unsigned long size)
{
	unsigned long pfn;

	if (s->nr == ARRAY_SIZE(s->pfn))
		return;
	pfn = alloc_iova_fast(iovad_of(test), size, SPACE - 1, true);
	if (!pfn)
		return;

	KUNIT_ASSERT_LE(test, pfn + size, SPACE);
	if (find_next_bit(s->map, pfn + size, pfn) < pfn + size)
		KUNIT_FAIL(test, "%lu pages at %#lx overlap", size, pfn);
	bitmap_set(s->map, pfn, size);
	s->pfn[s->nr] = pfn;
	s->size[s->nr++] = size;
}

static void shadow_free(struct kunit *test, struct shadow *s, unsigned int i)
{
	unsigned long pfn = s->pfn[i], size = s->size[i];

	s->nr--;
	s->pfn[i] = s->pfn[s->nr];
	s->size[i] = s->size[s->nr];
	bitmap_clear(s->map, pfn, size);
	free_iova_fast(iovad_of(test), pfn, size);
}

static void shadow_free_all(struct kunit *test, struct shadow *s)
{
	while (s->nr)
		shadow_free(test, s, s->nr - 1);
}

/* One step of case 4. */
static void knob_step(struct kunit *test, struct shadow *s, unsigned int step)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned long size;

	switch (step) {
	case 0:		/* odd sizes of the class above the default range */
		for (size = 33; size < 64; size += 5)
			shadow_alloc(test, s, size);
		break;
	case 1:		/* whole ones, which a short range would make overlap */
		for (size = 64; size <= 256; size *= 2)
			shadow_alloc(test, s, size);
		break;
	case 2:
		iova_domain_set_cached_range(iovad, SZ_4M);
		break;
	case 3:
		iova_domain_set_cached_range(iovad, SZ_128K);
		break;
	case 4:		/* the older half, so that some outlive the next step */
		while (s->nr > 6)
			shadow_free(test, s, 0);
		break;
	case 5:
		shadow_free_all(test, s);
		break;
	}
}

#define KNOB_STEPS	6	/* kinds of steps */
/* Steps of an interleaving: 6^5 of them, and fewer where each takes long. */
#define KNOB_LENGTH	(IS_ENABLED(CONFIG_KASAN) ? 4 : 5)

/* Case 4: no interleaving of sizes, frees and knob makes two ranges overlap. */
static void knob_interleavings(struct kunit *test)
{
	struct iova_domain *iovad = iovad_of(test);
	unsigned int nth, rest, i;
	struct shadow *s;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);

	for (nth = 0; nth < int_pow(KNOB_STEPS, KNOB_LENGTH); nth++) {
		for (rest = nth, i = 0; i < KNOB_LENGTH; i++) {
			knob_step(test, s, rest % KNOB_STEPS);
			rest /= KNOB_STEPS;
		}
		shadow_free_all(test, s);
		if (odd_total(iovad))
			KUNIT_FAIL(test, "%u odd ranges are left",
				   odd_total(iovad));
		if (test->status == KUNIT_FAILURE) {
			kunit_err(test, "interleaving %u\n", nth);
			return;
		}
		if (nth % 256 == 0) {
			expect_valid(test, iovad);
			cond_resched();
		}
	}
	KUNIT_EXPECT_EQ(test, ranges_unparked(iovad), 0);
}

/* Random steps for each seed. */
#define KNOB_RANDOM	(IS_ENABLED(CONFIG_KASAN) ? 10000 : 50000)

/* Case 4 at random: any size, any range, any order of frees. */
static void knob_random(struct kunit *test)
{
	const u64 *seed = test->param_value;
	struct iova_domain *iovad = iovad_of(test);
	struct rnd_state rnd;
	unsigned int step;
	struct shadow *s;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	prandom_seed_state(&rnd, *seed);

	for (step = 0; step < KNOB_RANDOM; step++) {
		unsigned int dice = random_below(&rnd, 100);

		if (dice == 0)
			iova_domain_set_cached_range(iovad, SZ_4K <<
						     random_below(&rnd, 11));
		else if (dice < 45 && s->nr)
			shadow_free(test, s, random_below(&rnd, s->nr));
		else
			shadow_alloc(test, s, 1 + random_below(&rnd, 1UL <<
						random_below(&rnd, 10)));
		if (test->status == KUNIT_FAILURE) {
			kunit_err(test, "seed %llu, step %u\n", *seed, step);
			return;
		}
	}
	shadow_free_all(test, s);
	expect_valid(test, iovad);
	KUNIT_EXPECT_EQ(test, odd_total(iovad), 0);
	KUNIT_EXPECT_EQ(test, ranges_unparked(iovad), 0);
}

static struct kunit_case iova_cases[] = {
	KUNIT_CASE(tree_limits),
	KUNIT_CASE(tree_alignment),
	KUNIT_CASE_PARAM(tree_property, seed_gen_params),
	KUNIT_CASE(tree_search_visits),
	KUNIT_CASE(tree_search_visits_when_full),
	KUNIT_CASE(tree_search_visits_at_any_limit),
	KUNIT_CASE(tree_4g_line),
	KUNIT_CASE(teardown),
	KUNIT_CASE(steady_same_cpu),
	KUNIT_CASE(steady_other_cpu),
	KUNIT_CASE(trimming_beside_frees_from_interrupts),
	KUNIT_CASE(parked_bytes),
	KUNIT_CASE(idle_memory),
	KUNIT_CASE(cached_limit),
	KUNIT_CASE(low_4g_is_reclaimed),
	KUNIT_CASE(cached_range_values),
	KUNIT_CASE(shrinking_drains),
	KUNIT_CASE(odd_accounting),
	KUNIT_CASE(knob_interleavings),
	KUNIT_CASE_PARAM(knob_random, seed_gen_params),
	{}
};

static struct kunit_suite iova_suite = {
	.name		= "iova",
	.init		= iova_kunit_init,
	.exit		= iova_kunit_exit,
	.test_cases	= iova_cases,
};

kunit_test_suite(iova_suite);

MODULE_DESCRIPTION("KUnit tests of the IOVA allocator");
MODULE_LICENSE("GPL");
