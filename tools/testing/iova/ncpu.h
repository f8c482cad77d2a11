/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulation of many CPUs that map and unmap: what they do, on top of what,
 * and what came of it. clocked/clock.h has the CPUs themselves.
 *
 *   load	what CPUs do: which sizes, in which domains, who frees
 *   policy	what serves them: an allocator and a way to invalidate
 *   operation	one map and its unmap
 */
#ifndef _NCPU_H
#define _NCPU_H

#include "clocked/clock.h"

#include <linux/iova.h>
#include <linux/spinlock.h>

#define NCPU_DOMAINS_MAX	64

/**
 * struct ncpu_policy - what serves a load
 * @name: short, for tables
 * @what: in words
 * @begin: make domains; called outside of all CPUs
 * @map: allocate address space, 0 for none
 * @unmap: invalidate it, now or later, and free it
 */
struct ncpu_policy {
	const char	*name;
	const char	*what;
	void		(*begin)(unsigned int domains, size_t range, bool strict);
	unsigned long	(*map)(unsigned int domain, unsigned long pages);
	void		(*unmap)(unsigned int domain, unsigned long pfn,
				 unsigned long pages);
};

/* Of this program; ends with NULL. */
extern const struct ncpu_policy *const ncpu_policies[];
extern const struct ncpu_policy ncpu_off;

enum ncpu_crossed {
	NCPU_SAME,	/* itself */
	NCPU_NEXT,	/* even ones map, the next odd one unmaps */
	NCPU_FAR,	/* the lower half maps, one of the upper half unmaps */
};

/**
 * struct ncpu_load - what CPUs do
 * @name: short, for tables
 * @what: in words
 * @sizes: in pages, one of them at random for each operation; ends with 0
 * @domains: how many, in turns
 * @range: cached range that is set where a policy can, in bytes; 0 for default
 * @crossed: which CPU unmaps what one has mapped
 * @driver: what a driver does for an operation, in ns; 0 for what the table says
 * @burst: each CPU maps so many, unmaps them all, and then waits for the timer; 0
 *	   for a steady load
 */
struct ncpu_load {
	const char		*name;
	const char		*what;
	const unsigned short	*sizes;
	unsigned int		domains;
	size_t			range;
	enum ncpu_crossed	crossed;
	double			driver;
	unsigned int		burst;
};

/* Ends with one without a name. */
extern const struct ncpu_load ncpu_loads[];

/**
 * struct ncpu_run - a run, and what came of it
 * @policy: what serves
 * @load: what is to be served
 * @strict: invalidate at once
 * @cpus: how many
 * @from: clock at which counting begins at the earliest, in ps
 * @warm: and at the latest, and then did
 * @time: how long it goes on
 * @elapsed: time that was counted, all CPUs
 * @sum: all CPUs
 */
struct ncpu_run {
	const struct ncpu_policy	*policy;
	const struct ncpu_load		*load;
	bool				strict;
	unsigned int			cpus;
	u64				from;
	u64				warm;
	u64				time;
	u64				elapsed;
	struct clock_stats		sum;
};

/* Once a program: memory is not given back. */
void ncpu_run(struct ncpu_run *run);
/* Operations a second, all CPUs. */
double ncpu_rate(const struct ncpu_run *run);

/* Of a loop that waits for the unit, a round. */
#define NCPU_RELAX	20000

/* ncpu-unit.c: the remapping unit as 6.12 uses it, one for all domains. */
void ncpu_unit_begin(void);
/* Invalidate, and wait for it. */
void ncpu_unit_poll(void);

/* ncpu-qi.c: the same with the series' invalidation queue. */
void ncpu_qi_begin(void);
void ncpu_qi_flush(void);

/**
 * ncpu_alloc - what dma-iommu does for a device behind PCI
 * @iovad: domain
 * @wide: addresses of 32 bits have run out before
 * @pages: size
 *
 * Return: first pfn; 0 if there is no place at all.
 */
static inline unsigned long ncpu_alloc(struct iova_domain *iovad, bool *wide,
				       unsigned long pages)
{
	unsigned long pfn;

	if (!READ_ONCE(*wide)) {
		pfn = alloc_iova_fast(iovad, pages, (1UL << 20) - 1, false);
		if (pfn)
			return pfn;
		WRITE_ONCE(*wide, true);
	}
	return alloc_iova_fast(iovad, pages, (1UL << 36) - 1, true);
}

#endif
