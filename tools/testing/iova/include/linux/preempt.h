/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a thread may sleep, and whether it plays an interrupt. */
#ifndef _SIM_PREEMPT_H
#define _SIM_PREEMPT_H

#include <linux/kernel.h>

extern _Thread_local unsigned int sim_preempt_off;
extern _Thread_local bool sim_in_interrupt;

#define preempt_disable()	((void)sim_preempt_off++)
#define preempt_enable()	((void)sim_preempt_off--)
#define in_task()		(!sim_in_interrupt)
#define in_interrupt()		(sim_in_interrupt)

#endif
