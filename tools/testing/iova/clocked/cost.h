/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What things cost: the only numbers about hardware that the simulation has.
 */
#ifndef _COST_H
#define _COST_H

#include <linux/types.h>

enum cost {
	COST_ACCESS,
	COST_ATOMIC,
	COST_IRQ,
	COST_MOVE,
	COST_SHARE,
	COST_SERVE,
	COST_HANDOFF,
	COST_SLAB,
	COST_TIMER,
	COST_QUEUE_WORK,
	COST_SOFTIRQ,
	COST_WORKER,
	COST_OFF,
	COST_PTE,
	COST_PTE_PAGE,
	COST_DRIVER,
	COST_DOORBELL,
	COST_MMIO_READ,
	COST_LATENCY,
	COST_SERVICE,
	COST_NR,
};

/**
 * struct cost_row - a constant
 * @name: for the command line
 * @ns: what is used unless told otherwise, in nanoseconds
 * @low: lower end of the range that conclusions are checked over
 * @high: upper end
 * @what: what it is for
 * @source: where it is from
 */
struct cost_row {
	const char	*name;
	double		ns;
	double		low;
	double		high;
	const char	*what;
	const char	*source;
};

extern const struct cost_row cost_table[COST_NR];

/* What is in force, in picoseconds. */
extern u64 cost[COST_NR];

/* Put all at what the table says. */
void cost_reset(void);
/* "name=ns"; false if there is no such name. */
bool cost_set(const char *assignment);

#endif
