// SPDX-License-Identifier: GPL-2.0-only
/*
 * The constants of the simulation, each with its source and its range.
 *
 * "measured" is what `calibrate` says (make sim-calibrate): a 2.1 GHz AMD EPYC
 * (family 26), two cores of one socket, under a hypervisor. "SOSP'13" is David,
 * Guerraoui and Trigonakis, "Everything You Always Wanted to Know about
 * Synchronization but Were Afraid to Ask", tables 2 and 3, the eight-socket Xeon
 * at 2.13 GHz: a line that another core has modified comes in 109 cycles from
 * the same die, 289 from the next, 400 from two hops away. "ATC'15" is Peleg,
 * Morrison, Tsafrir et al., "Utilizing the IOMMU Scalably".
 */
#include <stdlib.h>
#include <string.h>

#include "cost.h"

const struct cost_row cost_table[COST_NR] = {
	[COST_ACCESS] = { "access", 0.25, 0.1, 1,
		"a memory access in the CPU's own cache, with the instructions around it",
		"measured: fitted to the paths that calibrate times, most within 30%" },
	[COST_ATOMIC] = { "atomic", 7, 4, 12,
		"a locked instruction, or a full barrier, on a line of the CPU's own",
		"measured: 8 ns in a row, less between other work" },
	[COST_IRQ] = { "irq", 5, 0, 15,
		"saving, clearing and restoring the interrupt flag",
		"10 to 30 cycles for pushf, cli and popf; not to be had in user space" },
	[COST_MOVE] = { "move", 100, 50, 200,
		"taking a line from the CPU that has modified it",
		"SOSP'13: 51 to 188 ns; measured on one socket" },
	[COST_SHARE] = { "share", 70, 20, 150,
		"reading a line that others have read, and nobody has changed since",
		"SOSP'13: 44 cycles on the die to 334 two hops away" },
	[COST_SERVE] = { "serve", 10, 0, 40,
		"how long one reader's copy of a line keeps the next one waiting",
		"assumed: readers are served in parallel, but by one cache slice" },
	[COST_HANDOFF] = { "handoff", 150, 50, 300,
		"passing a queued lock on: the next in the queue is told, and reads the lock",
		"one to two moves" },
	[COST_SLAB] = { "slab", 10, 5, 30,
		"allocating or freeing an object, beyond the accesses of a list",
		"assumed: the kernel's fast path is one local cmpxchg16b" },
	[COST_TIMER] = { "timer", 60, 20, 200,
		"arming a timer on this CPU",
		"assumed: a lock of this CPU's and a list" },
	[COST_QUEUE_WORK] = { "queue-work", 300, 100, 1000,
		"queueing work, beyond the mark that it is pending",
		"assumed: a pool's lock and the wake-up of a worker" },
	[COST_SOFTIRQ] = { "softirq", 500, 200, 2000,
		"entering and leaving the softirq that runs timers",
		"assumed: an interrupt's entry and exit with mitigations" },
	[COST_WORKER] = { "worker", 2000, 1000, 5000,
		"switching to a worker and back",
		"assumed: two switches of context" },
	[COST_OFF] = { "off", 20, 10, 50,
		"map and unmap with the IOMMU off",
		"assumed: an addition and a check of the mask, twice" },
	[COST_PTE] = { "pte", 150, 50, 500,
		"writing and clearing the page table for one mapping",
		"ATC'15: page table work is of the order of a hundred cycles" },
	[COST_PTE_PAGE] = { "pte-page", 1, 0.5, 4,
		"each further page of it",
		"assumed: a store each for writing and clearing" },
	[COST_DRIVER] = { "driver", 1000, 300, 5000,
		"all else that a driver and its stack do for one mapping",
		"assumed: one to three million packets a second and core" },
	[COST_DOORBELL] = { "doorbell", 150, 50, 500,
		"writing two descriptors and the unit's tail register",
		"assumed: a posted write to uncached memory and its fence" },
	[COST_MMIO_READ] = { "mmio-read", 500, 200, 1500,
		"reading a register of the unit",
		"assumed: a round trip to the chipset" },
	[COST_LATENCY] = { "latency", 1000, 200, 5000,
		"from the doorbell to the unit's word that it has invalidated",
		"ATC'15: about 2000 cycles" },
	[COST_SERVICE] = { "service", 1000, 100, 1000,
		"the part of it in which the unit cannot begin the next one",
		"assumed: all of it, the worst; a unit that overlaps has less" },
};

u64 cost[COST_NR];

void cost_reset(void)
{
	unsigned int i;

	for (i = 0; i < COST_NR; i++)
		cost[i] = cost_table[i].ns * 1000;
}

bool cost_set(const char *assignment)
{
	const char *value = strchr(assignment, '=');
	size_t length = value ? value - assignment : 0;
	unsigned int i;

	for (i = 0; i < COST_NR; i++) {
		const char *name = cost_table[i].name;

		if (length == strlen(name) && !strncmp(assignment, name, length)) {
			cost[i] = strtod(value + 1, NULL) * 1000;
			return true;
		}
	}
	return false;
}
