// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that come and go, and the one hotplug state that hears of it.
 */
#include <linux/cpu.h>

#include "sim.h"

_Thread_local unsigned int sim_cpu;
unsigned int nr_cpu_ids = 1;

static bool offline[SIM_CPUS_MAX];

static struct {
	bool	used;
	int	(*startup)(unsigned int cpu);
	int	(*teardown)(unsigned int cpu);
	int	(*teardown_multi)(unsigned int cpu, struct hlist_node *node);
	struct hlist_head instances;
} hotplug;

bool cpu_online(unsigned int cpu)
{
	return !READ_ONCE(offline[cpu]);
}

unsigned int num_online_cpus(void)
{
	unsigned int cpu, nr = 0;

	for_each_online_cpu(cpu)
		nr++;
	return nr;
}

void sim_set_cpus(unsigned int nr)
{
	sim_check(nr && nr <= SIM_CPUS_MAX, "%u", nr);
	nr_cpu_ids = nr;
	sim_cpu = 0;
	memset(offline, 0, sizeof(offline));
}

void sim_cpu_down(unsigned int cpu)
{
	struct hlist_node *node;

	sim_check(cpu_online(cpu), "cpu %u", cpu);
	WRITE_ONCE(offline[cpu], true);
	if (hotplug.teardown)
		hotplug.teardown(cpu);
	if (!hotplug.teardown_multi)
		return;
	for (node = hotplug.instances.first; node; node = node->next)
		hotplug.teardown_multi(cpu, node);
}

void sim_cpu_up(unsigned int cpu)
{
	sim_check(!cpu_online(cpu), "cpu %u", cpu);
	if (hotplug.startup)
		hotplug.startup(cpu);
	WRITE_ONCE(offline[cpu], false);
}

int cpuhp_setup_state_nocalls(enum cpuhp_state state, const char *name,
			      int (*startup)(unsigned int cpu),
			      int (*teardown)(unsigned int cpu))
{
	void *memory = kmalloc(sizeof(long), GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	kfree(memory);
	sim_check(!hotplug.used, "%s", name);
	hotplug.used = true;
	hotplug.startup = startup;
	hotplug.teardown = teardown;
	return 0;
}

void cpuhp_remove_state_nocalls(enum cpuhp_state state)
{
	sim_check(hotplug.used, "state %d", state);
	hotplug.used = false;
	hotplug.startup = NULL;
	hotplug.teardown = NULL;
}

int cpuhp_setup_state_multi(enum cpuhp_state state, const char *name,
			    int (*startup)(unsigned int cpu,
					   struct hlist_node *node),
			    int (*teardown)(unsigned int cpu,
					    struct hlist_node *node))
{
	sim_check(!hotplug.used && !startup, "%s", name);
	hotplug.used = true;
	hotplug.teardown_multi = teardown;
	return 0;
}

void cpuhp_remove_multi_state(enum cpuhp_state state)
{
	sim_check(hotplug.used && !hotplug.instances.first, "state %d", state);
	hotplug.used = false;
	hotplug.teardown_multi = NULL;
}

int cpuhp_state_add_instance_nocalls(enum cpuhp_state state,
				     struct hlist_node *node)
{
	hlist_add_head(node, &hotplug.instances);
	return 0;
}

int cpuhp_state_remove_instance_nocalls(enum cpuhp_state state,
					struct hlist_node *node)
{
	hlist_del(node);
	return 0;
}
