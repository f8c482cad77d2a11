// SPDX-License-Identifier: GPL-2.0-only
/*
 * path NAME CHUNKS [NAME=NS...]: what the simulation says of a path that calibrate
 * times, where one CPU is alone: ns of a pair, and its accesses to memory.
 */
#include <stdlib.h>

#include "bench.h"
#include "clocked/clock.h"

static const char *name;
static unsigned long chunks;

static void run(void)
{
	struct iova_domain *iovad = clock_memory(sizeof(*iovad));
	const struct workload *workload = bench_begin(name, iovad);
	struct clock_stats before = clock_cpu->stats;
	double pairs = (double)chunks * WORKLOAD_CHUNK;

	workload_run(workload, iovad, chunks);
	printf("%.2f\t%.1f\n", (clock_cpu->stats.time[CLOCK_WORK] -
			       before.time[CLOCK_WORK]) / pairs / 1000,
	       (clock_cpu->stats.accesses - before.accesses) / pairs);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 3)
		return 2;
	cost_reset();
	for (i = 3; i < argc; i++)
		sim_check(cost_set(argv[i]), "%s", argv[i]);
	name = argv[1];
	chunks = strtoul(argv[2], NULL, 0);
	clock_run(1, run);
	return 0;
}
