// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many invalidations of one domain a unit of fixed latency has in flight, how
 * many it does, and how long interrupts are off; beside it the shape that the
 * queue had before: a lock of the domain's, interrupts off, across the wait.
 */
#include "qi-tasks.h"
#include "test.h"

#define FLUSHES		50
#define LATENCY		50000

static struct {
	bool locked;
	bool absent;
} domain;

static void flush(unsigned int id)
{
	struct qi_desc desc = qi_unit_iotlb(id % QI_UNIT_IDS);
	struct qi_ticket ticket;

	qi_ring_submit(&qi_unit.ring, &desc, 1, 0, &ticket);
	while (qi_ring_wait(&qi_unit.ring, &ticket))
		qi_ring_submit(&qi_unit.ring, &desc, 1, 0, &ticket);
}

static void flush_often(unsigned int task)
{
	unsigned int i;

	for (i = 0; i < FLUSHES; i++)
		flush(i);
}

static void flush_often_locked(unsigned int task)
{
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < FLUSHES; i++) {
		while (domain.locked)
			sim_relax();
		domain.locked = true;
		local_irq_save(flags);
		flush(i);
		local_irq_restore(flags);
		domain.locked = false;
	}
}

/**
 * struct outcome - of a run
 * @in_flight: invalidations at a time, at most
 * @rate: how many in the time of one latency, by hundred
 * @irqs_off: longest time with interrupts off, nanoseconds
 */
struct outcome {
	unsigned int	in_flight;
	unsigned int	rate;
	unsigned long	irqs_off;
};

static struct outcome run(unsigned int nr, u64 latency,
			  void (*fn)(unsigned int task))
{
	struct outcome outcome;
	u64 start;

	qi_tasks_begin();
	qi_unit_begin(4, latency);
	start = qi_now();
	qi_tasks_run(nr, fn);
	outcome.in_flight = qi_unit.max_waits;
	outcome.rate = 100 * nr * FLUSHES * latency / (qi_now() - start);
	outcome.irqs_off = qi_tasks.longest_off;
	qi_unit_end();
	return outcome;
}

TEST(as_many_are_in_flight_as_submit)
{
	unsigned int nr;

	TH_LOG("submitters  in flight  done in a latency  with a lock across it");
	for (nr = 1; nr <= 16; nr *= 2) {
		struct outcome own = run(nr, LATENCY, flush_often);
		struct outcome old = run(nr, LATENCY, flush_often_locked);

		TH_LOG("%10u %10u %15u.%02u %20u.%02u", nr, own.in_flight,
		       own.rate / 100, own.rate % 100, old.rate / 100,
		       old.rate % 100);
		EXPECT_EQ(nr, own.in_flight);
		EXPECT_GE(own.rate, 80 * nr);
		EXPECT_EQ(1, old.in_flight);
		EXPECT_LE(old.rate, 100);
	}
}

TEST(interrupts_are_off_as_long_whatever_the_latency)
{
	struct outcome fast = run(8, LATENCY / 50, flush_often);
	struct outcome slow = run(8, LATENCY, flush_often);
	struct outcome old = run(8, LATENCY, flush_often_locked);

	TH_LOG("off for at most %lu ns at %u ns, %lu ns at %u ns; with a lock across it %lu ns",
	       fast.irqs_off, LATENCY / 50, slow.irqs_off, LATENCY,
	       old.irqs_off);
	EXPECT_EQ(fast.irqs_off, slow.irqs_off);
	EXPECT_LE(slow.irqs_off, 2 * QI_UNIT_WRITE);
	EXPECT_GE(old.irqs_off, LATENCY);
}

/* Case 24: a device that is gone is asked by one, and stops nobody for long. */
static void ask_absent(unsigned int task)
{
	struct qi_desc desc = qi_unit_devtlb(0, 1);
	struct qi_ticket ticket;

	if (task) {
		flush_often(task);
		return;
	}
	qi_ring_submit(&qi_unit.ring, &desc, 1, 0, &ticket);
	domain.absent = qi_ring_wait(&qi_unit.ring, &ticket) == -EAGAIN;
}

TEST(an_absent_device_stops_nobody_for_long)
{
	u64 start, took, irqs_off;

	qi_tasks_begin();
	qi_unit_begin(4, LATENCY);
	qi_unit.silent[1] = true;
	start = qi_now();
	qi_tasks_run(8, ask_absent);
	took = qi_now() - start;
	irqs_off = qi_tasks.longest_off;
	EXPECT_TRUE(domain.absent);
	EXPECT_EQ(1, qi_unit.timeouts);
	EXPECT_EQ(0, qi_ring_used(&qi_unit.ring));
	/* Once for all of them: the time-out, and until it is found. */
	EXPECT_LE(took, qi_unit.timeout + 1000000 / QI_RING_CHECKS_PER_MS * 2 +
			(FLUSHES + 2) * LATENCY * 5 / 4);
	/* Registers are read with them off, but nothing is waited for. */
	EXPECT_LE(irqs_off, 3 * QI_UNIT_READ + QI_UNIT_WRITE);
	qi_unit_end();
}

TEST_HARNESS_MAIN
