/* SPDX-License-Identifier: GPL-2.0-only */
/* The one generator of random numbers: xorshift64*, from a state that is not 0. */
#ifndef _SIM_RANDOM_H
#define _SIM_RANDOM_H

#include <linux/types.h>

static inline u64 sim_xorshift(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

#endif
