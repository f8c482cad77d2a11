/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_SCHED_H
#define _SIM_SCHED_H

#define cpu_relax()	__builtin_ia32_pause()

/* Others run meanwhile, if there are others. */
void schedule_timeout_uninterruptible(unsigned long delay);

#endif
