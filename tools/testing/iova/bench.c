// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench run NAME CHUNKS	a workload, to be counted from outside
 * bench locks NAME CHUNKS	locks a million pairs take: tree, depot
 * bench search RANGES TIMES	mean ns of the search of case 3
 * bench names			the workloads
 */
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "sim.h"
#include "workload.h"

static struct iova_domain iovad;

static void run(const char *name, unsigned long chunks)
{
	workload_run(bench_begin(name, &iovad), &iovad, chunks);
	bench_end(&iovad);
}

static unsigned long per_million(unsigned long locks, unsigned long chunks)
{
	return locks * 1000000 / (chunks * WORKLOAD_CHUNK);
}

static void count_locks(const char *name, unsigned long chunks)
{
	const struct workload *workload = bench_begin(name, &iovad);
	unsigned long tree = sim_lock_acquired(&iovad.iova_rbtree_lock);
	unsigned long depot = bench_depot_locks(&iovad);

	workload_run(workload, &iovad, chunks);
	tree = sim_lock_acquired(&iovad.iova_rbtree_lock) - tree;
	depot = bench_depot_locks(&iovad) - depot;
	printf("%lu %lu\n", per_million(tree, chunks),
	       per_million(depot, chunks));
	bench_end(&iovad);
}

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000UL + time.tv_nsec;
}

/*
 * One-page ranges under a 32-bit limit, every second one freed; before each
 * request for two pages the highest is freed and retaken.
 */
static void time_search(unsigned long ranges, unsigned long times)
{
	struct iova **live = calloc(ranges, sizeof(*live)), *iova;
	unsigned long i, start, sum = 0;

	sim_check(live && !iova_cache_get(), "no memory");
	init_iova_domain(&iovad, PAGE_SIZE, 1);
	for (i = 0; i < ranges; i++) {
		live[i] = alloc_iova(&iovad, 1, WORKLOAD_LIMIT, true);
		sim_check(live[i], "%lu ranges", i);
	}
	for (i = 1; i < ranges; i += 2)
		__free_iova(&iovad, live[i]);
	for (i = 0; i < times; i++) {
		__free_iova(&iovad, live[0]);
		live[0] = alloc_iova(&iovad, 1, WORKLOAD_LIMIT, true);
		start = now();
		iova = alloc_iova(&iovad, 2, WORKLOAD_LIMIT, true);
		sum += now() - start;
		sim_check(iova, "no place");
		__free_iova(&iovad, iova);
	}
	printf("%lu\n", sum / times);
	put_iova_domain(&iovad);
	iova_cache_put();
	free(live);
}

static void print_names(void)
{
	const struct workload *workload;

	for (workload = workloads; workload->name; workload++)
		printf("%s\t%s\n", workload->name, workload->what);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc == 2 && !strcmp(mode, "names")) {
		print_names();
	} else if (argc == 4 && !strcmp(mode, "run")) {
		run(argv[2], strtoul(argv[3], NULL, 0));
	} else if (argc == 4 && !strcmp(mode, "locks")) {
		count_locks(argv[2], strtoul(argv[3], NULL, 0));
	} else if (argc == 4 && !strcmp(mode, "search")) {
		time_search(strtoul(argv[2], NULL, 0),
			    strtoul(argv[3], NULL, 0));
	} else {
		fprintf(stderr, "usage: %s run|locks|search|names ...\n",
			argv[0]);
		return 2;
	}
	return 0;
}
