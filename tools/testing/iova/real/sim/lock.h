/* SPDX-License-Identifier: GPL-2.0-only */
/* For CPUs that are threads: a lock of theirs that spins. */
#ifndef _SIM_LOCK_H
#define _SIM_LOCK_H

#include <pthread.h>

typedef struct spinlock {
	pthread_spinlock_t spin;
} spinlock_t;

/* As pthread_spin_init() leaves it on x86. */
#define __SPIN_LOCK_UNLOCKED(name)	{ 1 }

#define local_irq_save(flags)		((flags) = 0)
#define local_irq_restore(flags)	((void)(flags))
#define sim_irqs_disabled()		true
#define sim_may_sleep()			true
#define sim_lock_held(lock)		((void)(lock), true)
#define sim_lock_acquired(lock)		((void)(lock), 0UL)

#define spin_lock_init(lock)						\
	((void)pthread_spin_init(&(lock)->spin, PTHREAD_PROCESS_PRIVATE))
#define spin_trylock(lock)		(!pthread_spin_trylock(&(lock)->spin))
#define spin_lock(lock)			((void)pthread_spin_lock(&(lock)->spin))
#define spin_unlock(lock)		((void)pthread_spin_unlock(&(lock)->spin))

#endif
