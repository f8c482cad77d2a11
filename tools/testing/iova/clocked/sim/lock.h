/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For simulated CPUs: a lock as long as the kernel's, whose queue is kept
 * elsewhere. It is passed on in the order in which it was asked for.
 */
#ifndef _SIM_LOCK_H
#define _SIM_LOCK_H

typedef struct spinlock {
	unsigned int id;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ 0 }

unsigned int clock_irqs_set(unsigned int off);
bool clock_irqs_off(void);

#define local_irq_save(flags)		((flags) = clock_irqs_set(1))
#define local_irq_restore(flags)	((void)clock_irqs_set(flags))
#define sim_irqs_disabled()		clock_irqs_off()
#define sim_may_sleep()			(!clock_irqs_off())
#define sim_lock_held(lock)		clock_lock_held(lock)
#define sim_lock_acquired(lock)		clock_lock_acquired(lock)

#define spin_lock_init(lock)		clock_lock_init(lock, #lock)

void clock_lock_init(spinlock_t *lock, const char *name);
bool clock_lock_held(spinlock_t *lock);
unsigned long clock_lock_acquired(spinlock_t *lock);
bool spin_trylock(spinlock_t *lock);
void spin_lock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);

#endif
