/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For ThreadSanitizer, accesses marked in the kernel's way are C11 atomics.
 * Readers that depend on the address they load need no barrier in the kernel;
 * C11 has no such thing that works, and takes an acquire.
 */
#ifndef _SIM_COMPILER_H
#define _SIM_COMPILER_H

#include_next <linux/compiler.h>

#undef READ_ONCE
#undef WRITE_ONCE
#ifdef __SANITIZE_THREAD__
#include <sim/jitter.h>
#define READ_ONCE(x)							\
	(sim_jitter(), __atomic_load_n(&(x), __ATOMIC_ACQUIRE))
#define WRITE_ONCE(x, v)						\
	(__atomic_store_n(&(x), v, __ATOMIC_RELAXED), sim_jitter())
#else
#define READ_ONCE(x)		(*(const __volatile__ typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(__volatile__ typeof(x) *)&(x) = (v))
#endif

#define cmpxchg(ptr, old, new) ({					\
	typeof(*(ptr)) __expected = (old);				\
	__atomic_compare_exchange_n(ptr, &__expected, new, false,	\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	__expected; })

#define __counted_by(member)
#define SMP_CACHE_BYTES			64
#define ____cacheline_aligned_in_smp	__aligned(SMP_CACHE_BYTES)
#define __aligned(x)			__attribute__((aligned(x)))
#define cache_line_size()		SMP_CACHE_BYTES

#endif
