// SPDX-License-Identifier: GPL-2.0-only
#include <linux/spinlock.h>

_Thread_local unsigned int sim_irqs_off;
