// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that go offline and come back.
 */
#include "test.h"

#define TOP_PFN	(PFN_4G - 1)
#define NR	3000

FIXTURE(hotplug) {
	struct iova_domain iovad;
	unsigned long pfn[NR];
};

FIXTURE_SETUP(hotplug)
{
	world_begin(4);
	domain_begin_cached(&self->iovad, 1);
}

FIXTURE_TEARDOWN(hotplug)
{
	domain_end(&self->iovad);
	world_end();
}

/* Have all CPUs and the depots hold ranges of several classes. */
static void use_all_cpus(struct iova_domain *iovad, unsigned long *pfn)
{
	unsigned int i;

	for (i = 0; i < NR; i++) {
		sim_cpu = i % 4;
		pfn[i] = map_alloc(iovad, 1UL << i / 4 % 6, TOP_PFN, false);
	}
	for (i = 0; i < NR; i++) {
		sim_cpu = i % 4;
		map_free(iovad, pfn[i], 1UL << i / 4 % 6);
		if (i % 4 == 0)
			sim_run_work();
	}
	sim_cpu = 0;
}

TEST_F(hotplug, an_offline_cpu_holds_nothing)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long ranges, others;

	use_all_cpus(iovad, self->pfn);
	ranges = iovad->stats.ranges;
	others = ranges - cpu_parked(iovad, 1);
	ASSERT_LT(others, ranges);
	sim_cpu_down(1);
	EXPECT_EQ(0, cpu_parked(iovad, 1));
	EXPECT_EQ(others, iovad->stats.ranges);
	ASSERT_SOUND(iovad);
	sim_cpu_up(1);
	sim_cpu = 1;
	map_free(iovad, map_alloc(iovad, 1, TOP_PFN, true), 1);
	EXPECT_LT(0, cpu_parked(iovad, 1));
	ASSERT_SOUND(iovad);
}

TEST_F(hotplug, each_domain_hears_of_it_and_no_dead_one)
{
	struct iova_domain iovad[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		domain_begin_cached(&iovad[i], 1);
		use_all_cpus(&iovad[i], self->pfn);
	}
	domain_end(&iovad[1]);
	sim_cpu_down(2);
	EXPECT_EQ(0, cpu_parked(&iovad[0], 2));
	EXPECT_EQ(0, cpu_parked(&iovad[2], 2));
	EXPECT_LT(0, cpu_parked(&iovad[0], 3));
	domain_end(&iovad[0]);
	domain_end(&iovad[2]);
}

/* All but one go, and the whole space is there. */
TEST_F(hotplug, nothing_is_lost)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned int round, cpu;
	struct iova *all;

	for (round = 0; round < 5; round++) {
		use_all_cpus(iovad, self->pfn);
		for (cpu = 1; cpu < 4; cpu++)
			sim_cpu_down(cpu);
		ASSERT_SOUND(iovad);
		domain_reclaim(iovad);
		all = alloc_iova(iovad, TOP_PFN, TOP_PFN, false);
		ASSERT_NE(NULL, all);
		__free_iova(iovad, all);
		for (cpu = 1; cpu < 4; cpu++)
			sim_cpu_up(cpu);
	}
}

/* A task that has read its CPU's number, and runs on after the CPU is gone. */
static struct {
	struct iova_domain *iovad;
	unsigned int countdown;
	unsigned int what;
	unsigned long pfn;
} late;

static void late_task(bool off)
{
	if (off || !late.countdown || --late.countdown)
		return;
	sim_locks.irqs_off = 0;
	sim_cpu = 1;
	if (late.what == 0) {
		late.pfn = alloc_iova_fast(late.iovad, 4, TOP_PFN, true);
	} else {
		free_iova_fast(late.iovad, late.pfn, 4);
		late.pfn = 0;
	}
	sim_cpu = 0;
	sim_locks.irqs_off = 1;
}

TEST_F(hotplug, a_late_task_parks_nothing_on_a_dead_cpu)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned int step;

	late.iovad = iovad;
	for (step = 1; step < 200; step++) {
		use_all_cpus(iovad, self->pfn);
		late.what = step % 2;
		late.pfn = late.what ? alloc_iova_fast(iovad, 4, TOP_PFN, true) :
			   0;
		late.countdown = step;
		sim_locks.irqs_hook = late_task;
		sim_cpu_down(1);
		sim_locks.irqs_hook = NULL;
		/* The one that comes last of all. */
		if (late.countdown) {
			late.countdown = 1;
			late_task(false);
			sim_locks.irqs_off = 0;
		}
		ASSERT_SOUND(iovad) {
			TH_LOG("step %u", step);
		}
		EXPECT_EQ(0, cpu_parked(iovad, 1));
		if (late.pfn)
			free_iova_fast(iovad, late.pfn, 4);
		sim_cpu_up(1);
	}
}

TEST_F(hotplug, a_part_ordered_for_a_cpu_that_goes)
{
	struct iova_domain *iovad = &self->iovad;
	unsigned long pfn = map_alloc(iovad, 1, TOP_PFN, true);

	sim_cpu = 3;
	map_free(iovad, pfn, 1);
	sim_cpu = 0;
	sim_cpu_down(3);
	sim_run_work();
	ASSERT_SOUND(iovad);
	sim_cpu_up(3);
	sim_cpu = 3;
	map_free(iovad, map_alloc(iovad, 1, TOP_PFN, true), 1);
	EXPECT_LT(0, cpu_parked(iovad, 3));
}

TEST_HARNESS_MAIN
