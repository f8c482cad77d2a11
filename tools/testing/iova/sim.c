// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failing, warning, sleeping and chance.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/preempt.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include <sim/random.h>

#include "sim.h"

_Thread_local unsigned long sim_seed = 1;
_Thread_local unsigned int sim_preempt_off;
_Thread_local bool sim_in_interrupt;
unsigned int sim_warnings;
int sim_rcu_readers;

static bool warnings_expected;

void sim_die(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "# %s:%d: ", file, line);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, " (cpu %u, seed %lu)\n", sim_cpu, sim_seed);
	va_end(args);
	abort();
}

void sim_expect_warnings(bool expect)
{
	warnings_expected = expect;
}

void sim_warn(const char *file, int line, const char *condition)
{
	if (!warnings_expected)
		sim_die(file, line, "WARN_ON(%s)", condition);
	sim_warnings++;
}

void might_sleep(void)
{
	sim_check(sim_may_sleep(), "sleeps with interrupts off");
	sim_check(!sim_preempt_off, "sleeps with preemption off");
	sim_check(in_task(), "sleeps in an interrupt");
}

void schedule_timeout_uninterruptible(unsigned long delay)
{
	might_sleep();
	usleep(50);
}

void synchronize_rcu(void)
{
	might_sleep();
	while (__atomic_load_n(&sim_rcu_readers, __ATOMIC_SEQ_CST))
		usleep(50);
}

static _Thread_local u64 random_state;
static _Thread_local unsigned long random_seed;

u64 sim_random(void)
{
	if (random_seed != sim_seed || !random_state) {
		random_seed = sim_seed;
		random_state = (sim_seed + 1) * 0x9e3779b97f4a7c15ull;
	}
	return sim_xorshift(&random_state);
}

unsigned long sim_random_below(unsigned long n)
{
	return (sim_random() >> 11) % n;
}
