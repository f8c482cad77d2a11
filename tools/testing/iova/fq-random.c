// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whatever can happen, at random, with the fake unit as the judge.
 */
#include <linux/preempt.h>

#include "fq-world.h"
#include "test.h"

#define CPUS	6
#define DOMAINS	5
#define LIVE	3000

static struct {
	unsigned long pfn[LIVE];
	unsigned int pages[LIVE];
	unsigned int domain[LIVE];
	unsigned int nr;
	bool gone[DOMAINS];
} s;

static void map_one(void)
{
	unsigned int domain = sim_random_below(DOMAINS), pages;
	unsigned long pfn;

	if (s.nr >= LIVE || s.gone[domain])
		return;
	pages = 1 + sim_random_below(1UL << sim_random_below(11));
	pfn = fq_map(domain, pages);
	sim_check(pfn || sim_memory.fail_from, "no place for %u", pages);
	if (!pfn)
		return;
	s.pfn[s.nr] = pfn;
	s.pages[s.nr] = pages;
	s.domain[s.nr++] = domain;
}

static void unmap_nth(unsigned int n)
{
	unsigned int domain = s.domain[n], pages = s.pages[n];
	unsigned long pfn = s.pfn[n];

	s.nr--;
	s.pfn[n] = s.pfn[s.nr];
	s.pages[n] = s.pages[s.nr];
	s.domain[n] = s.domain[s.nr];
	fq_unmap(domain, pfn, pages, sim_random_below(4) / 3);
}

static void come(unsigned int domain, struct iommu_fq *fq)
{
	fq_domain_begin(domain, fq ? iommu_fq_get(fq) :
			iommu_fq_alloc(NULL, NULL, false));
	s.gone[domain] = false;
}

/* With all that is mapped, and interrupts that unmap other things meanwhile. */
static void go(unsigned int domain)
{
	unsigned int n = 0;

	s.gone[domain] = true;
	while (n < s.nr) {
		if (s.domain[n] == domain) {
			unmap_nth(n);
			n = 0;
		} else {
			n++;
		}
	}
	fq_domain_leave(domain);
}

static void cpu_comes_or_goes(void)
{
	unsigned int cpu = 1 + sim_random_below(CPUS - 1);

	sim_cpu = 0;
	if (cpu_online(cpu))
		sim_cpu_down(cpu);
	else
		sim_cpu_up(cpu);
}

static void move(void)
{
	unsigned int cpu = sim_random_below(CPUS);

	if (cpu_online(cpu))
		sim_cpu = cpu;
}

/* An interrupt in the middle of a flush, which does what interrupts do. */
static void interrupt(void)
{
	bool was = sim_in_interrupt;
	unsigned int n;

	if (sim_random_below(3))
		return;
	fq_unit.during = NULL;
	sim_in_interrupt = true;
	for (n = sim_random_below(40); n && s.nr; n--)
		unmap_nth(sim_random_below(s.nr));
	for (n = sim_random_below(10); n; n--)
		map_one();
	sim_in_interrupt = was;
	fq_unit.during = interrupt;
}

static void step(struct iommu_fq *fq)
{
	unsigned int what = sim_random_below(1000), n, domain;

	if (what < 400) {
		for (n = sim_random_below(8); n; n--)
			map_one();
	} else if (what < 840) {
		for (n = sim_random_below(8); n && s.nr; n--)
			unmap_nth(sim_random_below(s.nr));
	} else if (what < 930) {
		move();
	} else if (what < 980) {
		sim_advance(sim_random_below(4));
	} else if (what < 985) {
		domain = sim_random_below(DOMAINS);
		if (!s.gone[domain])
			fq_set_extra(domain, sim_random_below(2));
	} else if (what < 988) {
		domain = sim_random_below(DOMAINS);
		if (!s.gone[domain])
			iommu_fq_reclaim(&fq_unit.domain[domain].client);
	} else if (what < 993) {
		cpu_comes_or_goes();
	} else if (what < 995) {
		domain = sim_random_below(DOMAINS);
		if (s.gone[domain])
			come(domain, fq);
		else
			go(domain);
	} else if (what < 998) {
		for (n = 0; n < 1700; n++)
			map_one();
		while (s.nr)
			unmap_nth(s.nr - 1);
	} else {
		/* Memory runs out for a while. */
		sim_memory.fail_from = sim_random_below(2) ?
				       sim_memory.calls + 1 : 0;
		for (n = 0; n < 50 && s.nr; n++)
			unmap_nth(sim_random_below(s.nr));
		sim_memory.fail_from = 0;
	}
}

static void run(struct __test_metadata *_metadata, unsigned long seed, bool unit)
{
	unsigned long steps = SCALE(60000, 3000000);
	unsigned int domain;

	sim_seed = seed;
	memset(&s, 0, sizeof(s));
	fq_begin(CPUS, DOMAINS, unit);
	fq_unit.during = interrupt;
	while (steps--)
		step(fq_unit.fq);
	fq_unit.during = NULL;
	while (s.nr)
		unmap_nth(s.nr - 1);
	for (domain = 0; domain < DOMAINS; domain++) {
		if (s.gone[domain])
			come(domain, fq_unit.fq);
	}
	sim_advance(4 * IOMMU_FQ_TIMEOUT);
	ASSERT_EQ(0, fq_uncovered);
	ASSERT_EQ(0, fq_unit.pages);
	if (unit) {
		ASSERT_EQ(0, fq_stats(fq_unit.fq).pending);
		ASSERT_EQ(0, fq_stats(fq_unit.fq).reclaimable);
		TH_LOG("seed %lu: flushes %lu, domain %ld, extra %ld, strict %ld; window %lu ms",
		       seed, fq_flushes(fq_unit.fq),
		       fq_unit.fq->domain_flushes.counter,
		       fq_unit.fq->extra_flushes.counter,
		       fq_unit.fq->strict.counter, fq_window);
	}
	fq_end();
}

TEST(a_unit_with_domains)
{
	unsigned long seed;

	for (seed = 1; seed <= 5; seed++)
		run(_metadata, seed, true);
}

TEST(a_queue_for_each_domain)
{
	unsigned long seed;

	for (seed = 11; seed <= 13; seed++)
		run(_metadata, seed, false);
}

TEST_HARNESS_MAIN
