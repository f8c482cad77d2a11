// SPDX-License-Identifier: GPL-2.0-only
/*
 * The invalidation queue under ThreadSanitizer: threads that submit at once, a
 * unit that works beside them, devices that fall silent, descriptors that are
 * refused.
 */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "qi-unit.h"
#include "test.h"

#define THREADS		6
#define MAX_BATCH	16

static struct {
	unsigned long flushes;
	unsigned long again;
	bool stop;
} race;

u64 qi_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

u64 get_cycles(void)
{
	return qi_now();
}

void qi_spend(u64 ns)
{
}

void sim_relax(void)
{
	sched_yield();
}

static void *unit(void *unused)
{
	unsigned int sid;

	sim_seed = 99;
	while (!READ_ONCE(race.stop)) {
		qi_unit_advance(qi_now());
		if (sim_random_below(64) == 0)
			usleep(sim_random_below(100));
		if (sim_random_below(4096) == 0) {
			sid = sim_random_below(QI_UNIT_SIDS);
			WRITE_ONCE(qi_unit.silent[sid],
				   !READ_ONCE(qi_unit.silent[sid]));
		}
	}
	return NULL;
}

static void drop_silent(struct qi_desc *desc, unsigned int *count)
{
	unsigned int i, kept = 0;

	for (i = 0; i < *count; i++) {
		if ((desc[i].qw0 & 0xf) != QI_DIOTLB_TYPE ||
		    !READ_ONCE(qi_unit.silent[desc[i].qw0 >> 32]))
			desc[kept++] = desc[i];
	}
	*count = kept;
}

/* Ids are the thread's own, so that it can tell what was done for it. */
static struct qi_desc random_desc(unsigned long thread, unsigned int i)
{
	u32 id = thread * MAX_BATCH + i;

	WRITE_ONCE(qi_unit.done[id], false);
	switch (sim_random_below(300)) {
	case 0:
		return (struct qi_desc) { .qw0 = QI_UNIT_BAD };
	case 1 ... 40:
		return qi_unit_devtlb(id, sim_random_below(QI_UNIT_SIDS));
	default:
		return qi_unit_iotlb(id);
	}
}

static void *flusher(void *arg)
{
	unsigned long thread = (unsigned long)arg, n;
	struct qi_desc desc[MAX_BATCH];
	struct qi_ticket ticket;
	unsigned int i, count;
	int rc;

	sim_seed = thread;
	for (n = 0; n < race.flushes; n++) {
		count = sim_random_below(MAX_BATCH + 1);
		for (i = 0; i < count; i++)
			desc[i] = random_desc(thread, i);
		for (;;) {
			qi_ring_submit(&qi_unit.ring, desc, count, 0, &ticket);
			if (sim_random_below(256) == 0)
				usleep(sim_random_below(2000));
			rc = qi_ring_wait(&qi_unit.ring, &ticket);
			if (rc != -EAGAIN)
				break;
			__atomic_fetch_add(&race.again, 1, __ATOMIC_RELAXED);
			drop_silent(desc, &count);
		}
		for (i = 0; !rc && i < count; i++)
			sim_check(READ_ONCE(qi_unit.done[desc[i].qw1]),
				  "descriptor %u of %u", i, count);
	}
	return NULL;
}

TEST(flushes_race_with_each_other_and_with_faults)
{
	pthread_t threads[THREADS], worker;
	unsigned long i;

	race.flushes = SCALE(2000, 50000);
	qi_unit_begin(4, 2000);
	ASSERT_EQ(0, pthread_create(&worker, NULL, unit, NULL));
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, flusher,
					    (void *)i));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, qi_ring_used(&qi_unit.ring));
	WRITE_ONCE(race.stop, true);
	pthread_join(worker, NULL);
	TH_LOG("%lu flushes, %lu of them again; %lu doorbells, %lu time-outs, %lu refusals",
	       THREADS * race.flushes, race.again, qi_unit.doorbells,
	       qi_unit.timeouts, qi_unit.refused);
	EXPECT_GT(qi_unit.timeouts, 0);
	EXPECT_GT(qi_unit.refused, 0);
	qi_unit_end();
}

TEST_HARNESS_MAIN
