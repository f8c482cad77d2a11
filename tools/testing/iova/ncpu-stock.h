/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies that are linked with the base's allocator. */
#ifndef _NCPU_STOCK_H
#define _NCPU_STOCK_H

#include "ncpu.h"

extern const struct ncpu_policy ncpu_stock;

#endif
