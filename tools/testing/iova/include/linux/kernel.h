/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_KERNEL_H
#define _SIM_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <linux/types.h>
#include_next <linux/kernel.h>
#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/kconfig.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)

#define cond_resched()	might_sleep()
void might_sleep(void);

#define pr_err(...)	fprintf(stderr, __VA_ARGS__)
#define ERR_PTR(err)	((void *)(long)(err))

#endif
