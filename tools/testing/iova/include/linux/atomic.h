/* SPDX-License-Identifier: GPL-2.0-only */
/* All of it sequentially consistent, and known to ThreadSanitizer. */
#ifndef _SIM_ATOMIC_H
#define _SIM_ATOMIC_H

#include <linux/kernel.h>

typedef struct { s64 counter; } atomic64_t;

#define ATOMIC_INIT(i)			{ (i) }

#define sim_atomic_add(v, i)						\
	__atomic_add_fetch(&(v)->counter, i, __ATOMIC_SEQ_CST)
#define atomic_inc_return(v)		sim_atomic_add(v, 1)
#define atomic64_inc_return(v)		sim_atomic_add(v, 1)
#define atomic_long_inc(v)		((void)sim_atomic_add(v, 1))

#define atomic64_read(v)						\
	__atomic_load_n(&(v)->counter, __ATOMIC_SEQ_CST)
#define atomic64_read_acquire(v)	atomic64_read(v)
#define atomic_long_read(v)		atomic64_read(v)
#define atomic64_set(v, i)						\
	__atomic_store_n(&(v)->counter, i, __ATOMIC_SEQ_CST)
#define atomic64_set_release(v, i)	atomic64_set(v, i)

#define xchg(ptr, new)			__atomic_exchange_n(ptr, new, __ATOMIC_SEQ_CST)
#define try_cmpxchg(ptr, old, new)					\
	__atomic_compare_exchange_n(ptr, old, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define test_and_set_bit_lock(nr, word)					\
	(__atomic_fetch_or(word, 1UL << (nr), __ATOMIC_ACQUIRE) >> (nr) & 1)
#define clear_bit_unlock(nr, word)					\
	((void)__atomic_fetch_and(word, ~(1UL << (nr)), __ATOMIC_RELEASE))

#define smp_mb()			__sync_synchronize()
#define smp_rmb()			__sync_synchronize()
#define smp_mb__after_spinlock()	__sync_synchronize()
#define smp_store_release(p, v)		__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)

#endif
