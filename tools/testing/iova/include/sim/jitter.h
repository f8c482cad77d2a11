/* SPDX-License-Identifier: GPL-2.0-only */
/* Where CPUs have no threads of their own: see threads/sim/jitter.h. */
#ifndef _SIM_JITTER_H
#define _SIM_JITTER_H

#define sim_jitter()	((void)0)

#endif
