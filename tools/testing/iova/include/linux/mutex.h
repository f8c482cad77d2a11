/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_MUTEX_H
#define _SIM_MUTEX_H

#include <linux/spinlock.h>

struct mutex {
	spinlock_t lock;
};

#define DEFINE_MUTEX(name)						\
	struct mutex name = { __SPIN_LOCK_UNLOCKED(name) }

#define mutex_init(m)	spin_lock_init(&(m)->lock)

static inline void mutex_lock(struct mutex *mutex)
{
	might_sleep();
	spin_lock(&mutex->lock);
}

static inline void mutex_unlock(struct mutex *mutex)
{
	spin_unlock(&mutex->lock);
}

#endif
