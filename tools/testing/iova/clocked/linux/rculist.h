/* SPDX-License-Identifier: GPL-2.0-only */
/* Readers cost nothing. */
#ifndef _CLOCKED_RCULIST_H
#define _CLOCKED_RCULIST_H

#include_next <linux/rculist.h>

#undef rcu_read_lock
#undef rcu_read_unlock
#define rcu_read_lock()		do { } while (0)
#define rcu_read_unlock()	do { } while (0)

#endif
