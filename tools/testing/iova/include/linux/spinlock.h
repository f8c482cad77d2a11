/* SPDX-License-Identifier: GPL-2.0-only */
/* The lock itself comes from one of the lock/ directories. */
#ifndef _SIM_SPINLOCK_H
#define _SIM_SPINLOCK_H

#include <linux/kernel.h>
#include <sim/lock.h>

#define spin_lock_irqsave(lock, flags) do {				\
	local_irq_save(flags);						\
	spin_lock(lock);						\
} while (0)

#define spin_unlock_irqrestore(lock, flags) do {			\
	spin_unlock(lock);						\
	local_irq_restore(flags);					\
} while (0)

#define spin_lock_irq(lock) do {					\
	unsigned long __flags;						\
	local_irq_save(__flags);					\
	BUG_ON(__flags);						\
	spin_lock(lock);						\
} while (0)

#define spin_unlock_irq(lock)	spin_unlock_irqrestore(lock, 0UL)

#define raw_spinlock_t			spinlock_t
#define raw_spin_lock_init(lock)	spin_lock_init(lock)
#define raw_spin_lock_irqsave(lock, flags)				\
	spin_lock_irqsave(lock, flags)
#define raw_spin_unlock_irqrestore(lock, flags)				\
	spin_unlock_irqrestore(lock, flags)
#define raw_spin_trylock_irqsave(lock, flags) ({			\
	bool __taken;							\
	local_irq_save(flags);						\
	__taken = spin_trylock(lock);					\
	if (!__taken)							\
		local_irq_restore(flags);				\
	__taken; })

#endif
