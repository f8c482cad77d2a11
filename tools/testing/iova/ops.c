// SPDX-License-Identifier: GPL-2.0-only
/*
 * The language of ops.h.
 */
#include "ops.h"

#define MAX_LIVE	512

struct live {
	unsigned long	pfn;
	unsigned long	pages;
	bool		fast;
};

unsigned long ops_fail_at;

static struct {
	struct iova_domain	iovad;
	struct ops_result	result;
	struct live		live[MAX_LIVE];
	unsigned int		nr;
	/* As a flush queue has them: no longer in use, and not yet freed. */
	struct live		queue[MAX_LIVE];
	unsigned int		queued;
	unsigned long		top;
	bool			sabotaged;
} ops;

static unsigned long size_of(u8 arg)
{
	unsigned long power = 1UL << (arg % 12);

	switch (arg / 64) {
	case 0:
		return arg + 1;
	case 1:
		return power;
	case 2:
		return power + 1;
	default:
		return max(power - 1, 1UL);
	}
}

static unsigned long limit_of(u8 arg)
{
	return ops.top * (arg + 1) / 256;
}

static void remember(unsigned long pfn, unsigned long pages, bool fast)
{
	ops.live[ops.nr++] = (struct live) { pfn, pages, fast };
	ops.result.allocated++;
}

/* With nothing parked and nothing failing, no place means no place. */
static void check_refusal(unsigned long pages, unsigned long limit)
{
	struct iova_request req = {
		.size = pages, .limit = limit, .aligned = true,
	};
	unsigned long pfn;
	bool fits;

	ops.result.refused++;
	if (ops.sabotaged)
		return;
	sim_check(!domain_parked(&ops.iovad), "%lu are parked and %lu refused",
		  domain_parked(&ops.iovad), pages);
	sim_check(!ops.queued, "%u wait in the queue", ops.queued);
	spin_lock_irq(&ops.iovad.iova_rbtree_lock);
	fits = iova_tree_oracle(&ops.iovad, &req, &pfn);
	spin_unlock_irq(&ops.iovad.iova_rbtree_lock);
	sim_check(!fits, "%lu pages fit at %#lx", pages, pfn);
}

static void op_alloc(u8 size, u8 limit, bool flush)
{
	unsigned long failed = sim_memory.failed, pfn;

	if (ops.nr == MAX_LIVE)
		return;
	pfn = map_alloc(&ops.iovad, size_of(size), limit_of(limit), flush);
	ops.sabotaged = sim_memory.failed != failed;
	if (pfn)
		remember(pfn, size_of(size), true);
	else if (flush)
		check_refusal(size_of(size), limit_of(limit));
}

static void op_alloc_tree(u8 size, u8 limit, bool aligned)
{
	struct iova *iova;

	if (ops.nr == MAX_LIVE)
		return;
	iova = alloc_iova(&ops.iovad, size_of(size), limit_of(limit), aligned);
	if (!iova)
		return;
	sim_check(iova->pfn_hi <= limit_of(limit), "%#lx", iova->pfn_hi);
	shadow_take(iova->pfn_lo, size_of(size));
	remember(iova->pfn_lo, size_of(size), false);
}

static struct live forget(u8 arg)
{
	unsigned int i = arg % ops.nr;
	struct live live = ops.live[i];

	ops.live[i] = ops.live[--ops.nr];
	return live;
}

static void op_free(u8 arg)
{
	struct live live;

	if (!ops.nr)
		return;
	live = forget(arg);
	if (live.fast) {
		map_free(&ops.iovad, live.pfn, live.pages);
		return;
	}
	shadow_give(live.pfn, live.pages);
	if (arg % 2)
		free_iova(&ops.iovad, live.pfn + live.pages / 2);
	else
		__free_iova(&ops.iovad, find_iova(&ops.iovad, live.pfn));
}

static void op_queue(u8 arg)
{
	if (ops.nr && ops.queued < MAX_LIVE && ops.live[arg % ops.nr].fast)
		ops.queue[ops.queued++] = forget(arg);
}

static bool flush_parked(struct iova_domain *iovad)
{
	sim_check(!sim_irqs_disabled(), "asked with interrupts off");
	while (ops.queued) {
		ops.queued--;
		map_free(iovad, ops.queue[ops.queued].pfn,
			 ops.queue[ops.queued].pages);
	}
	return false;
}

static void op_hotplug(unsigned int cpu)
{
	cpu %= nr_cpu_ids;
	if (!cpu_online(cpu))
		sim_cpu_up(cpu);
	else if (cpu != sim_cpu)
		sim_cpu_down(cpu);
}

static void op_alloc_some(u8 size, u8 nr)
{
	unsigned int i;

	for (i = 0; i <= nr % 64; i++)
		op_alloc(size, 255, true);
}

static void op_free_some(u8 nr, u8 which)
{
	unsigned int i;

	for (i = 0; i <= nr % 64; i++)
		op_free(which);
}

static void op_cpu(u8 cpu)
{
	if (cpu_online(cpu % nr_cpu_ids))
		sim_cpu = cpu % nr_cpu_ids;
}

/* What each letter does. */
static void op_run(char what, u8 x, u8 y)
{
	if (what == 'a' || what == 'A')
		op_alloc(x, y, what == 'A');
	else if (what == 'b')
		op_alloc_some(x, y);
	else if (what == 't' || what == 'u')
		op_alloc_tree(x, y, what == 't');
	else if (what == 'f')
		op_free(x);
	else if (what == 'g')
		op_free_some(x, y);
	else if (what == 'q')
		op_queue(x);
	else if (what == 'Q')
		flush_parked(&ops.iovad);
	else if (what == 'c')
		op_cpu(x);
	else if (what == 'o')
		op_hotplug(x);
	else if (what == 'k')
		iova_domain_set_cached_range(&ops.iovad, x * PAGE_SIZE);
	else if (what == 'K')
		iova_domain_set_cached_range(&ops.iovad, PAGE_SIZE << x % 12);
	else if (what == 'w')
		sim_run_work();
	else if (what == 'p')
		sim_advance(x * 4);
	else if (what == 'n')
		sim_memory.fail_at = sim_memory.calls + 1 + x % 8;
	else if (what == 'm')
		sim_locks.contended = x % 8;
	else if (what == 'i')
		domain_reclaim(&ops.iovad);
	else
		sim_check(false, "what is %c?", what);
}

/* Live ranges shorter than their class must be on record, exactly. */
static void check_odd(void)
{
	struct live *sets[] = { ops.live, ops.queue };
	unsigned int nr[] = { ops.nr, ops.queued }, odd[IOVA_NR_ORDERS] = {};
	unsigned int i, set, order;

	for (set = 0; set < 2; set++) {
		for (i = 0; i < nr[set]; i++) {
			struct live *live = &sets[set][i];
			struct iova *iova = find_iova(&ops.iovad, live->pfn);

			order = order_base_2(iova_size(iova));
			if (live->fast && !is_power_of_2(iova_size(iova)) &&
			    order < IOVA_NR_ORDERS)
				odd[order]++;
		}
	}
	for (i = 0; i < IOVA_NR_ORDERS; i++)
		sim_check(odd[i] == ops.iovad.rcache->odd[i],
			  "order %u: %u odd ranges on record, %u live", i,
			  ops.iovad.rcache->odd[i], odd[i]);
}

static void check(void)
{
	const char *wrong = domain_wrong(&ops.iovad);
	unsigned long parked = domain_parked(&ops.iovad);

	sim_check(!wrong, "after %lu: %s", ops.result.done, wrong);
	sim_check(ops.iovad.stats.ranges == parked + ops.nr + ops.queued,
		  "after %lu: %lu ranges, %lu parked, %u live, %u queued",
		  ops.result.done, ops.iovad.stats.ranges, parked, ops.nr,
		  ops.queued);
	check_odd();
}

static void ops_begin(const u8 *setup)
{
	world_begin(setup[0] % 8 + 1);
	memset(&ops, 0, sizeof(ops));
	ops.top = (64UL << setup[1] % 11) - 1;
	domain_begin_cached(&ops.iovad, setup[2] % 16 + 1);
	ops.iovad.flush_parked = flush_parked;
	if (ops_fail_at)
		sim_memory.fail_at = sim_memory.calls + ops_fail_at;
}

/* Free all; then nothing must be left, and the space be whole again. */
static void ops_end(void)
{
	unsigned long start = ops.iovad.start_pfn;
	struct iova *iova;

	sim_memory.fail_at = 0;
	ops.result.failed = sim_memory.failed;
	flush_parked(&ops.iovad);
	while (ops.nr)
		op_free(ops.nr);
	check();
	domain_reclaim(&ops.iovad);
	sim_check(!ops.iovad.stats.ranges, "%lu ranges are lost",
		  ops.iovad.stats.ranges);
	iova = alloc_iova(&ops.iovad, ops.top - start + 1, ops.top, false);
	sim_check(iova && iova->pfn_lo == start, "the space is not whole");
	__free_iova(&ops.iovad, iova);
	domain_end(&ops.iovad);
	sim_locks.contended = 0;
	world_end();
}

struct ops_result ops_run(const u8 *script, size_t len, unsigned int every)
{
	static const char letters[] = OPS_LETTERS;
	const u8 *op;

	if (len < 3)
		return (struct ops_result) {};
	ops_begin(script);
	for (op = script + 3; op + 3 <= script + len; op += 3) {
		char what = op[0] && strchr(letters, op[0]) ? op[0] :
			    letters[op[0] % (sizeof(letters) - 1)];

		op_run(what, op[1], op[2]);
		if (++ops.result.done % every == 0)
			check();
	}
	ops_end();
	return ops.result;
}
