/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a domain is used for, over and over; through the exported interface
 * alone, so that the base's own allocator can be put to the same use.
 */
#ifndef _WORKLOAD_H
#define _WORKLOAD_H

#include <linux/iova.h>

/* 32 address bits with 4 KiB pages. */
#define WORKLOAD_LIMIT	((1UL << 20) - 1)
/* Pairs between two looks at the clock, 1 ms of it. */
#define WORKLOAD_CHUNK	1024

/**
 * struct workload - a pattern of allocations and frees
 * @name: short, for tables
 * @what: in words
 * @range: cached range that it needs, in bytes; 0 for the default
 * @chunk: allocate and free WORKLOAD_CHUNK ranges
 */
struct workload {
	const char	*name;
	const char	*what;
	size_t		range;
	void		(*chunk)(struct iova_domain *iovad);
};

extern const struct workload workloads[];
/* NULL if there is none of that name. */
const struct workload *workload_named(const char *name);
/* A number of chunks, with 1 ms after each, in which work runs. */
void workload_run(const struct workload *workload, struct iova_domain *iovad,
		  unsigned long chunks);

#endif
