/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_DMA_MAPPING_H
#define _SIM_DMA_MAPPING_H

/* The kernel's brings these along; users of linux/iova.h count on it. */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

typedef u64 dma_addr_t;

#endif
