// SPDX-License-Identifier: GPL-2.0-only
/*
 * Case 4: the cached range changes while ranges are live. What was allocated
 * under one setting and freed under another must not be handed out as more than
 * it is.
 */
#include "test.h"

#define SMALL	(32 * PAGE_SIZE)
#define LARGE	(256 * PAGE_SIZE)

FIXTURE(knob) {
	struct iova_domain iovad;
};

FIXTURE_SETUP(knob)
{
	world_begin(2);
	domain_begin_cached(&self->iovad, 1);
}

FIXTURE_TEARDOWN(knob)
{
	domain_end(&self->iovad);
	world_end();
}

static void set_range(struct iova_domain *iovad, size_t bytes)
{
	sim_check(!iova_domain_set_cached_range(iovad, bytes), "%zu", bytes);
}

TEST_F(knob, values)
{
	static const struct {
		size_t bytes, range;
		int err;
	} tries[] = {
		{ 1, PAGE_SIZE }, { PAGE_SIZE, PAGE_SIZE },
		{ PAGE_SIZE + 1, 2 * PAGE_SIZE }, { 96 << 10, 128 << 10 },
		{ 128 << 10, 128 << 10 }, { (128 << 10) + 1, 256 << 10 },
		{ 3 << 20, SZ_4M }, { SZ_4M, SZ_4M },
		{ SZ_4M + 1, SZ_4M, -EINVAL }, { 12 << 20, SZ_4M, -EINVAL },
		{ ~0UL, SZ_4M, -EINVAL }, { 1UL << 63, SZ_4M, -EINVAL },
		{ 0, 128 << 10 },
	};
	unsigned int i;

	EXPECT_EQ(128 << 10, iova_rcache_range());
	EXPECT_EQ(SZ_4M, iova_rcache_range_max());
	EXPECT_EQ(iova_rcache_range(), iova_domain_cached_range(&self->iovad));
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		EXPECT_EQ(tries[i].err,
			  iova_domain_set_cached_range(&self->iovad,
						       tries[i].bytes));
		EXPECT_EQ(tries[i].range,
			  iova_domain_cached_range(&self->iovad));
	}
}

/* Each granule up to a page: the ceiling is in bytes while orders suffice. */
TEST_F(knob, granules)
{
	unsigned long granule;

	for (granule = 1; granule <= PAGE_SIZE; granule *= 2) {
		size_t max = min(granule << (IOVA_NR_ORDERS - 1), SZ_4M);
		struct iova_domain iovad;

		init_iova_domain(&iovad, granule, 1);
		ASSERT_EQ(0, iova_domain_init_rcaches(&iovad));
		EXPECT_EQ(granule << IOVA_ORDER_DEFAULT,
			  iova_domain_cached_range(&iovad));
		EXPECT_EQ(0, iova_domain_set_cached_range(&iovad, max));
		EXPECT_EQ(max, iova_domain_cached_range(&iovad));
		EXPECT_EQ(-EINVAL, iova_domain_set_cached_range(&iovad, max + 1));
		EXPECT_EQ(max, iova_domain_cached_range(&iovad));
		put_iova_domain(&iovad);
	}
}

/*
 * What a user of the domain can do, as one letter each. Ranges are freed
 * oldest or newest first. 16 pages fit into what an odd range of 33 to 48
 * leaves of its block of 64.
 */
static const char acts[] = "abABCRSfF";

struct actor {
	struct iova_domain *iovad;
	unsigned long pfn[64];
	unsigned long pages[64];
	unsigned int first, last;
};

static void actor_alloc(struct actor *actor, unsigned long pages)
{
	unsigned long pfn = map_alloc(actor->iovad, pages, 1023, true);

	if (!pfn)
		return;
	actor->pfn[actor->last] = pfn;
	actor->pages[actor->last++] = pages;
}

static void actor_free(struct actor *actor, bool oldest)
{
	unsigned int i;

	if (actor->first == actor->last)
		return;
	i = oldest ? actor->first++ : --actor->last;
	map_free(actor->iovad, actor->pfn[i], actor->pages[i]);
}

static void act(struct actor *actor, char what)
{
	switch (what) {
	case 'f':
	case 'F':
		actor_free(actor, what == 'f');
		break;
	case 'R':
		set_range(actor->iovad, LARGE);
		break;
	case 'S':
		set_range(actor->iovad, SMALL);
		break;
	default:
		actor_alloc(actor, what == 'a' ? 33 : what == 'A' ? 63 :
				   what == 'b' ? 16 : what == 'B' ? 64 : 129);
	}
}

/* Ranges shorter than their class that are live must be on record, exactly. */
static void check_odd(struct actor *actor)
{
	unsigned int odd[IOVA_NR_ORDERS] = {}, i;

	for (i = actor->first; i < actor->last; i++) {
		struct iova *iova = find_iova(actor->iovad, actor->pfn[i]);

		if (!is_power_of_2(iova_size(iova)))
			odd[order_base_2(iova_size(iova))]++;
	}
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		sim_check(odd[i] == actor->iovad->rcache->odd[i],
			  "%u odd of order %u, not %u",
			  actor->iovad->rcache->odd[i], i, odd[i]);
}

static void play(const char *script)
{
	struct iova_domain iovad;
	struct actor actor = { .iovad = &iovad };
	const char *wrong, *what;

	domain_begin_cached(&iovad, 1);
	for (what = script; *what; what++) {
		act(&actor, *what);
		check_odd(&actor);
	}
	/* And once more over all that has been parked. */
	act(&actor, 'B');
	act(&actor, 'C');
	act(&actor, 'b');
	while (actor.first < actor.last)
		actor_free(&actor, true);
	check_odd(&actor);
	wrong = domain_wrong(&iovad);
	sim_check(!wrong, "%s: %s", script, wrong);
	domain_reclaim(&iovad);
	sim_check(!iovad.stats.ranges, "%s: %lu left", script,
		  iovad.stats.ranges);
	domain_end(&iovad);
}

/* All scripts of a length: 9^5 in make check. */
TEST_F(knob, every_interleaving)
{
	unsigned int length = SCALE(5, 7), i, base = sizeof(acts) - 1;
	unsigned long n, scripts = 1, rest;
	char script[8] = {};

	for (i = 0; i < length; i++)
		scripts *= base;
	for (n = 0; n < scripts; n++) {
		for (i = 0, rest = n; i < length; i++, rest /= base)
			script[i] = acts[rest % base];
		play(script);
	}
}

TEST_F(knob, long_random_interleavings)
{
	unsigned int n, i;
	char script[41] = {};

	for (n = 0; n < SCALE(4000, 100000); n++) {
		sim_seed = n + 1;
		for (i = 0; i < sizeof(script) - 1; i++)
			script[i] = acts[sim_random_below(sizeof(acts) - 1)];
		play(script);
	}
}

/* The trap itself, step by step. */
TEST_F(knob, odd_range_is_not_freed_into_a_larger_class)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long odd, tail, other;

	odd = map_alloc(iovad, 33, 1023, true);
	tail = map_alloc(iovad, 16, 1023, true);
	ASSERT_EQ(odd + 48, tail);
	EXPECT_EQ(1, iovad->rcache->odd[6]);

	set_range(iovad, LARGE);
	map_free(iovad, odd, 33);
	EXPECT_EQ(0, iovad->rcache->odd[6]);
	EXPECT_EQ(NULL, find_iova(iovad, odd));
	other = map_alloc(iovad, 64, 1023, true);
	EXPECT_TRUE(other + 64 <= tail || other >= tail + 16);
	map_free(iovad, other, 64);
	map_free(iovad, tail, 16);
}

TEST_F(knob, one_odd_range_keeps_its_class_from_odd_sizes_only)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long odd = map_alloc(iovad, 40, 1023, true), pfn, whole;

	set_range(iovad, LARGE);
	pfn = map_alloc(iovad, 50, 1023, true);
	whole = map_alloc(iovad, 64, 1023, true);
	EXPECT_EQ(64, iova_size(find_iova(iovad, pfn)));
	/* Not known to be whole: back to the tree. */
	map_free(iovad, pfn, 50);
	EXPECT_EQ(NULL, find_iova(iovad, pfn));
	/* Sure to be whole: parked. */
	map_free(iovad, whole, 64);
	EXPECT_EQ(64, iova_size(find_iova(iovad, whole)));
	map_free(iovad, odd, 40);
	/* And with the last one gone, so is the doubt. */
	pfn = map_alloc(iovad, 50, 1023, true);
	map_free(iovad, pfn, 50);
	EXPECT_EQ(64, iova_size(find_iova(iovad, pfn)));
}

TEST_F(knob, range_of_a_closed_class_is_freed_by_its_extent)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long pfn;

	set_range(iovad, LARGE);
	pfn = map_alloc(iovad, 129, 1023, true);
	EXPECT_EQ(256, iova_size(find_iova(iovad, pfn)));
	set_range(iovad, SMALL);
	map_free(iovad, pfn, 129);
	EXPECT_EQ(NULL, find_iova(iovad, pfn));
	EXPECT_EQ(NULL, find_iova(iovad, pfn + 200));
}

/* Room for the exact size is found where there is none for the whole one. */
TEST_F(knob, exact_size_where_the_rounded_one_does_not_fit)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long pfn;

	set_range(iovad, LARGE);
	ASSERT_NE(NULL, reserve_iova(iovad, 1, 511));
	ASSERT_NE(NULL, reserve_iova(iovad, 512 + 130, 1023));
	pfn = map_alloc(iovad, 129, 1023, true);
	EXPECT_EQ(512, pfn);
	EXPECT_EQ(129, iova_size(find_iova(iovad, pfn)));
	EXPECT_EQ(1, iovad->rcache->odd[8]);
	map_free(iovad, pfn, 129);
	EXPECT_EQ(0, iovad->rcache->odd[8]);
	EXPECT_EQ(NULL, find_iova(iovad, pfn));
}

/* Lowering it gives everything above back at once, from each CPU and depot. */
TEST_F(knob, closed_classes_hold_nothing)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long pfn[2000];
	unsigned int order, i;

	set_range(iovad, iova_rcache_range_max());
	for (order = 6; order <= 10; order++) {
		for (i = 0; i < ARRAY_SIZE(pfn); i++) {
			sim_cpu = i % 2;
			pfn[i] = map_alloc(iovad, 1UL << order,
					   SHADOW_PFNS - 1, true);
		}
		for (i = 0; i < ARRAY_SIZE(pfn); i++) {
			sim_cpu = i % 2;
			map_free(iovad, pfn[i], 1UL << order);
			if (i % 4 == 0)
				sim_run_work();
		}
	}
	EXPECT_LT(0, domain_stats(iovad)->class[10].depot);
	EXPECT_LT(0, domain_stats(iovad)->class[6].cpu);
	set_range(iovad, SMALL);
	ASSERT_SOUND(iovad);
	EXPECT_EQ(0, domain_parked(iovad));
	EXPECT_EQ(0, iovad->stats.ranges);
	/* Empty magazines go with the next looks at the depots. */
	sim_advance(10000);
	EXPECT_EQ(0, domain_stats(iovad)->class[10].empty);
	EXPECT_FALSE(sim_work_pending());
}

/*
 * One CPU has read the old setting and is late: its allocation, and its free,
 * run between any two steps of the change. Nothing may be left behind.
 */
static struct {
	struct iova_domain *iovad;
	unsigned int countdown;
	unsigned int order;
	bool alloc;
	unsigned long pfn;
} late;

static void late_caller(bool off)
{
	struct iova_rcache *rcache = late.iovad->rcache;

	if (off || !late.countdown || --late.countdown)
		return;
	/* Interrupts are still off for whoever is being interrupted. */
	sim_locks.irqs_off = 0;
	sim_cpu = 1;
	if (late.alloc)
		late.pfn = iova_rcache_get(rcache, late.order, 1UL << 20);
	else if (iova_rcache_put(rcache, late.order, late.pfn))
		late.pfn = 0;
	sim_cpu = 0;
	sim_locks.irqs_off = 1;
}

/* Park in a class wherever something can be parked, and keep one range. */
static void late_prepare(struct iova_domain *iovad)
{
	unsigned long pages = 1UL << late.order, pfn[1500];
	unsigned int i;

	set_range(iovad, LARGE);
	for (i = 0; i < ARRAY_SIZE(pfn); i++) {
		sim_cpu = i % 2;
		pfn[i] = alloc_iova_fast(iovad, pages, 1UL << 20, true);
	}
	late.pfn = late.alloc ? 0 : pfn[--i];
	while (i--) {
		sim_cpu = i % 2;
		free_iova_fast(iovad, pfn[i], pages);
		if (i % 5 == 0)
			sim_run_work();
	}
	sim_cpu = 0;
	sim_check(iovad->rcache->depot[late.order].full, "order %u",
		  late.order);
}

static void late_in_step(struct __test_metadata *_metadata, unsigned int step)
{
	struct iova_domain iovad;

	domain_begin_cached(&iovad, 1);
	late.iovad = &iovad;
	late_prepare(&iovad);
	late.countdown = step;
	sim_locks.irqs_hook = late_caller;
	set_range(&iovad, SMALL);
	sim_locks.irqs_hook = NULL;
	ASSERT_SOUND(&iovad) {
		TH_LOG("order %u, step %u", late.order, step);
	}
	EXPECT_EQ(0, domain_parked(&iovad));
	if (late.pfn)
		free_iova_fast(&iovad, late.pfn, 1UL << late.order);
	EXPECT_EQ(0, iovad.stats.ranges);
	domain_end(&iovad);
}

TEST_F(knob, late_callers_leave_nothing_in_a_closed_class)
{
	unsigned int way, step;

	for (way = 0; way < 6; way++) {
		late.order = 6 + way / 2;
		late.alloc = way % 2;
		for (step = 1; ; step++) {
			late_in_step(_metadata, step);
			if (late.countdown)
				break;
		}
		/* Each class of each CPU, and a depot, took at least one. */
		EXPECT_LT(10, step);
	}
}

TEST_HARNESS_MAIN
