// SPDX-License-Identifier: GPL-2.0-only
/*
 * ncpu run POLICY LOAD lazy|strict CPUS [NAME=NS...] [from=MS] [warm=MS] [time=MS]
 *	a line of results; NAME is a constant's, whose value is changed; counted
 *	for a time, from when it is warm on, but no earlier and no later than that
 * ncpu header		what its columns are
 * ncpu costs		the constants
 * ncpu loads		the loads
 */
#include <stdlib.h>

#include "ncpu.h"

static const struct {
	const char *class;
	const char *name;
} lock_names[] = {
	{ "&iovad->iova_rbtree_lock", "tree" },
	{ "&m->tree.lock", "tree" },
	{ "&depot->lock", "depot" },
	{ "&rcache->lock", "depot" },
	{ "&new->lock", "cpu-cache" },
	{ "&cpu_rcache->lock", "cpu-cache" },
	{ "&ring->lock", "cpu-queue" },
	{ "&fq->lock", "cpu-queue" },
	{ "&list->lock", "flush-list" },
	{ "&d->cache_lock", "domain" },
	{ "&unit->q_lock", "unit-queue" },
	{ "unit &ring->lock", "unit-queue" },
	{ "unit &ring->bell", "doorbell" },
	{ "&cache->lock", "slab" },
};

static const char *lock_name(unsigned int class)
{
	const char *name = clock_lock_class(class);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lock_names); i++) {
		if (!strcmp(name, lock_names[i].class))
			return lock_names[i].name;
	}
	return name;
}

/* What all classes of that name have seen. */
static struct clock_lock_stats lock_stats(const struct ncpu_run *run,
					  const char *name)
{
	struct clock_lock_stats sum = {};
	unsigned int i;

	for (i = 0; clock_lock_class(i); i++) {
		const struct clock_lock_stats *lock = &run->sum.lock[i];

		if (strcmp(name, lock_name(i)))
			continue;
		sum.taken += lock->taken;
		sum.waited += lock->waited;
		sum.wait += lock->wait;
		sum.held += lock->held;
	}
	return sum;
}

/* The lock that is waited for most; the one that is held most if none is. */
static const char *hottest(const struct ncpu_run *run)
{
	const char *name = "none";
	u64 wait = 0, held = 0;
	unsigned int i;

	for (i = 0; clock_lock_class(i); i++) {
		const struct clock_lock_stats *lock = &run->sum.lock[i];

		if (lock->wait < wait ||
		    (lock->wait == wait && lock->held <= held))
			continue;
		name = lock_name(i);
		wait = lock->wait;
		held = lock->held;
	}
	return name;
}

static double share(const struct ncpu_run *run, struct clock_lock_stats lock)
{
	return 100. * (lock.wait + lock.held) / run->elapsed;
}

static double each(const struct ncpu_run *run, u64 n)
{
	return run->sum.ops ? (double)n / run->sum.ops : 0;
}

static const char *const columns[] = {
	"policy", "load", "mode", "cpus", "ops/s", "ns/op", "driver", "pte",
	"work", "move", "lock", "flush", "idle", "hottest", "hottest%", "tree%",
	"depot%", "tree-locks", "depot-locks", "locks", "flushes", "moves",
	"accesses", "warm", "timer",
};

static void print_header(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(columns); i++)
		printf("%s%c", columns[i],
		       i + 1 < ARRAY_SIZE(columns) ? '\t' : '\n');
}

static void print(const struct ncpu_run *run)
{
	struct clock_lock_stats tree = lock_stats(run, "tree");
	struct clock_lock_stats depot = lock_stats(run, "depot");
	u64 locks = 0;
	unsigned int i;

	for (i = 0; clock_lock_class(i); i++)
		locks += run->sum.lock[i].taken;
	printf("%s\t%s\t%s\t%u\t%.0f\t%.1f", run->policy->name,
	       run->load->name, run->strict ? "strict" : "lazy", run->cpus,
	       ncpu_rate(run), each(run, run->elapsed) / 1000);
	for (i = 0; i < CLOCK_KINDS; i++)
		printf("\t%.1f", each(run, run->sum.time[i]) / 1000);
	printf("\t%s\t%.2f\t%.2f\t%.2f", hottest(run),
	       share(run, lock_stats(run, hottest(run))), share(run, tree),
	       share(run, depot));
	printf("\t%.6f\t%.6f\t%.4f\t%.6f\t%.3f\t%.1f\t%.0f\t%.1f\n",
	       each(run, tree.taken),
	       each(run, depot.taken), each(run, locks),
	       each(run, run->sum.flushes), each(run, run->sum.moves),
	       each(run, run->sum.accesses), run->warm / 1e9, clock_longest_timer / 1e6);
}

static void print_costs(void)
{
	unsigned int i;

	printf("constant\tns\tlow\thigh\twhat\tsource\n");
	for (i = 0; i < COST_NR; i++)
		printf("%s\t%g\t%g\t%g\t%s\t%s\n", cost_table[i].name,
		       cost_table[i].ns, cost_table[i].low, cost_table[i].high,
		       cost_table[i].what, cost_table[i].source);
}

static void print_loads(void)
{
	const struct ncpu_load *load;

	for (load = ncpu_loads; load->name; load++)
		printf("%s\t%s\n", load->name, load->what);
}

static bool option(struct ncpu_run *run, const char *arg)
{
	unsigned int ms;

	if (sscanf(arg, "from=%u", &ms) == 1)
		run->from = ms * CLOCK_MS;
	else if (sscanf(arg, "warm=%u", &ms) == 1)
		run->warm = ms * CLOCK_MS;
	else if (sscanf(arg, "time=%u", &ms) == 1)
		run->time = ms * CLOCK_MS;
	else
		return cost_set(arg);
	return true;
}

static bool parse(struct ncpu_run *run, int argc, char **argv)
{
	const struct ncpu_policy *const *policy = ncpu_policies;
	const struct ncpu_load *load = ncpu_loads;
	int i;

	while (*policy && strcmp((*policy)->name, argv[0]))
		policy++;
	while (load->name && strcmp(load->name, argv[1]))
		load++;
	run->policy = *policy;
	run->load = load;
	run->strict = !strcmp(argv[2], "strict");
	run->cpus = atoi(argv[3]);
	for (i = 4; i < argc; i++) {
		if (!option(run, argv[i]))
			return false;
	}
	return *policy && load->name && run->cpus &&
	       run->cpus <= SIM_CPUS_MAX &&
	       (run->strict || !strcmp(argv[2], "lazy"));
}

int main(int argc, char **argv)
{
	struct ncpu_run run = { .warm = 400 * CLOCK_MS, .time = 10 * CLOCK_MS };
	const char *mode = argc > 1 ? argv[1] : "";

	cost_reset();
	if (argc >= 6 && !strcmp(mode, "run") &&
	    parse(&run, argc - 2, argv + 2)) {
		ncpu_run(&run);
		print(&run);
	} else if (!strcmp(mode, "header")) {
		print_header();
	} else if (!strcmp(mode, "costs")) {
		print_costs();
	} else if (!strcmp(mode, "loads")) {
		print_loads();
	} else {
		fprintf(stderr, "usage: %s run|header|costs|loads ...\n",
			argv[0]);
		return 2;
	}
	return 0;
}
