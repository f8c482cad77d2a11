// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulated CPUs themselves, by cases whose outcome can be worked out with a
 * pencil. Times are in picoseconds, and exact unless said otherwise.
 */
#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#include "clocked/clock.h"

#undef is_signed_type
#include <kselftest_harness.h>

#define NS		1000ull
#define ROUNDS		1000

static struct shared {
	spinlock_t	lock;	/* nothing */
	char		pad[60];
	unsigned long	word;
} *shared;
static u64 think, hold, end_at;
static unsigned int rounds_done;

FIXTURE(clock) {};

FIXTURE_SETUP(clock)
{
	cost_reset();
	memset(cost, 0, sizeof(cost));
	shared = clock_memory(sizeof(*shared));
	spin_lock_init(&shared->lock);
}

FIXTURE_TEARDOWN(clock) {}

static u64 sum(enum clock_kind kind, unsigned int cpus)
{
	u64 total = 0;

	while (cpus--)
		total += clock_cpus[cpus].stats.time[kind];
	return total;
}

static void lock_main(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		clock_spend(CLOCK_DRIVER, think);
		spin_lock(&shared->lock);
		clock_spend(CLOCK_WORK, hold);
		spin_unlock(&shared->lock);
		rounds_done++;
	}
	end_at = max(end_at, clock_cpu->now);
}

TEST_F(clock, one_cpu_waits_for_nothing)
{
	think = 700 * NS;
	hold = 300 * NS;
	cost[COST_HANDOFF] = 150 * NS;
	cost[COST_MOVE] = 100 * NS;
	cost[COST_ATOMIC] = 5 * NS;
	cost[COST_ACCESS] = 1 * NS;
	clock_run(1, lock_main);
	EXPECT_EQ(ROUNDS * (700 + 5 + 300 + 1) * NS, end_at);
	EXPECT_EQ(0, clock_cpus[0].stats.moves);
}

/* Always somebody waits: hold and handoff follow each other without a gap. */
TEST_F(clock, a_lock_that_all_want_is_never_idle)
{
	u64 total = 64 * ROUNDS;

	think = 0;
	hold = 300 * NS;
	cost[COST_HANDOFF] = 150 * NS;
	clock_run(64, lock_main);
	EXPECT_EQ(total, rounds_done);
	EXPECT_EQ(total * 300 * NS + (total - 1) * 150 * NS, end_at);
	/* Each of them but the first is a wait. */
	EXPECT_EQ(0, sum(CLOCK_MOVE, 64));
	EXPECT_EQ(total - 1, ({
		u64 waited = 0;
		unsigned int i;

		for (i = 0; i < 64; i++)
			waited += clock_cpus[i].stats.lock[0].waited;
		waited; }));
}

/* Ten CPUs whose turns just fit: as fast as if each were alone. */
static void staggered_main(void)
{
	clock_spend(CLOCK_DRIVER, clock_cpu->id * hold);
	lock_main();
}

TEST_F(clock, a_lock_that_is_always_free_costs_nothing)
{
	hold = 100 * NS;
	think = 900 * NS;
	clock_run(10, staggered_main);
	EXPECT_EQ(0, sum(CLOCK_LOCK, 10));
	EXPECT_EQ((ROUNDS * 1000 + 900) * NS, end_at);
}

/* One more than fits, and the lock is what bounds all of them. */
TEST_F(clock, the_bound_is_the_lock)
{
	hold = 100 * NS;
	think = 900 * NS;
	clock_run(20, lock_main);
	EXPECT_EQ((900 + 20 * ROUNDS * 100) * NS, end_at);
}

static unsigned int order[256], nr_order;

static void fifo_main(void)
{
	/* Backwards, so that numbers do not decide. */
	clock_spend(CLOCK_DRIVER, (256 - clock_cpu->id) * NS);
	spin_lock(&shared->lock);
	order[nr_order++] = clock_cpu->id;
	clock_spend(CLOCK_WORK, 1000 * NS);
	spin_unlock(&shared->lock);
}

TEST_F(clock, first_come_first_served)
{
	unsigned int i;

	clock_run(256, fifo_main);
	for (i = 0; i < 256; i++)
		ASSERT_EQ(255 - i, order[i]);
}

static void share_main(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		clock_atomic(&shared->word);
	end_at = max(end_at, clock_cpu->now);
}

/* The line moves on as soon as it has come. */
TEST_F(clock, a_line_that_all_write_moves_without_a_pause)
{
	cost[COST_MOVE] = 100 * NS;
	cost[COST_ATOMIC] = 5 * NS;
	clock_run(16, share_main);
	/* The first one finds it there; after the last move comes its use. */
	EXPECT_EQ((16 * ROUNDS - 1) * 100 * NS + 5 * NS, end_at);
	EXPECT_EQ(16 * ROUNDS - 1, ({
		u64 moves = 0;
		unsigned int i;

		for (i = 0; i < 16; i++)
			moves += clock_cpus[i].stats.moves;
		moves; }));
}

static void read_main(void)
{
	unsigned int i;

	if (!clock_cpu->id)
		clock_write(&shared->word);
	clock_spend(CLOCK_DRIVER, 1000 * NS);
	for (i = 0; i < ROUNDS; i++)
		clock_read(&shared->word);
}

TEST_F(clock, a_line_that_all_read_comes_once)
{
	cost[COST_MOVE] = 100 * NS;
	cost[COST_SHARE] = 70 * NS;
	clock_run(16, read_main);
	/* Its owner has it; the first reader takes it from there. */
	EXPECT_EQ(0, clock_cpus[0].stats.moves);
	EXPECT_EQ((100 + 14 * 70) * NS + 14 * 100 * NS, sum(CLOCK_MOVE, 16));
}

/*
 * Many CPUs that come at random are nearly M/D/1: half used, a lock keeps who
 * comes waiting for half of its time of service.
 */
static void random_main(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		clock_spend(CLOCK_DRIVER, clock_random_below(2 * think));
		spin_lock(&shared->lock);
		clock_spend(CLOCK_WORK, hold);
		spin_unlock(&shared->lock);
	}
}

TEST_F(clock, random_arrivals_wait_as_they_do_at_one_server)
{
	double wait;

	hold = 100 * NS;
	think = 256 * 2 * hold;
	clock_run(256, random_main);
	wait = (double)sum(CLOCK_LOCK, 256) / (256 * ROUNDS) / hold;
	TH_LOG("waits for %.3f of the service, M/D/1: 0.5", wait);
	EXPECT_LT(0.45, wait);
	EXPECT_GT(0.55, wait);
}

static struct timer_list timer;
static unsigned int timer_cpu;
static u64 timer_at;

static void expired(struct timer_list *timer)
{
	timer_cpu = clock_cpu->id;
	timer_at = clock_cpu->now;
}

static void timer_main(void)
{
	clock_spend(CLOCK_DRIVER, 3400000 * NS);
	if (clock_cpu->id == 2)
		timer_reduce(&timer, jiffies + 10);
	while (clock_cpu->now < 20 * CLOCK_MS) {
		clock_sync();
		clock_run_timers();
		clock_spend(CLOCK_DRIVER, 1000 * NS);
	}
}

TEST_F(clock, a_timer_runs_where_and_when_it_was_armed_for)
{
	timer_setup(&timer, expired, 0);
	clock_run(4, timer_main);
	EXPECT_EQ(2, timer_cpu);
	EXPECT_LE(13 * CLOCK_MS, timer_at);
	EXPECT_GE(13 * CLOCK_MS + 1000 * NS, timer_at);
}

TEST_HARNESS_MAIN
