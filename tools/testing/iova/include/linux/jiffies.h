/* SPDX-License-Identifier: GPL-2.0-only */
/* Time stands still until sim_advance() moves it. One jiffy is 1 ms. */
#ifndef _SIM_JIFFIES_H
#define _SIM_JIFFIES_H

#define HZ			1000
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define jiffies_to_msecs(j)	((unsigned int)(j))
#define jiffies			sim_jiffies()

unsigned long sim_jiffies(void);

#endif
