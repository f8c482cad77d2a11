/* SPDX-License-Identifier: GPL-2.0-only */
/* One hotplug state, with or without instances; sim_cpu_down() calls it. */
#ifndef _SIM_CPU_H
#define _SIM_CPU_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/percpu.h>

enum cpuhp_state { CPUHP_IOMMU_IOVA_DEAD };

int cpuhp_setup_state_nocalls(enum cpuhp_state state, const char *name,
			      int (*startup)(unsigned int cpu),
			      int (*teardown)(unsigned int cpu));
void cpuhp_remove_state_nocalls(enum cpuhp_state state);
int cpuhp_setup_state_multi(enum cpuhp_state state, const char *name,
			    int (*startup)(unsigned int cpu,
					   struct hlist_node *node),
			    int (*teardown)(unsigned int cpu,
					    struct hlist_node *node));
void cpuhp_remove_multi_state(enum cpuhp_state state);
int cpuhp_state_add_instance_nocalls(enum cpuhp_state state,
				     struct hlist_node *node);
int cpuhp_state_remove_instance_nocalls(enum cpuhp_state state,
					struct hlist_node *node);

#endif
