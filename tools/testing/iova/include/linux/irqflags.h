/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_IRQFLAGS_H
#define _SIM_IRQFLAGS_H

#include <sim/lock.h>

#define irqs_disabled()		sim_irqs_disabled()

#endif
