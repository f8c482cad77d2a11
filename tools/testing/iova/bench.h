/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One program, two allocators: bench-series.c and bench-stock.c say what only
 * the one or the other knows.
 */
#ifndef _BENCH_H
#define _BENCH_H

#include <linux/iova.h>

#include "workload.h"

/* A domain that a workload, which is returned, has warmed up. */
const struct workload *bench_begin(const char *name, struct iova_domain *iovad);
void bench_end(struct iova_domain *iovad);

/* Cache sizes up to @bytes, 0 for the default, if the allocator can. */
void bench_set_range(struct iova_domain *iovad, size_t bytes);
/* Acquisitions of the depots' locks, all sizes. */
unsigned long bench_depot_locks(struct iova_domain *iovad);

#endif
