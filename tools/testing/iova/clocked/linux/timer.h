/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _CLOCKED_TIMER_H
#define _CLOCKED_TIMER_H

#include_next <linux/timer.h>

#define from_timer(var, timer, member)					\
	container_of(timer, typeof(*(var)), member)
#define del_timer_sync(timer)		cancel_work_sync(&(timer)->work)

void mod_timer(struct timer_list *timer, unsigned long expires);

#endif
