// SPDX-License-Identifier: GPL-2.0-only
#include "sim.h"
#include "workload.h"

#define BURST		256
#define RING_MAX	1024
#define QUEUES_MAX	4

/* Round and round: sizes of network packets, of blocks, and odd ones. */
static const unsigned char sizes[] = {
	1, 1, 1, 2, 1, 8, 4, 3, 1, 16, 1, 32, 5, 1, 2, 17,
};

static unsigned long alloc(struct iova_domain *iovad, unsigned long pages)
{
	return alloc_iova_fast(iovad, pages, WORKLOAD_LIMIT, true);
}

static void lifo(struct iova_domain *iovad, unsigned long pages)
{
	unsigned int i;

	for (i = 0; i < WORKLOAD_CHUNK; i++)
		free_iova_fast(iovad, alloc(iovad, pages), pages);
}

static void burst(struct iova_domain *iovad, unsigned long pages,
		  unsigned int alloc_cpu, unsigned int free_cpu)
{
	unsigned int round, i;
	unsigned long pfn[BURST];

	for (round = 0; round < WORKLOAD_CHUNK / BURST; round++) {
		sim_cpu = alloc_cpu;
		for (i = 0; i < BURST; i++)
			pfn[i] = alloc(iovad, pages ?: sizes[i % 16]);
		sim_cpu = free_cpu;
		for (i = 0; i < BURST; i++)
			free_iova_fast(iovad, pfn[i], pages ?: sizes[i % 16]);
	}
	sim_cpu = 0;
}

static void lifo_4k(struct iova_domain *iovad)
{
	lifo(iovad, 1);
}

static void lifo_256k(struct iova_domain *iovad)
{
	lifo(iovad, 64);
}

static void burst_4k(struct iova_domain *iovad)
{
	burst(iovad, 1, 0, 0);
}

static void burst_mixed(struct iova_domain *iovad)
{
	burst(iovad, 0, 0, 0);
}

static void cross_4k(struct iova_domain *iovad)
{
	burst(iovad, 1, 0, 1);
}

static void cross_mixed(struct iova_domain *iovad)
{
	burst(iovad, 0, 0, 1);
}

static void cross_256k(struct iova_domain *iovad)
{
	burst(iovad, 64, 0, 1);
}

static void cross_1m(struct iova_domain *iovad)
{
	burst(iovad, 256, 0, 1);
}

/*
 * A flush queue: a CPU parks what it unmaps in a ring of its own, and frees the
 * oldest 256 in one go when that is full. CPUs take turns in no order.
 */
static struct queue {
	unsigned long	pfn[RING_MAX];
	unsigned int	head;
	unsigned int	parked;
} queues[QUEUES_MAX];

static void queue_free(struct iova_domain *iovad, struct queue *queue,
		       unsigned long pages, unsigned int nr)
{
	for (; nr; nr--, queue->parked--) {
		free_iova_fast(iovad, queue->pfn[queue->head], pages);
		queue->head = (queue->head + 1) % RING_MAX;
	}
}

static void queue_run(struct iova_domain *iovad, unsigned long pages,
		      unsigned int cpus, unsigned int ring)
{
	unsigned int i, tail;

	for (i = 0; i < WORKLOAD_CHUNK; i++) {
		struct queue *queue;

		sim_cpu = sim_random_below(cpus);
		queue = &queues[sim_cpu];
		tail = (queue->head + queue->parked++) % RING_MAX;
		queue->pfn[tail] = alloc(iovad, pages);
		if (queue->parked == ring)
			queue_free(iovad, queue, pages, BURST);
	}
	sim_cpu = 0;
}

static void queue_256k(struct iova_domain *iovad)
{
	queue_run(iovad, 64, 1, RING_MAX);
}

static void queues_256k(struct iova_domain *iovad)
{
	queue_run(iovad, 64, QUEUES_MAX, RING_MAX);
}

static void queues_1m(struct iova_domain *iovad)
{
	queue_run(iovad, 256, QUEUES_MAX, BURST);
}

/*
 * The flush queue of a busy device, whose sizes are cached: rings of 256, and
 * every 10 ms the CPU that has the timer frees what is in all of them.
 */
static void timed_queues(struct iova_domain *iovad, unsigned long pages)
{
	unsigned int cpu;

	queue_run(iovad, pages, QUEUES_MAX, BURST);
	sim_cpu = sim_random_below(QUEUES_MAX);
	for (cpu = 0; cpu < QUEUES_MAX; cpu++)
		queue_free(iovad, &queues[cpu], pages, queues[cpu].parked);
	sim_cpu = 0;
	sim_advance(9);
}

static void timed_4k(struct iova_domain *iovad)
{
	timed_queues(iovad, 1);
}

static void timed_256k(struct iova_domain *iovad)
{
	timed_queues(iovad, 64);
}

static void timed_1m(struct iova_domain *iovad)
{
	timed_queues(iovad, 256);
}

const struct workload workloads[] = {
	{ "lifo-4k", "one page, freed at once", 0, lifo_4k },
	{ "burst-4k", "256 of one page, freed in order", 0, burst_4k },
	{ "burst-mixed", "256 of 1 to 32 pages, freed in order", 0,
	  burst_mixed },
	{ "cross-4k", "256 of one page, freed on another CPU", 0, cross_4k },
	{ "cross-mixed", "256 of 1 to 32 pages, freed on another CPU", 0,
	  cross_mixed },
	{ "lifo-256k", "256 KiB, freed at once", 1 << 20, lifo_256k },
	{ "cross-256k", "256 of 256 KiB, freed on another CPU", 1 << 20,
	  cross_256k },
	{ "cross-1m", "256 of 1 MiB, freed on another CPU", 1 << 20,
	  cross_1m },
	{ "queue-256k", "256 KiB, parked in a ring of 1024, not cached", 0,
	  queue_256k },
	{ "queues-256k", "256 KiB, 4 CPUs with rings of 1024, not cached", 0,
	  queues_256k },
	{ "queues-1m", "1 MiB, 4 CPUs with rings of 256, not cached", 0,
	  queues_1m },
	{ "timed-4k", "4 KiB, 4 CPUs with rings of 256 and a timer", 1 << 20,
	  timed_4k },
	{ "timed-256k", "256 KiB, 4 CPUs with rings of 256 and a timer",
	  1 << 20, timed_256k },
	{ "timed-1m", "1 MiB, 4 CPUs with rings of 256 and a timer", 1 << 20,
	  timed_1m },
	{}
};

const struct workload *workload_named(const char *name)
{
	const struct workload *workload;

	for (workload = workloads; workload->name; workload++) {
		if (!strcmp(workload->name, name))
			return workload;
	}
	return NULL;
}

void workload_run(const struct workload *workload, struct iova_domain *iovad,
		  unsigned long chunks)
{
	while (chunks--) {
		workload->chunk(iovad);
		sim_advance(1);
	}
}
