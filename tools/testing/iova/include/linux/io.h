/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers that answer: whoever models the device defines these. */
#ifndef _SIM_IO_H
#define _SIM_IO_H

#include <linux/types.h>

#define __iomem

u32 readl(const void __iomem *reg);
u64 readq(const void __iomem *reg);
void writel(u32 value, void __iomem *reg);

#define virt_to_phys(p)	((phys_addr_t)(unsigned long)(p))

#endif
