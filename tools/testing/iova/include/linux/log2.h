/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_LOG2_H
#define _SIM_LOG2_H

#include_next <linux/log2.h>

/* log2 of the smallest power of two that is not below @n; 0 for 0. */
static inline int order_base_2(unsigned long n)
{
	return n > 1 ? fls64(n - 1) : 0;
}

#endif
