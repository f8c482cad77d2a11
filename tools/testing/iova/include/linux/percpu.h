/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU objects lie SIM_PERCPU_UNIT bytes apart. */
#ifndef _SIM_PERCPU_H
#define _SIM_PERCPU_H

#include <linux/slab.h>
#include <linux/smp.h>

#define __percpu
#define SIM_PERCPU_UNIT	64

#define per_cpu_ptr(ptr, cpu)						\
	((typeof(ptr))((char *)(ptr) + (unsigned long)(cpu) * SIM_PERCPU_UNIT))
#define raw_cpu_ptr(ptr)	per_cpu_ptr(ptr, sim_cpu)

static inline void *__alloc_percpu(size_t size, size_t align)
{
	BUG_ON(size > SIM_PERCPU_UNIT || align > SIM_PERCPU_UNIT);
	return kzalloc(nr_cpu_ids * SIM_PERCPU_UNIT, GFP_KERNEL);
}

static inline void free_percpu(void *ptr)
{
	kfree(ptr);
}

#endif
