// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long an unmapped range can be reached: from its unmap until a flush that
 * began after it has finished. Time is that of sim_advance(), in jiffies of 1 ms,
 * and a flush takes none of it unless the test says so.
 */
#include <linux/jiffies.h>
#include <linux/preempt.h>

#include "fq-world.h"
#include "test.h"

#define CPUS	4
#define DOMAINS	3
#define LIVE	20000

static struct {
	unsigned long pfn[LIVE];
	unsigned int domain[LIVE];
	unsigned int nr;
} live;

FIXTURE(window) {
};

FIXTURE_SETUP(window)
{
	fq_begin(CPUS, DOMAINS, true);
	live.nr = 0;
}

FIXTURE_TEARDOWN(window)
{
	sim_advance(3 * IOMMU_FQ_TIMEOUT);
	EXPECT_EQ(0, fq_uncovered);
	fq_end();
}

static void unmap_one(void)
{
	unsigned int domain = sim_random_below(DOMAINS);
	unsigned long pfn = fq_map(domain, 1);

	sim_check(pfn, "no place");
	fq_unmap(domain, pfn, 1, sim_random_below(8) == 0);
}

TEST_F(window, single_unmaps_on_an_idle_machine)
{
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		sim_cpu = sim_random_below(CPUS);
		unmap_one();
		sim_advance(sim_random_below(3 * IOMMU_FQ_TIMEOUT));
	}
	TH_LOG("longest wait: %lu ms", fq_window);
	EXPECT_EQ(IOMMU_FQ_TIMEOUT, fq_window);
}

TEST_F(window, one_busy_cpu_and_single_unmaps_on_others)
{
	unsigned int i, n;

	for (i = 0; i < 1000; i++) {
		sim_cpu = 0;
		for (n = sim_random_below(600); n; n--)
			unmap_one();
		sim_cpu = sim_random_below(CPUS);
		unmap_one();
		sim_advance(sim_random_below(3));
	}
	TH_LOG("longest wait: %lu ms, %lu flushes", fq_window,
	       fq_flushes(fq_unit.fq));
	EXPECT_GE(IOMMU_FQ_TIMEOUT, fq_window);
	EXPECT_LT(0, atomic_long_read(&fq_unit.fq->flushes[IOMMU_FQ_LEVEL]));
}

TEST_F(window, all_cpus_busy)
{
	unsigned int i, n;

	for (i = 0; i < 1000; i++) {
		for (n = sim_random_below(2000); n; n--) {
			sim_cpu = n % CPUS;
			unmap_one();
		}
		sim_advance(sim_random_below(3));
	}
	EXPECT_GE(IOMMU_FQ_TIMEOUT, fq_window);
}

TEST_F(window, device_tlbs_that_come_and_go)
{
	unsigned int i;

	for (i = 0; i < 3000; i++) {
		sim_cpu = sim_random_below(CPUS);
		unmap_one();
		if (sim_random_below(5) == 0)
			fq_set_extra(sim_random_below(DOMAINS),
				     sim_random_below(2));
		sim_advance(sim_random_below(6));
	}
	EXPECT_GE(IOMMU_FQ_TIMEOUT, fq_window);
}

/*
 * Flushes that take long, and other CPUs that go on meanwhile: time passes and
 * timers fire in the middle of a flush.
 */
#define FLUSH_TIME	7

static void others_go_on(void)
{
	unsigned int cpu = sim_cpu, off = sim_preempt_off, ms, n;
	bool interrupt = sim_in_interrupt;

	fq_unit.during = NULL;
	sim_preempt_off = 0;
	sim_in_interrupt = false;
	for (ms = 0; ms < FLUSH_TIME; ms++) {
		sim_cpu = (cpu + 1 + sim_random_below(CPUS - 1)) % CPUS;
		for (n = sim_random_below(300); n; n--)
			unmap_one();
		sim_advance(1);
	}
	sim_cpu = cpu;
	sim_preempt_off = off;
	sim_in_interrupt = interrupt;
	fq_unit.during = others_go_on;
}

TEST_F(window, flushes_that_take_long)
{
	unsigned int i;

	fq_unit.during = others_go_on;
	for (i = 0; i < 300; i++) {
		sim_cpu = sim_random_below(CPUS);
		for (unsigned int n = sim_random_below(300); n; n--)
			unmap_one();
		sim_advance(sim_random_below(3));
	}
	fq_unit.during = NULL;
	TH_LOG("longest wait: %lu ms, flushes of %u ms", fq_window, FLUSH_TIME);
	/*
	 * The time-out; then one flush under way that had begun too early, a
	 * jiffy until the timer looks again, and the flush.
	 */
	EXPECT_GE(IOMMU_FQ_TIMEOUT + 2 * FLUSH_TIME + 1, fq_window);
	EXPECT_LT(IOMMU_FQ_TIMEOUT, fq_window);
}

/*
 * The timer meets a flush that began too early for what it was armed for, and
 * looks again a jiffy later, whoever has armed it for later meanwhile.
 */
static void timer_meets_flush(void)
{
	unsigned int cpu = sim_cpu, off = sim_preempt_off;

	fq_unit.during = NULL;
	sim_preempt_off = 0;
	sim_cpu = 1;
	fq_unmap(0, live.pfn[0], 1, 0);
	sim_advance(1);
	fq_unmap(0, live.pfn[1], 1, 0);
	sim_cpu = cpu;
	sim_preempt_off = off;
}

TEST_F(window, a_timer_that_meets_a_flush_comes_back)
{
	unsigned int i;

	for (i = 0; i < 2 + IOMMU_FQ_PAGES / 1024; i++)
		live.pfn[i] = fq_map(i < 2 ? 0 : i % 2, i < 2 ? 1 : 1024);
	/* The timer is due at the end of this, */
	sim_cpu = 0;
	fq_unmap(0, live.pfn[2], 1024, 0);
	sim_advance(IOMMU_FQ_TIMEOUT - 1);
	/* and this much makes a flush, in which it fires. */
	fq_unit.during = timer_meets_flush;
	for (i = 3; i < 2 + IOMMU_FQ_PAGES / 1024; i++)
		fq_unmap(i % 2, live.pfn[i], 1024, 0);
	ASSERT_EQ(NULL, fq_unit.during);
	EXPECT_EQ(2, fq_uncovered);
	sim_advance(1);
	EXPECT_EQ(0, fq_uncovered);
	sim_cpu = 1;
}

TEST_HARNESS_MAIN
