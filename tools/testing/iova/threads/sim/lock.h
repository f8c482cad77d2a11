/* SPDX-License-Identifier: GPL-2.0-only */
/* For threads: a mutex that knows its owner. */
#ifndef _SIM_LOCK_H
#define _SIM_LOCK_H

#include <pthread.h>

typedef struct spinlock {
	pthread_mutex_t	mutex;
	void		*owner;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ .mutex = PTHREAD_MUTEX_INITIALIZER }

extern _Thread_local unsigned int sim_irqs_off;

#define local_irq_save(flags)						\
	((flags) = sim_irqs_off, sim_irqs_off = 1)
#define local_irq_restore(flags)	(sim_irqs_off = (flags))
#define sim_irqs_disabled()		(sim_irqs_off != 0)
#define sim_may_sleep()			(!sim_irqs_off)
/* An address that no other thread has. */
#define sim_lock_held(lock)						\
	(READ_ONCE((lock)->owner) == (void *)&sim_irqs_off)

#define spin_lock_init(lock)						\
	(*(lock) = (spinlock_t)__SPIN_LOCK_UNLOCKED())

static inline bool spin_trylock(spinlock_t *lock)
{
	if (pthread_mutex_trylock(&lock->mutex))
		return false;
	WRITE_ONCE(lock->owner, (void *)&sim_irqs_off);
	return true;
}

static inline void spin_lock(spinlock_t *lock)
{
	BUG_ON(sim_lock_held(lock));
	pthread_mutex_lock(&lock->mutex);
	WRITE_ONCE(lock->owner, (void *)&sim_irqs_off);
}

static inline void spin_unlock(spinlock_t *lock)
{
	BUG_ON(!sim_lock_held(lock));
	WRITE_ONCE(lock->owner, NULL);
	pthread_mutex_unlock(&lock->mutex);
}

#endif
