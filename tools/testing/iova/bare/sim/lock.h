/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For benchmarks: a lock costs its atomic exchange and its store, inline.
 */
#ifndef _SIM_LOCK_H
#define _SIM_LOCK_H

#include <sim/unchecked.h>

typedef struct spinlock {
	int held;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ 0 }

#define spin_lock_init(lock)		((lock)->held = 0)

static inline bool spin_trylock(spinlock_t *lock)
{
	return !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);
}

static inline void spin_lock(spinlock_t *lock)
{
	while (unlikely(!spin_trylock(lock)))
		;
}

static inline void spin_unlock(spinlock_t *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif
