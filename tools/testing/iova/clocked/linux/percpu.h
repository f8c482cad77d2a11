/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU objects lie SIM_PERCPU_UNIT bytes apart, and are never given back. */
#ifndef _SIM_PERCPU_H
#define _SIM_PERCPU_H

#include <linux/slab.h>
#include <linux/smp.h>

#define __percpu
#define SIM_PERCPU_UNIT	(2UL << 20)

#define per_cpu_ptr(ptr, cpu)						\
	((typeof(ptr))((char *)(ptr) + (unsigned long)(cpu) * SIM_PERCPU_UNIT))
#define raw_cpu_ptr(ptr)	per_cpu_ptr(ptr, sim_cpu)

void *__alloc_percpu(size_t size, size_t align);
#define free_percpu(ptr)	((void)(ptr))

#endif
