// SPDX-License-Identifier: GPL-2.0-only
/*
 * What CPUs do. A CPU keeps IN_FLIGHT mappings and unmaps the oldest when it has
 * made another, as a driver does with its ring. What a driver does besides takes
 * half to one and a half times its mean, at random, so that CPUs do not march in
 * step.
 */
#include "ncpu.h"

#define IN_FLIGHT	64
/* What a CPU hands to another waits here; a power of two. */
#define RING		256
#define POLL		(200 * 1000)
/* How often it is looked whether a run is warm. */
#define WINDOW		(4 * CLOCK_MS)

static const unsigned short one_page[] = { 1, 0 };
static const unsigned short large[] = { 64, 0 };
static const unsigned short uncached[] = { 33, 100, 256, 500, 1024, 0 };
static const unsigned short mixed[] = { 1, 2, 8, 16, 32, 33, 64, 100, 128, 256, 0 };

const struct ncpu_load ncpu_loads[] = {
	{ "same", "4 KiB, mapped and unmapped on one CPU", one_page, 1, 1 << 20 },
	{ "receive", "4 KiB, mapped on one CPU and unmapped on another",
	  one_page, 1, 1 << 20, NCPU_NEXT },
	{ "mixed", "4 KiB to 1 MiB, knob at 1M", mixed, 1, 1 << 20 },
	{ "large", "256 KiB, knob at 1M", large, 1, 1 << 20 },
	{ "large-receive", "256 KiB, mapped on one CPU and unmapped on another",
	  large, 1, 1 << 20, NCPU_NEXT },
	{ "large-far-receive", "256 KiB, mapped by one half of the CPUs and unmapped by the other",
	  large, 1, 1 << 20, NCPU_FAR },
	{ "domains-8", "4 KiB, 8 domains in turns", one_page, 8, 1 << 20 },
	{ "domains-64", "4 KiB, 64 domains in turns", one_page, 64, 1 << 20 },
	/* 1,088,996 transactions a second on 16 cores, two packets each. */
	{ "memcached", "4 KiB, with the work of memcached in 2015", one_page, 1,
	  0, NCPU_SAME, 16e9 / 1088996 / 2 },
	/* Less than makes a ring of the base's, of 256, ask for a flush. */
	{ "bursts", "33 to 1024 pages, knob at its default, until rings are full",
	  uncached, 1, 0, NCPU_SAME, 0, 240 },
	{}
};

struct buffer {
	unsigned long	pfn;
	unsigned short	pages;
	unsigned short	domain;
	u64		since;
};

static struct ring {
	struct buffer	buffer[RING];
	unsigned int	head;
	unsigned int	tail;
} rings[SIM_CPUS_MAX];

static struct ncpu_run *run;
static unsigned int nr_sizes;

static void off_begin(unsigned int domains, size_t range, bool strict)
{
}

static unsigned long off_map(unsigned int domain, unsigned long pages)
{
	clock_spend(CLOCK_WORK, cost[COST_OFF] / 2);
	return 1;
}

static void off_unmap(unsigned int domain, unsigned long pfn,
		      unsigned long pages)
{
	clock_spend(CLOCK_WORK, cost[COST_OFF] / 2);
}

const struct ncpu_policy ncpu_off = {
	"off", "no IOMMU", off_begin, off_map, off_unmap,
};

static void driver_work(void)
{
	u64 mean = run->load->driver ? run->load->driver * 1000 :
				       cost[COST_DRIVER];

	/* Half an operation's. */
	clock_spend(CLOCK_DRIVER, mean / 4 + clock_random_below(mean / 2 + 1));
}

static void page_table_work(unsigned long pages)
{
	if (run->policy != &ncpu_off)
		clock_spend(CLOCK_PTE, (cost[COST_PTE] + (pages - 1) *
					cost[COST_PTE_PAGE]) / 2);
}

static void map(struct ring *ring, unsigned int *turn)
{
	struct buffer *buffer = &ring->buffer[ring->tail % RING];

	driver_work();
	buffer->pages = run->load->sizes[clock_random_below(nr_sizes)];
	buffer->domain = (*turn)++ % run->load->domains;
	buffer->pfn = run->policy->map(buffer->domain, buffer->pages);
	sim_check(buffer->pfn, "no address space");
	page_table_work(buffer->pages);
	buffer->since = clock_cpu->now;
	__atomic_store_n(&ring->tail, ring->tail + 1, __ATOMIC_RELEASE);
}

static void unmap(struct ring *ring)
{
	struct buffer buffer = ring->buffer[ring->head % RING];

	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
	driver_work();
	page_table_work(buffer.pages);
	run->policy->unmap(buffer.domain, buffer.pfn, buffer.pages);
	clock_cpu->stats.ops++;
}

static void same_step(unsigned int *turn)
{
	struct ring *ring = &rings[clock_cpu->id];

	map(ring, turn);
	if (ring->tail - ring->head > IN_FLIGHT)
		unmap(ring);
}

static void receive_step(unsigned int *turn)
{
	bool far = run->load->crossed == NCPU_FAR;
	unsigned int id = clock_cpu->id, half = run->cpus / 2;
	bool maps = far ? id < half : id % 2 == 0;
	struct ring *ring = &rings[far ? id % half : id & ~1];
	unsigned int level = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) -
			     __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	if (maps && level < RING) {
		map(ring, turn);
	} else if (!maps && level) {
		/* Its CPU may have run ahead. */
		clock_spend_until(CLOCK_IDLE,
				  ring->buffer[ring->head % RING].since);
		unmap(ring);
	} else {
		clock_spend(CLOCK_IDLE, POLL);
	}
}

/* Fill the ring of this CPU, and wait until what is in it has been freed. */
static void burst_step(unsigned int *turn)
{
	struct ring *ring = &rings[clock_cpu->id];
	unsigned int i;

	for (i = 0; i < run->load->burst; i++)
		map(ring, turn);
	while (ring->tail != ring->head)
		unmap(ring);
	for (i = 0; i < 60; i++) {
		clock_spend(CLOCK_IDLE, CLOCK_MS);
		clock_sync();
		clock_run_timers();
	}
}

static void add_up(u64 since)
{
	u64 *from = (u64 *)&clock_cpu->stats, *to = (u64 *)&run->sum;
	unsigned int i;

	for (i = 0; i < sizeof(run->sum) / sizeof(*to); i++)
		__atomic_fetch_add(&to[i], from[i], __ATOMIC_RELAXED);
	__atomic_fetch_add(&run->elapsed, clock_cpu->now - since,
			   __ATOMIC_RELAXED);
}

/* Time that all CPUs have spent with locks, or waiting for them. */
static u64 lock_time(void)
{
	u64 sum = 0;
	unsigned int i, class;

	for (i = 0; i < run->cpus; i++) {
		for (class = 0; clock_lock_class(class); class++)
			sum += clock_cpus[i].stats.lock[class].wait;
	}
	return sum;
}

/*
 * The run is warm once nobody waits for locks any more, or is as warm as it gets.
 * CPU 0 looks, and gives the others time to come to that point.
 */
static void warm_up(void)
{
	static u64 next = WINDOW, before;
	u64 waited;

	if (clock_cpu->id || clock_cpu->now < next || run->warm <= next)
		return;
	waited = lock_time();
	if (next >= run->from && waited - before < WINDOW / 100 * run->cpus)
		run->warm = next + WINDOW;
	before = waited;
	next += WINDOW;
}

static void cpu_main(void)
{
	bool crossed = run->load->crossed && run->cpus > 1;
	unsigned int turn = clock_cpu->id;
	u64 since = 0;

	/* Nobody begins in the same moment. */
	clock_spend(CLOCK_DRIVER, clock_random_below(CLOCK_US));
	while (clock_cpu->now < run->warm + run->time) {
		warm_up();
		if (!since && clock_cpu->now >= run->warm) {
			since = clock_cpu->now;
			memset(&clock_cpu->stats, 0, sizeof(clock_cpu->stats));
			clock_longest_timer = 0;
		}
		clock_sync();
		clock_run_timers();
		if (run->load->burst)
			burst_step(&turn);
		else if (crossed)
			receive_step(&turn);
		else
			same_step(&turn);
	}
	add_up(since);
}

void ncpu_run(struct ncpu_run *new)
{
	run = new;
	sim_set_cpus(run->cpus);
	for (nr_sizes = 0; run->load->sizes[nr_sizes]; )
		nr_sizes++;
	run->policy->begin(run->load->domains, run->load->range, run->strict);
	clock_run(run->cpus, cpu_main);
}

double ncpu_rate(const struct ncpu_run *run)
{
	return run->sum.ops * 1e12 * run->cpus / run->elapsed;
}
