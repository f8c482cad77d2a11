// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who reclaims, and how much at a time: cases 2 and 17.
 */
#include "fq-world.h"
#include "test.h"

#define CPUS	16
/* As much as a ring holds without asking for a flush. */
#define EACH	100

static unsigned long pfn[64 * 2048];
static unsigned int pages[64 * 2048];

/* The most that happened with interrupts off for once: ranges of all trees. */
static unsigned long section_max, before;

static unsigned long all_ranges(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < fq_unit.nr; i++)
		sum += fq_unit.domain[i].iovad.stats.ranges;
	return sum;
}

static void watch(bool off)
{
	unsigned long now = all_ranges();

	if (off)
		before = now;
	else
		section_max = max(section_max, now > before ? now - before :
						before - now);
}

/* Entries of all rings, without looking at them with interrupts off. */
static unsigned int waiting(void)
{
	struct iommu_fq_stats stats = fq_stats(fq_unit.fq);

	return stats.pending + stats.reclaimable;
}

/* Fill the rings of all CPUs with ranges of 33 to 1024 pages. */
static void fill(unsigned int each)
{
	unsigned int cpu, i, n;

	for (cpu = 0, n = 0; cpu < CPUS; cpu++) {
		sim_cpu = cpu;
		for (i = 0; i < each; i++, n++) {
			pages[n] = 33 + sim_random_below(1024 - 33 + 1);
			pfn[n] = fq_map(n % fq_unit.nr, pages[n]);
			sim_check(pfn[n], "%u", n);
		}
	}
	while (n--) {
		sim_cpu = n / each;
		fq_unmap(n % fq_unit.nr, pfn[n], pages[n], n % 16 == 0);
	}
	sim_cpu = 0;
}

/* Case 2: full rings do not drain in one softirq. */
TEST(case_2_the_timer_takes_a_bounded_part)
{
	unsigned int left;

	fq_begin(CPUS, 8, true);
	fill(EACH);
	left = waiting();
	EXPECT_LE(CPUS * EACH * 3 / 4, left);
	sim_locks.irqs_hook = watch;
	/* Timer only: the work comes a time-out later. */
	sim_advance(IOMMU_FQ_TIMEOUT);
	sim_locks.irqs_hook = NULL;
	EXPECT_EQ(0, fq_uncovered);
	TH_LOG("%u ranges waited, the timer took %u, at most %lu with interrupts off",
	       left, left - waiting(), section_max);
	EXPECT_GE(IOMMU_FQ_TIMER_STEPS * IOMMU_FQ_STEP, left - waiting());
	EXPECT_GE(IOMMU_FQ_STEP, section_max);
	fq_end();
}

TEST(case_2_leftovers_come_back_in_bounded_steps)
{
	fq_begin(CPUS, 8, true);
	fill(EACH);
	sim_advance(IOMMU_FQ_TIMEOUT);
	sim_locks.irqs_hook = watch;
	section_max = 0;
	sim_advance(2 * IOMMU_FQ_TIMEOUT);
	sim_locks.irqs_hook = NULL;
	EXPECT_EQ(0, waiting());
	EXPECT_EQ(0, fq_unit.pages);
	TH_LOG("at most %lu with interrupts off", section_max);
	EXPECT_GE(IOMMU_FQ_STEP, section_max);
	EXPECT_FALSE(sim_work_pending());
	fq_end();
}

/* Large ranges bring page-table pages along, which are freed in bounded steps, too. */
static long tables_max, tables_before;

static void watch_tables(bool off)
{
	if (off)
		tables_before = fq_unit.pages;
	else
		tables_max = max(tables_max, tables_before - fq_unit.pages);
}

TEST(case_2_page_tables_come_back_in_bounded_steps)
{
	unsigned int i;

	fq_begin(CPUS, 1, true);
	for (i = 0; i < 24; i++)
		pfn[i] = fq_map(0, 10 * 512);
	for (i = 0; i < 24; i++)
		fq_unmap(0, pfn[i], 10 * 512, 11);
	sim_locks.irqs_hook = watch_tables;
	sim_advance(3 * IOMMU_FQ_TIMEOUT);
	sim_locks.irqs_hook = NULL;
	EXPECT_EQ(0, fq_unit.pages);
	TH_LOG("at most %ld page-table pages with interrupts off", tables_max);
	EXPECT_GE(2 * IOMMU_FQ_STEP, tables_max);
	EXPECT_LT(0, tables_max);
	fq_end();
}

static unsigned long tree_locks(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < fq_unit.nr; i++)
		sum += fq_unit.domain[i].iovad.stats.locks;
	return sum;
}

/* Case 2: with the knob over the sizes, a steady state leaves the tree alone. */
TEST(case_2_steady_state_takes_no_tree_lock)
{
	unsigned long locks = 0;
	unsigned int round, i;

	fq_begin(CPUS, 8, true);
	for (i = 0; i < 8; i++)
		iova_domain_set_cached_range(&fq_unit.domain[i].iovad, SZ_4M);
	for (round = 0; round < 200; round++) {
		if (round == 150)
			locks = tree_locks();
		fill(EACH / 2);
		sim_advance(1);
	}
	locks = tree_locks() - locks;
	TH_LOG("%u unmaps: %lu tree locks", 50 * CPUS * EACH / 2, locks);
	EXPECT_GE(50 * CPUS * EACH / 2 / 100, locks);
	fq_end();
}

/*
 * Case 17: while CPUs are busy, what they queue comes back to them and to nobody
 * else, whoever takes the timer. Each has a domain of its own here, so that a
 * magazine of another CPU would show.
 */
TEST(case_17_ranges_return_to_the_cpu_that_unmaps)
{
	unsigned int round, cpu, other, i;

	fq_begin(CPUS, CPUS, true);
	for (round = 0; round < 500; round++) {
		for (cpu = 0; cpu < CPUS; cpu++) {
			/* One after the other takes the timer. */
			sim_cpu = (cpu + round) % CPUS;
			for (i = 0; i < 20; i++)
				pfn[i] = fq_map(sim_cpu, 1 + i % 4);
			for (i = 0; i < 20; i++)
				fq_unmap(sim_cpu, pfn[i], 1 + i % 4, 0);
		}
		sim_advance(1);
		/* The work is for those who are idle, and nobody is. */
		for (cpu = 0; cpu < CPUS; cpu++) {
			struct iova_rcache *rcache;

			rcache = fq_unit.domain[cpu].iovad.rcache;
			for (other = 0; other < CPUS; other++)
				ASSERT_EQ(cpu == other, !!rcache->cpu[other]);
		}
	}
	EXPECT_LE(500 / (IOMMU_FQ_TIMEOUT + 1), fq_flushes(fq_unit.fq));
	fq_end();
}

/*
 * A domain whose space is used up gets at what it has queued, although the rings
 * in between are full of what other domains have queued.
 */
TEST(an_allocation_reaches_its_own_ranges_behind_those_of_others)
{
	/* There is one place for as many: page 0 is nobody's. */
	const unsigned long half = FQ_PFNS / 2;
	unsigned int cpu, i;

	fq_begin(CPUS, 2, true);
	for (cpu = 1; cpu < CPUS - 1; cpu++) {
		sim_cpu = cpu;
		for (i = 0; i < 500; i++)
			pfn[i] = fq_map(1, 1);
		while (i--)
			fq_unmap(1, pfn[i], 1, 0);
	}
	ASSERT_LT(2 * IOMMU_FQ_ALLOC_STEPS * IOMMU_FQ_STEP, waiting());
	sim_cpu = CPUS - 1;
	ASSERT_EQ(half, fq_map(0, half));
	fq_unmap(0, half, half, 0);
	sim_cpu = 0;
	EXPECT_EQ(half, fq_map(0, half));
	EXPECT_EQ(0, fq_map(0, half));
	fq_unmap(0, half, half, 0);
	fq_end();
}

/* Flushes do not grow with the number of domains. */
static unsigned long flushes_of(unsigned int domains, bool unit)
{
	unsigned long sum = 0;
	unsigned int i, domain;

	fq_begin(4, domains, unit);
	/* 10,000 unmaps, a thousand of them every 10 ms. */
	for (i = 0; i < 10000; i++) {
		sim_cpu = sim_random_below(4);
		domain = sim_random_below(domains);
		fq_unmap(domain, fq_map(domain, 1), 1, 0);
		if (i % 100 == 99)
			sim_advance(1);
	}
	if (unit)
		sum = fq_flushes(fq_unit.fq);
	for (i = 0; !unit && i < domains; i++)
		sum += fq_flushes(fq_unit.domain[i].client.fq);
	fq_end();
	return sum;
}

TEST(flushes_do_not_grow_with_domains)
{
	unsigned long one = flushes_of(1, true), eight = flushes_of(8, true);
	unsigned long own = flushes_of(8, false);

	TH_LOG("10,000 unmaps in 100 ms: 1 domain %lu, 8 domains %lu, 8 queues %lu",
	       one, eight, own);
	EXPECT_LE(eight, one + 1);
	EXPECT_LE(eight * 4, own);
}

/* What it costs: nothing for CPUs that never unmap, little where they rest. */
TEST(memory_follows_use)
{
	unsigned long busy, rest;
	unsigned int cpu, i;

	fq_begin(64, 16, true);
	EXPECT_EQ(0, fq_stats(fq_unit.fq).bytes);
	for (cpu = 0; cpu < 16; cpu++) {
		sim_cpu = cpu;
		for (i = 0; i < 1000; i++)
			pfn[i] = fq_map(i % 16, 1);
		for (i = 0; i < 1000; i++)
			fq_unmap(i % 16, pfn[i], 1, 0);
	}
	busy = fq_stats(fq_unit.fq).bytes;
	sim_advance(3 * IOMMU_FQ_TIMEOUT);
	rest = fq_stats(fq_unit.fq).bytes;
	TH_LOG("16 of 64 CPUs, 16 domains: %lu KiB with 16,000 ranges, %lu KiB at rest",
	       busy / 1024, rest / 1024);
	/* Stock: 10,256 bytes a CPU and domain, used or not. */
	EXPECT_GE(16 * (17 * 4096 + 512), busy);
	EXPECT_GE(16 * 512, rest);
	fq_end();
}

TEST_HARNESS_MAIN
