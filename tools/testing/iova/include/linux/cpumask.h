/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_CPUMASK_H
#define _SIM_CPUMASK_H

#include <linux/smp.h>
#include <linux/types.h>

bool cpu_online(unsigned int cpu);
unsigned int num_online_cpus(void);

#define cpu_to_node(cpu)	((void)(cpu), 0)

#define for_each_possible_cpu(cpu)					\
	for ((cpu) = 0; (cpu) < nr_cpu_ids; (cpu)++)
#define for_each_online_cpu(cpu)					\
	for_each_possible_cpu(cpu)					\
		if (cpu_online(cpu))

#endif
