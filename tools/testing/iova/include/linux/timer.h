/* SPDX-License-Identifier: GPL-2.0-only */
/* A timer is work that may not sleep and runs on the CPU that has armed it. */
#ifndef _SIM_TIMER_H
#define _SIM_TIMER_H

#include <linux/workqueue.h>

struct timer_list {
	struct work_struct	work;
	void			(*function)(struct timer_list *timer);
	unsigned int		cpu;
	bool			shutdown;
};

void sim_timer_run(struct work_struct *work);

#define timer_setup(t, f, flags) do {					\
	*(t) = (struct timer_list) { .function = (f) };			\
	INIT_WORK(&(t)->work, sim_timer_run);				\
} while (0)

/* Arm it, or have it expire earlier. */
void timer_reduce(struct timer_list *timer, unsigned long expires);
void timer_shutdown_sync(struct timer_list *timer);

#endif
