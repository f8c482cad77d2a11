/* SPDX-License-Identifier: GPL-2.0-only */
/* As the kernel's, which compile to one instruction on x86. */
#ifndef _SIM_BITOPS_H
#define _SIM_BITOPS_H

#include <asm/bitsperlong.h>
#include <linux/compiler.h>

#define BITS_TO_LONGS(nr)	(((nr) + BITS_PER_LONG - 1) / BITS_PER_LONG)

static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

static inline unsigned long __fls(unsigned long word)
{
	return BITS_PER_LONG - 1 - __builtin_clzl(word);
}

static inline int fls64(__u64 word)
{
	return word ? __fls(word) + 1 : 0;
}

static inline int fls(unsigned int word)
{
	return fls64(word);
}

static inline unsigned int fls_long(unsigned long word)
{
	return fls64(word);
}

static inline unsigned int hweight_long(unsigned long word)
{
	return __builtin_popcountl(word);
}

#endif
