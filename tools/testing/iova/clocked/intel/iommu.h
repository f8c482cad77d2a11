/* SPDX-License-Identifier: GPL-2.0-only */
/* For simulated CPUs: its locks have names of their own, and copies cost. */
#ifndef _CLOCKED_INTEL_IOMMU_H
#define _CLOCKED_INTEL_IOMMU_H

#include_next <intel/iommu.h>

#ifndef CLOCK_REAL
#undef raw_spin_lock_init
#define raw_spin_lock_init(lock)	clock_lock_init(lock, "unit " #lock)

/* A call that the compiler does not put its own before. */
#define memcpy(to, from, size)						\
	(clock_write_range(to, size), __builtin_memcpy(to, from, size))
void clock_write_range(void *addr, size_t size);
#endif

#endif
