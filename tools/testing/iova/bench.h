/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One program, two allocators: bench-series.c and bench-stock.c say what only
 * the one or the other knows.
 */
#ifndef _BENCH_H
#define _BENCH_H

#include <linux/iova.h>

/* Cache sizes up to @bytes, 0 for the default, if the allocator can. */
void bench_set_range(struct iova_domain *iovad, size_t bytes);
/* Acquisitions of the depots' locks, all sizes. */
unsigned long bench_depot_locks(struct iova_domain *iovad);

#endif
