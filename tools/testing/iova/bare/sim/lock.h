/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For benchmarks: a lock costs its atomic exchange and its store, inline;
 * interrupts cost nothing and are never asked about.
 */
#ifndef _SIM_LOCK_H
#define _SIM_LOCK_H

typedef struct spinlock {
	int held;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ 0 }

#define local_irq_save(flags)		((flags) = 0)
#define local_irq_restore(flags)	((void)(flags))
#define sim_irqs_disabled()		true
#define sim_may_sleep()			true
#define sim_lock_held(lock)		((void)(lock), true)
#define sim_lock_acquired(lock)		((void)(lock), 0UL)

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
