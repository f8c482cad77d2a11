/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPU that a thread runs on; it moves when the test says so. */
#ifndef _SIM_SMP_H
#define _SIM_SMP_H

extern _Thread_local unsigned int sim_cpu;
extern unsigned int nr_cpu_ids;

#define raw_smp_processor_id()	sim_cpu
#define smp_processor_id()	sim_cpu

#endif
