/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that share a virtual clock: each has its own time, and the one that is
 * furthest back runs, until it has to wait. So a run is the same each time, and
 * what it takes does not depend on the machine.
 */
#ifndef _QI_TASKS_H
#define _QI_TASKS_H

#include "qi-unit.h"

#define QI_TASKS	32
/* Nanoseconds of one look at what is waited for. */
#define QI_RELAX	500

/**
 * struct qi_tasks - the tasks
 * @longest_off: the longest time that one had its interrupts off, nanoseconds
 */
struct qi_tasks {
	u64	longest_off;
};

extern struct qi_tasks qi_tasks;

/* Start the clock again. */
void qi_tasks_begin(void);
/* Let @nr tasks do @fn, until all have ended. */
void qi_tasks_run(unsigned int nr, void (*fn)(unsigned int task));
/* The number of this task. */
unsigned int qi_task(void);

#endif
