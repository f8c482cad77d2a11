// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the constants of the simulation are measured by, on this machine:
 *
 * calibrate path NAME CHUNKS	ns of a pair of a workload, the best of ten
 * calibrate atomic		ns of a locked instruction on a line that is there
 * calibrate move		ns of a line's way from one CPU to another
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "sim.h"

#define TIMES	10
#define ROUNDS	1000000UL

static struct iova_domain iovad;
static long line __aligned(128);

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static double path(const char *name, unsigned long chunks)
{
	const struct workload *workload = bench_begin(name, &iovad);
	double best = 1e9, start;
	unsigned int i;

	for (i = 0; i < TIMES; i++) {
		start = now();
		workload_run(workload, &iovad, chunks);
		best = min(best, (now() - start) / chunks / WORKLOAD_CHUNK);
	}
	bench_end(&iovad);
	return best;
}

static double atomic(void)
{
	double best = 1e9, start;
	unsigned long i, k;

	for (k = 0; k < TIMES; k++) {
		start = now();
		for (i = 0; i < ROUNDS; i++)
			__atomic_fetch_add(&line, 1, __ATOMIC_SEQ_CST);
		best = min(best, (now() - start) / ROUNDS);
	}
	return best;
}

static void bind_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	BUG_ON(pthread_setaffinity_np(pthread_self(), sizeof(set), &set));
}

/* Odd numbers are the one's to write, even ones the other's. */
static void *bounce(void *odd)
{
	long i;

	bind_to(odd ? 1 : 0);
	for (i = odd ? 1 : 0; i < (long)ROUNDS; i += 2) {
		while (__atomic_load_n(&line, __ATOMIC_ACQUIRE) != i)
			__builtin_ia32_pause();
		__atomic_store_n(&line, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static double move(void)
{
	double best = 1e9, start;
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < TIMES; i++) {
		line = 0;
		start = now();
		BUG_ON(pthread_create(&thread, NULL, bounce, &line));
		bounce(NULL);
		pthread_join(thread, NULL);
		best = min(best, (now() - start) / ROUNDS);
	}
	return best;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "path"))
		printf("%.2f\n", path(argv[2], strtoul(argv[3], NULL, 0)));
	else if (argc == 2 && !strcmp(argv[1], "atomic"))
		printf("%.2f\n", atomic());
	else if (argc == 2 && !strcmp(argv[1], "move"))
		printf("%.2f\n", move());
	else
		return 2;
	return 0;
}
