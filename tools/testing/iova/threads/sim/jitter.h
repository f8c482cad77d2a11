/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Few CPUs interleave their threads rarely: one access in a thousand to what is
 * shared comes late, so that windows of some instructions are hit.
 */
#ifndef _SIM_JITTER_H
#define _SIM_JITTER_H

#include <sim/random.h>

int usleep(unsigned int usec);

static inline void sim_jitter(void)
{
	/* Another in each thread, and where addresses are random, in each run. */
	static __thread u64 state;

	if (!state)
		state = (unsigned long)&state;
	if ((sim_xorshift(&state) >> 40) % 1000 == 0)
		usleep((state >> 8) % 200);
}

#endif
