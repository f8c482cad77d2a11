/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_LOCKDEP_H
#define _SIM_LOCKDEP_H

#include <linux/spinlock.h>

#define lockdep_assert_held(lock)	BUG_ON(!sim_lock_held(lock))
#define assert_spin_locked(lock)	lockdep_assert_held(lock)
#define lockdep_assert_irqs_disabled()	BUG_ON(!sim_irqs_disabled())

#endif
