// SPDX-License-Identifier: GPL-2.0-only
/*
 * clocked/clock.h for threads: each CPU is one, bound to a CPU of the machine, its
 * clock is the machine's, and only what stands for something else (a driver, the
 * page table, the unit) spends time on purpose. What the simulation says of two
 * CPUs can be compared with this.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#include <linux/spinlock.h>

#include "clocked/clock.h"

bool real_fair;
_Thread_local struct clock_cpu *clock_cpu;
struct clock_cpu clock_cpus[SIM_CPUS_MAX];

static void (*cpu_main)(void);
static pthread_barrier_t barrier;
static unsigned long long tsc_start;
static double ps_per_tick;

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Before there are locks. */
__attribute__((__constructor__))
static void choose_lock(void)
{
	real_fair = getenv("REAL_LOCK") && !strcmp(getenv("REAL_LOCK"), "fair");
}

static void measure_tsc(void)
{
	double begin = seconds(), end;
	unsigned long long ticks = __rdtsc();

	do {
		end = seconds();
	} while (end < begin + 0.05);
	ps_per_tick = (end - begin) * 1e12 / (__rdtsc() - ticks);
}

void clock_sync(void)
{
	if (clock_cpu)
		clock_cpu->now = (__rdtsc() - tsc_start) * ps_per_tick;
}

void clock_spend_until(enum clock_kind kind, u64 until)
{
	u64 begin = clock_cpu->now;

	while (clock_cpu->now < until) {
		_mm_pause();
		clock_sync();
	}
	clock_cpu->stats.time[kind] += clock_cpu->now - begin;
}

void clock_spend(enum clock_kind kind, u64 time)
{
	/* The code's own time passes by itself. */
	if (kind == CLOCK_WORK)
		return;
	clock_sync();
	clock_spend_until(kind, clock_cpu->now + time);
}

void *clock_memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	BUG_ON(at == MAP_FAILED);
	return at;
}

void clock_atomic(void *addr)
{
}

void clock_read(const void *addr)
{
}

void clock_write(void *addr)
{
}

void clock_device_wrote(void *addr)
{
}

void clock_drain(void)
{
}

void clock_write_range(void *addr, size_t size)
{
}

const char *clock_lock_class(unsigned int class)
{
	return NULL;
}

static void *thread(void *arg)
{
	struct clock_cpu *cpu = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu->id, &set);
	BUG_ON(pthread_setaffinity_np(pthread_self(), sizeof(set), &set));
	clock_cpu = cpu;
	sim_cpu = cpu->id;
	pthread_barrier_wait(&barrier);
	clock_sync();
	cpu_main();
	return NULL;
}

void clock_run(unsigned int nr, void (*main)(void))
{
	pthread_t threads[SIM_CPUS_MAX];
	unsigned int i;

	cpu_main = main;
	measure_tsc();
	pthread_barrier_init(&barrier, NULL, nr);
	for (i = 0; i < nr; i++) {
		clock_cpus[i] = (struct clock_cpu) {
			.id = i, .random = (i + 1) * 0x9e3779b97f4a7c15ull,
		};
		INIT_LIST_HEAD(&clock_cpus[i].timers);
	}
	tsc_start = __rdtsc();
	for (i = 0; i < nr; i++)
		BUG_ON(pthread_create(&threads[i], NULL, thread, &clock_cpus[i]));
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}
