/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For CPUs that are threads: pthread's lock that spins, which whoever is nearest
 * gets; or, with REAL_LOCK=fair, one that is had in the order of arrival, as the
 * kernel's are and the simulation's.
 */
#ifndef _SIM_LOCK_H
#define _SIM_LOCK_H

#include <sim/unchecked.h>

#include <pthread.h>

typedef struct spinlock {
	pthread_spinlock_t	spin;
	unsigned short		next;
	unsigned short		served;
} spinlock_t;

extern bool real_fair;

/* As pthread_spin_init() leaves it on x86. */
#define __SPIN_LOCK_UNLOCKED(name)	{ 1 }

#define spin_lock_init(lock)						\
	(*(lock) = (spinlock_t)__SPIN_LOCK_UNLOCKED(lock))

static inline void spin_lock(spinlock_t *lock)
{
	unsigned short ticket;

	if (!real_fair) {
		pthread_spin_lock(&lock->spin);
		return;
	}
	ticket = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&lock->served, __ATOMIC_ACQUIRE) != ticket)
		__builtin_ia32_pause();
}

static inline bool spin_trylock(spinlock_t *lock)
{
	unsigned short ticket;

	if (!real_fair)
		return !pthread_spin_trylock(&lock->spin);
	ticket = __atomic_load_n(&lock->served, __ATOMIC_ACQUIRE);
	return __atomic_compare_exchange_n(&lock->next, &ticket, ticket + 1,
					   false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void spin_unlock(spinlock_t *lock)
{
	if (!real_fair)
		pthread_spin_unlock(&lock->spin);
	else
		__atomic_store_n(&lock->served, lock->served + 1,
				 __ATOMIC_RELEASE);
}

#endif
