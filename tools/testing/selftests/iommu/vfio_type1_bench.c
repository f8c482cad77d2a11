// SPDX-License-Identifier: GPL-2.0-only
/*
 * vfio_type1_bench MEMORY MIB ROUNDS: map and unmap MIB MiB of one kind of
 * memory for a pci-testdev, ROUNDS times. Prints NAME VALUE lines: medians in us,
 * then counts.
 *
 *	MEMORY	4k, scattered, thp, hugetlb; bar: device memory, aligned;
 *		bar-odd: device memory at an IOVA that allows small pages only
 *
 * With COUNTS=1 in the environment, the calls of one more unmap are counted, and
 * the reschedule points of yet another are traced; "type1 unmap begins" and
 * "type1 unmap ends" mark it in the trace.
 */
#include "vfio_type1.h"
#include "vfio_type1_counts.h"

#include <time.h>

#define IOVA	(4UL << 30)

struct bench {
	struct vt_subject subject;
	void *mem;
	uint64_t iova;
	uint64_t size;
	bool is_ram;
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "vfio_type1_bench: %s: %s\n", what, strerror(-err));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static double median(double *values, int count)
{
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] :
		(values[count / 2 - 1] + values[count / 2]) / 2;
}

static void do_map(const struct bench *bench)
{
	int ret = vt_map(&bench->subject.vt, bench->mem, bench->iova,
			 bench->size);

	if (ret)
		fail("map", ret);
}

static void do_unmap(const struct bench *bench)
{
	int64_t ret = vt_unmap(&bench->subject.vt, bench->iova, bench->size);

	if (ret != (int64_t)bench->size)
		fail("unmap", ret < 0 ? ret : -ERANGE);
}

static void choose_memory(struct bench *bench, const char *name)
{
	static const char * const names[] = {
		[VT_4K] = "4k", [VT_SCATTERED] = "scattered",
		[VT_THP] = "thp", [VT_HUGETLB] = "hugetlb",
	};
	uint64_t size;
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i])) {
			bench->mem = vt_memory(i, bench->size);
			bench->is_ram = true;
		}
	if (!strcmp(name, "bar") || !strcmp(name, "bar-odd")) {
		bench->mem = vt_map_bar(&bench->subject.vt, &size);
		if (size < bench->size)
			bench->mem = MAP_FAILED;
		if (!strcmp(name, "bar-odd"))
			bench->iova += VT_PAGE;
	}
	if (!bench->mem || bench->mem == MAP_FAILED)
		fail(name, -ENOMEM);
}

static void measure_time(const struct bench *bench, int rounds)
{
	double map[rounds], unmap[rounds], begin;
	int i;

	for (i = 0; i < rounds; i++) {
		begin = now_us();
		do_map(bench);
		map[i] = now_us() - begin;
		begin = now_us();
		do_unmap(bench);
		unmap[i] = now_us() - begin;
	}
	printf("map_us %.1f\n", median(map, rounds));
	printf("unmap_us %.1f\n", median(unmap, rounds));
}

static void measure_counts(const struct bench *bench)
{
	if (bench->is_ram)
		printf("runs %lld\n",
		       (long long)vt_runs(bench->mem, bench->size));
	do_map(bench);
	if (vt_count_start())
		fail("function profile", -errno);
	do_unmap(bench);
	vt_count_stop();
	printf("walks %lld\n", (long long)vt_count(vt_walk_functions));
	printf("unmaps %lld\n", (long long)vt_count(vt_unmap_functions));
	printf("syncs %lld\n", (long long)vt_count(vt_sync_functions));
	printf("unpins %lld\n", (long long)vt_count(vt_unpin_functions));
	printf("reschedules %lld\n", (long long)vt_count(vt_resched_functions));
}

static void trace_unmap(const struct bench *bench)
{
	char pid[16];

	do_map(bench);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (vt_write(VT_TRACING "/tracing_on", "0") ||
	    vt_write(VT_TRACING "/trace", "\n") ||
	    vt_write(VT_TRACING "/set_ftrace_filter", "__cond_resched") ||
	    vt_write(VT_TRACING "/set_ftrace_pid", pid) ||
	    vt_write(VT_TRACING "/current_tracer", "function") ||
	    vt_write(VT_TRACING "/tracing_on", "1") ||
	    vt_write(VT_TRACING "/trace_marker", "type1 unmap begins"))
		fail("tracing", -errno);
	do_unmap(bench);
	vt_write(VT_TRACING "/trace_marker", "type1 unmap ends");
	vt_write(VT_TRACING "/tracing_on", "0");
	vt_write(VT_TRACING "/set_ftrace_pid", "\n");
}

int main(int argc, char **argv)
{
	struct bench bench = { .iova = IOVA };
	const char *why;
	int rounds, ret;

	if (argc != 4 || atoi(argv[2]) < 2 || atoi(argv[3]) < 1) {
		fprintf(stderr,
			"usage: vfio_type1_bench MEMORY MIB ROUNDS\n");
		return 2;
	}
	bench.size = strtoull(argv[2], NULL, 10) << 20;
	rounds = atoi(argv[3]);

	why = vt_take(&bench.subject, vt_pci_is_testdev, 0);
	if (why) {
		fprintf(stderr, "vfio_type1_bench: %s\n", why);
		return 1;
	}
	ret = vt_open(&bench.subject.vt, &bench.subject.pci,
		      VFIO_TYPE1v2_IOMMU);
	if (!ret)
		ret = vt_open_device(&bench.subject.vt, &bench.subject.pci);
	if (ret)
		fail("open", ret);
	choose_memory(&bench, argv[1]);
	measure_time(&bench, rounds);
	if (getenv("COUNTS")) {
		measure_counts(&bench);
		trace_unmap(&bench);
	}
	vt_return(&bench.subject);
	return 0;
}
