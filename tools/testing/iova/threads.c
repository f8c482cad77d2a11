// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once, under ThreadSanitizer: tasks that allocate and free on
 * CPUs they move between, and free what others have allocated; works; CPUs that
 * come and go; the cached range; readers of the counters.
 */
#include <pthread.h>
#include <unistd.h>

#include "test.h"

#define CPUS		8
/* Their numbers lie so far apart that a class that is split has four depots. */
#define STRIDE		(IOVA_DEPOT_CPUS / 2)
#define TASKS		4
#define BOARD		256
#define TOP_PFN		((1UL << 17) - 1)

struct range {
	unsigned long pfn;
	unsigned long pages;
};

static struct {
	struct iova_domain iovad;
	/* Where tasks leave ranges for others to free: a struct range, packed. */
	unsigned long board[BOARD];
	unsigned long ops;
	unsigned long flushed;
	bool stop;
	bool stop_worker;
} race;

/* Pages in the low 16 bits. */
static unsigned long pack(struct range range)
{
	return range.pfn << 16 | range.pages;
}

static struct range unpack(unsigned long packed)
{
	return (struct range) { packed >> 16, packed & 0xffff };
}

static void race_free(struct range range)
{
	if (range.pages)
		map_free(&race.iovad, range.pfn, range.pages);
}

/* Pin on the board, and take down what was there. */
static struct range swap_on_board(struct range range)
{
	unsigned long *slot = &race.board[sim_random_below(BOARD)];

	return unpack(__atomic_exchange_n(slot, pack(range), __ATOMIC_ACQ_REL));
}

static void move_to_a_cpu(void)
{
	unsigned int cpu = sim_random_below(CPUS) * STRIDE;

	/* It may go while we are on our way: then we are late. */
	if (cpu_online(cpu))
		sim_cpu = cpu;
}

static struct range race_alloc(void)
{
	unsigned long limit = sim_random_below(4) ? TOP_PFN : TOP_PFN / 2;
	struct range range;

	range.pages = 1 + sim_random_below(1UL << sim_random_below(9));
	range.pfn = map_alloc(&race.iovad, range.pages, limit,
			      sim_random_below(2));
	if (!range.pfn)
		range.pages = 0;
	return range;
}

static void *task(void *seed)
{
	struct range own[32] = {};
	unsigned long i;

	sim_seed = (unsigned long)seed;
	for (i = 0; i < race.ops; i++) {
		struct range *range = &own[sim_random_below(32)];

		if (sim_random_below(16) == 0)
			move_to_a_cpu();
		race_free(*range);
		*range = race_alloc();
		if (sim_random_below(2))
			*range = swap_on_board(*range);
	}
	for (i = 0; i < 32; i++)
		race_free(own[i]);
	return NULL;
}

/* As a driver's queue that has something for us now and then. */
static bool flush_parked(struct iova_domain *iovad)
{
	sim_check(!sim_irqs_disabled(), "asked with interrupts off");
	__atomic_fetch_add(&race.flushed, 1, __ATOMIC_RELAXED);
	race_free(swap_on_board((struct range) {}));
	return false;
}

static void *administrator(void *unused)
{
	int err;

	while (!READ_ONCE(race.stop)) {
		err = iova_domain_set_cached_range(&race.iovad, PAGE_SIZE <<
						   sim_random_below(11));
		sim_check(!err, "%d", err);
		usleep(sim_random_below(500));
	}
	return NULL;
}

static void *hotplug(void *unused)
{
	unsigned int cpu;

	while (!READ_ONCE(race.stop)) {
		/* CPU 0 stays. */
		cpu = (1 + sim_random_below(CPUS - 1)) * STRIDE;
		sim_cpu_down(cpu);
		usleep(sim_random_below(500));
		sim_cpu_up(cpu);
	}
	return NULL;
}

/* Ask for what a crowd at a depot's lock asks for. */
static void *crowd(void *unused)
{
	struct iova_rcache *rcache = race.iovad.rcache;

	while (!READ_ONCE(race.stop)) {
		struct iova_depot *depot =
			&rcache->depot[sim_random_below(IOVA_NR_ORDERS)];

		spin_lock_irq(&depot->lock);
		depot->split = true;
		spin_unlock_irq(&depot->lock);
		queue_work(system_unbound_wq, &rcache->supply);
		usleep(sim_random_below(500));
	}
	return NULL;
}

static void *reader(void *unused)
{
	struct iova_domain_stats stats;

	while (!READ_ONCE(race.stop)) {
		iova_domain_get_stats(&race.iovad, &stats);
		sim_check(stats.cpus <= CPUS, "%u", stats.cpus);
		find_iova(&race.iovad, 1 + sim_random_below(TOP_PFN));
		usleep(200);
	}
	return NULL;
}

typedef void *(*thread_fn)(void *);

static void run(struct __test_metadata *_metadata, const thread_fn *helpers,
		unsigned int nr)
{
	pthread_t tasks[TASKS], others[8], worker;
	unsigned int i;

	sim_set_cpus(CPUS * STRIDE);
	ASSERT_EQ(0, iova_cache_get());
	init_iova_domain(&race.iovad, PAGE_SIZE, 1);
	ASSERT_EQ(0, iova_domain_init_rcaches(&race.iovad));
	race.iovad.flush_parked = flush_parked;
	race.ops = SCALE(25000, 2000000);

	pthread_create(&worker, NULL, sim_worker, &race.stop_worker);
	for (i = 0; i < nr; i++)
		pthread_create(&others[i], NULL, helpers[i], NULL);
	for (i = 0; i < TASKS; i++)
		pthread_create(&tasks[i], NULL, task, (void *)(i + 1UL));
	for (i = 0; i < TASKS; i++)
		pthread_join(tasks[i], NULL);
	WRITE_ONCE(race.stop, true);
	for (i = 0; i < nr; i++)
		pthread_join(others[i], NULL);

	for (i = 0; i < BOARD; i++)
		race_free(unpack(race.board[i]));
	ASSERT_EQ(0, shadow_taken());
	/* The works are still at it; the last of them must not be missed. */
	put_iova_domain(&race.iovad);
	WRITE_ONCE(race.stop_worker, true);
	pthread_join(worker, NULL);
	ASSERT_FALSE(sim_work_pending());
	iova_cache_put();
	ASSERT_EQ(0, sim_memory.live);
}

TEST(tasks_and_works)
{
	run(_metadata, NULL, 0);
}

TEST(cached_range_changes)
{
	run(_metadata, (thread_fn []) { administrator, reader }, 2);
}

TEST(cpus_come_and_go)
{
	run(_metadata, (thread_fn []) { hotplug, reader }, 2);
}

TEST(classes_are_split)
{
	run(_metadata, (thread_fn []) { crowd, reader }, 2);
}

TEST(everything_at_once)
{
	run(_metadata, (thread_fn []) { administrator, hotplug, reader, crowd },
	    4);
}

/* After the same, with the works over: all rules hold and nothing is lost. */
TEST(all_rules_hold_afterwards)
{
	pthread_t tasks[TASKS], admin, plug;
	unsigned long i;

	sim_set_cpus(CPUS * STRIDE);
	ASSERT_EQ(0, iova_cache_get());
	init_iova_domain(&race.iovad, PAGE_SIZE, 1);
	ASSERT_EQ(0, iova_domain_init_rcaches(&race.iovad));
	race.ops = SCALE(10000, 500000);
	pthread_create(&admin, NULL, administrator, NULL);
	pthread_create(&plug, NULL, hotplug, NULL);
	for (i = 0; i < TASKS; i++)
		pthread_create(&tasks[i], NULL, task, (void *)(i + 100));
	for (i = 0; i < TASKS; i++)
		pthread_join(tasks[i], NULL);
	WRITE_ONCE(race.stop, true);
	pthread_join(admin, NULL);
	pthread_join(plug, NULL);

	sim_run_work();
	ASSERT_SOUND(&race.iovad);
	for (i = 0; i < BOARD; i++)
		race_free(unpack(race.board[i]));
	ASSERT_SOUND(&race.iovad);
	domain_reclaim(&race.iovad);
	ASSERT_EQ(0, race.iovad.stats.ranges);
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		ASSERT_EQ(0, race.iovad.rcache->odd[i]);
	put_iova_domain(&race.iovad);
	iova_cache_put();
	ASSERT_EQ(0, sim_memory.live);
}

TEST_HARNESS_MAIN
