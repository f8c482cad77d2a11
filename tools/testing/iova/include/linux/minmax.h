/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's are strict about types; a kernel build sees to that. */
#ifndef _SIM_MINMAX_H
#define _SIM_MINMAX_H

#undef min
#undef max
#undef min_t
#undef max_t
#undef clamp

#define min(x, y) ({							\
	__auto_type __x = (x);						\
	__auto_type __y = (y);						\
	__x < __y ? __x : __y; })
#define max(x, y) ({							\
	__auto_type __x = (x);						\
	__auto_type __y = (y);						\
	__x > __y ? __x : __y; })
#define min_t(type, x, y)	((type)min((type)(x), (type)(y)))
#define max_t(type, x, y)	((type)max((type)(x), (type)(y)))
#define clamp(x, lo, hi)	min(max(x, lo), hi)

#define swap(a, b) do {							\
	typeof(a) __swap = (a);						\
	(a) = (b);							\
	(b) = __swap;							\
} while (0)

#endif
