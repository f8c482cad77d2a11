/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_BITSPERLONG_H
#define _SIM_BITSPERLONG_H

#define BITS_PER_LONG		(8 * __SIZEOF_LONG__)
#define BITS_PER_LONG_LONG	64
#define __BITS_PER_LONG		BITS_PER_LONG

#endif
