// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once, under ThreadSanitizer: tasks that map and unmap on CPUs
 * they move between, in all domains of a unit; timers and works; a unit whose
 * flushes take a while; CPUs, device TLBs and domains that come and go;
 * allocations that ask for what waits; readers of the counters.
 */
#include <pthread.h>
#include <unistd.h>

#include <linux/preempt.h>

#include "fq-world.h"
#include "test.h"

#define CPUS	6
#define TASKS	4
#define DOMAINS	4	/* the last one comes and goes */

static struct {
	unsigned long ops;
	bool stop;
	bool stop_worker;
} race;

static void in_hardware(void)
{
	if (sim_random_below(4) == 0)
		usleep(sim_random_below(100));
}

static void move(void)
{
	unsigned int cpu = sim_random_below(CPUS);

	/* It may go while we are on our way: then we are late. */
	if (cpu_online(cpu))
		sim_cpu = cpu;
}

struct range {
	unsigned long pfn;
	unsigned int pages;
	unsigned int domain;
};

static void release(struct range *range)
{
	if (range->pfn)
		fq_unmap(range->domain, range->pfn, range->pages,
			 sim_random_below(8) == 0);
	range->pfn = 0;
}

static void acquire(struct range *range)
{
	range->domain = sim_random_below(DOMAINS - 1);
	range->pages = 1 + sim_random_below(1UL << sim_random_below(6));
	range->pfn = fq_map(range->domain, range->pages);
	sim_check(range->pfn, "no place for %u", range->pages);
}

static void *task(void *seed)
{
	struct range own[64] = {};
	unsigned long i;

	sim_seed = (unsigned long)seed;
	for (i = 0; i < race.ops; i++) {
		struct range *range = &own[sim_random_below(64)];

		if (sim_random_below(64) == 0)
			move();
		/* A part of it is done by interrupts. */
		sim_in_interrupt = sim_random_below(4) == 0;
		release(range);
		sim_in_interrupt = false;
		acquire(range);
	}
	for (i = 0; i < 64; i++)
		release(&own[i]);
	return NULL;
}

static void *hotplug(void *unused)
{
	while (!READ_ONCE(race.stop)) {
		unsigned int cpu = 1 + sim_random_below(CPUS - 1);

		sim_cpu_down(cpu);
		usleep(sim_random_below(500));
		sim_cpu_up(cpu);
	}
	return NULL;
}

static void *device_tlbs(void *unused)
{
	while (!READ_ONCE(race.stop)) {
		fq_set_extra(sim_random_below(DOMAINS - 1),
			     sim_random_below(2));
		usleep(sim_random_below(300));
	}
	return NULL;
}

/* The unit must know of no domain that is gone. */
static void *comer(void *unused)
{
	unsigned long pfn;
	unsigned int i;

	while (!READ_ONCE(race.stop)) {
		fq_domain_leave(DOMAINS - 1);
		fq_domain_begin(DOMAINS - 1, iommu_fq_get(fq_unit.fq));
		for (i = sim_random_below(200); i; i--) {
			if (i % 32 == 0)
				fq_set_extra(DOMAINS - 1, i % 64);
			pfn = fq_map(DOMAINS - 1, 1);
			fq_unmap(DOMAINS - 1, pfn, 1, i % 2);
		}
	}
	return NULL;
}

static void *asker(void *unused)
{
	while (!READ_ONCE(race.stop)) {
		move();
		iommu_fq_reclaim(&fq_unit.domain[0].client);
		usleep(sim_random_below(200));
	}
	return NULL;
}

static void *reader(void *unused)
{
	while (!READ_ONCE(race.stop)) {
		fq_stats(fq_unit.fq);
		iommu_fq_queued(&fq_unit.domain[1].client);
		usleep(200);
	}
	return NULL;
}

typedef void *(*thread_fn)(void *);

static void run(struct __test_metadata *_metadata, const thread_fn *helpers,
		unsigned int nr)
{
	pthread_t tasks[TASKS], others[8], worker;
	unsigned int i;

	fq_begin(CPUS, DOMAINS, true);
	fq_unit.during = in_hardware;
	race.ops = SCALE(20000, 1000000);
	pthread_create(&worker, NULL, sim_worker, &race.stop_worker);
	for (i = 0; i < nr; i++)
		pthread_create(&others[i], NULL, helpers[i], NULL);
	for (i = 0; i < TASKS; i++)
		pthread_create(&tasks[i], NULL, task, (void *)(i + 1UL));
	for (i = 0; i < TASKS; i++)
		pthread_join(tasks[i], NULL);
	WRITE_ONCE(race.stop, true);
	for (i = 0; i < nr; i++)
		pthread_join(others[i], NULL);

	TH_LOG("%lu flushes, %ld of single domains, %ld extra, %ld strict",
	       fq_flushes(fq_unit.fq),
	       atomic_long_read(&fq_unit.fq->domain_flushes),
	       atomic_long_read(&fq_unit.fq->extra_flushes),
	       atomic_long_read(&fq_unit.fq->strict));
	/* The timer and the work may still be at it. */
	fq_end();
	WRITE_ONCE(race.stop_worker, true);
	pthread_join(worker, NULL);
}

TEST(tasks_and_timers)
{
	run(_metadata, NULL, 0);
}

TEST(cpus_come_and_go)
{
	run(_metadata, (thread_fn []) { hotplug, reader }, 2);
}

TEST(device_tlbs_come_and_go)
{
	run(_metadata, (thread_fn []) { device_tlbs, reader }, 2);
}

TEST(domains_come_and_go)
{
	run(_metadata, (thread_fn []) { comer, reader }, 2);
}

TEST(everything_at_once)
{
	static const thread_fn all[] = {
		hotplug, device_tlbs, comer, asker, reader
	};

	run(_metadata, all, ARRAY_SIZE(all));
}

TEST_HARNESS_MAIN
