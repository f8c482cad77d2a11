/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For one thread that plays all CPUs: a lock that is taken twice is a deadlock,
 * each acquisition is counted, and the order of locks is on record.
 */
#ifndef _SIM_LOCK_H
#define _SIM_LOCK_H

/**
 * struct spinlock - a lock that nobody waits for
 * @kind: what spin_lock_init() was called on, the same for all of a kind
 * @acquired: how often it was taken
 * @held: it is taken
 */
typedef struct spinlock {
	const char	*kind;
	unsigned long	acquired;
	bool		held;
} spinlock_t;

/**
 * struct sim_locks - what happens to all locks
 * @irqs_off: interrupts are off
 * @contended: so many spin_trylock() from now on fail
 * @irqs_hook: called when interrupts go off, and before they go on again
 */
struct sim_locks {
	unsigned int	irqs_off;
	unsigned int	contended;
	void		(*irqs_hook)(bool off);
};

extern struct sim_locks sim_locks;

#define __SPIN_LOCK_UNLOCKED(name)	{ .kind = #name }

#define local_irq_save(flags)						\
	((flags) = sim_locks.irqs_off, sim_irqs_set(1))
#define local_irq_restore(flags)	sim_irqs_set(flags)
#define sim_irqs_disabled()		(sim_locks.irqs_off != 0)
#define sim_may_sleep()			(!sim_locks.irqs_off)
#define sim_lock_held(lock)		((lock)->held)
#define sim_lock_acquired(lock)		((lock)->acquired)

#define spin_lock_init(lock)						\
	(*(lock) = (spinlock_t) { .kind = #lock })

void sim_irqs_set(unsigned int off);
bool spin_trylock(spinlock_t *lock);
void spin_lock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);

/* The n-th pair of kinds seen, outer and inner; false beyond the last. */
bool sim_lock_order(unsigned int n, const char **outer, const char **inner);

#endif
